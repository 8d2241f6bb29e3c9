"""The laws of the HiSparse allocator over a hybrid one (contract_paged_swa §7.2, §15.18)."""

from __future__ import annotations

import pytest
from family_house import FamilyHouse, broken, family_geometry

from oracle.call import Call
from oracle.laws.made_call import MadeCall
from oracle.observation import Outcome
from oracle.ownership import DeviceBuffer


def extend(prefix, seq, last):
    return {
        "prefix_lens": [prefix],
        "seq_lens": [seq],
        "last_loc": [last],
        "extend_num_tokens": seq - prefix,
    }


@pytest.fixture
def house():
    """A row of twelve slots on pages 1 and 2, and a buffer of the device on page 3."""
    geometry = family_geometry("hisparse-dsv4", 40, 8, size_swa=40, device_size=10)
    house = FamilyHouse(geometry)
    slots = house.does("alloc_extend", **extend(0, 12, -1)).value
    row = house.row(slots, peered=slots)
    house.books.device_backed.update((2, 3, 4))
    house.settle()
    buffer = house.does("alloc_device_buffer", need=2).value
    house.books.buffers.append(DeviceBuffer(row.identity, buffer))
    house.settle()
    return house


def changed(house, name, entries):
    table = list(getattr(house.reference.snapshot(), name))
    for key, place in entries.items():
        table[key] = place
    return {name: table}


def test_the_laws_accept_the_life_of_a_row(house):
    row = house.books.requests[0]
    house.does("free_swa", slots=row.slots[:8])
    house.books.unpeer(row.slots[:8])
    house.settle()
    house.does("free_group_begin")
    house.books.group_open = True
    house.does("free_hisparse", slots=row.slots[:8])
    house.books.device_backed -= {2, 3}
    house.does("free_full", slots=row.slots[:8])
    house.books.give_back(row, [0])
    house.settle()
    house.does("free", slots=row.slots[8:])
    house.books.unpeer(row.slots[8:])
    house.books.give_back(row, [1])
    house.books.device_backed.clear()
    house.settle()
    house.does("free_group_end")
    house.books.close_group()
    house.settle()
    house.does("free_hisparse_indices", slots=house.books.buffers.pop().slots)
    house.settle()


@pytest.mark.parametrize(
    ("law", "pool", "changes"),
    [
        ("padding-page", "device", {"device__free": [0, 4, 5]}),
        ("one-owner", "device", {"device__free": [4, 5, 3]}),
        ("one-owner", "device", {"device__free": [4, 5, 1]}),
        ("conservation", "device", {"device__free": [4]}),
        ("one-owner", "full", {"full__free": [3, 4, 5, 1]}),
        ("one-owner", "swa", {"swa__free": [3, 4, 5, 1]}),
        ("conservation", "swa", {"swa__free": [3, 4]}),
        ("capacity-within-size", "device", {"device__size": 8}),
        ("capacity-within-size", "", {"queries__available_size": 24}),
        ("capacity-within-size", "", {"queries__full_available_size": 24}),
    ],
)
def test_each_law_about_pages_fires(house, law, pool, changes):
    assert house.judge() is None
    broken(house.judge(**changes), law, pool)


@pytest.mark.parametrize(
    ("law", "pool", "name", "entries"),
    [
        ("mapping-support", "device", "device_mapping", {-1: 0}),
        ("mapping-support", "device", "device_mapping", {4: 0}),
        ("mapping-support", "device", "device_mapping", {5: 5}),
        ("padding-page", "device", "device_mapping", {4: 1}),
        ("mapping-injective", "device", "device_mapping", {4: 2}),
        ("page-offset", "device", "device_mapping", {4: 5}),
        ("one-owner", "device", "device_mapping", {4: 6}),
        ("mapping-support", "swa", "mapping", {9: 0}),
        ("mapping-injective", "swa", "mapping", {9: 8}),
    ],
)
def test_each_law_about_the_tables_fires(house, law, pool, name, entries):
    broken(house.judge(**changed(house, name, entries)), law, pool)


def test_a_peer_that_another_wrote_is_reported(house):
    """Peers 8 and 9 change places: their KV is another position's."""
    swapped = changed(house, "mapping", {9: 10, 10: 9})
    broken(house.judge(**swapped), "page-offset", "swa")
    pages = {8 + at: 16 + at for at in range(8)} | {16 + at: 8 + at for at in range(4)}
    broken(house.judge(**changed(house, "mapping", pages)), "content-swa", "swa")


def test_a_place_that_outlives_its_page_is_reported(house):
    row = house.books.requests[0]
    house.does("free", slots=row.slots)
    house.books.clear()
    house.does("free_hisparse_indices", slots=[6])
    house.settle()
    leaked = changed(house, "device_mapping", {2: 2, 3: 3})
    broken(house.judge(**leaked, device__free=[2, 3, 4, 5]), "mapping-support", "device")


def test_buffers_are_judged(house):
    buffer = "alloc_device_buffer"
    assert house.claims(Outcome(value=(8, 9)), buffer, need=2) is None
    assert house.claims(Outcome(value=(2, 3)), buffer, slots=[2, 3], need=2) is None
    for answer in ((2, 3), (8,), (8, 8), (6, 7)):
        found = house.claims(Outcome(value=answer), buffer, need=2)
        broken(found, "returned-slots", "device")


def test_a_refused_extend_changes_no_table(house):
    before = house.reference.snapshot()
    house.does("free_hisparse", slots=[11])
    call, after = _call(extend(0, 80, -1)), house.reference.snapshot()
    found = house.laws.judge_call(MadeCall(call, (), Outcome(), before, after), house.books)
    broken(found, "failed-call-changes-nothing", "device")


def _call(arguments):
    return Call(
        method="alloc_extend",
        **{k: tuple(v) if isinstance(v, list) else v for k, v in arguments.items()},
    )
