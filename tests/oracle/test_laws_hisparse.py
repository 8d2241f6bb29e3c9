"""The laws of the HiSparse allocator (contract_paged_swa §7.1, §15.18)."""

from __future__ import annotations

import pytest
from family_house import FamilyHouse, broken, family_geometry

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
    """A row of six slots on pages 1 and 2 of both sides, and one of page 3 whose place is a buffer on page 3."""
    house = FamilyHouse(family_geometry("hisparse", 20, 4, ratio=2))
    row = house.row(house.does("alloc_extend", **extend(0, 6, -1)).value)
    house.books.device_backed.update(row.slots)
    house.settle()
    row = house.row(house.does("alloc_extend", **extend(0, 4, -1)).value)
    house.books.device_backed.update(row.slots)
    house.settle()
    buffer = house.does("alloc_device_buffer", slots=row.slots, need=4).value
    house.books.device_backed.difference_update(row.slots)
    house.books.buffers.append(DeviceBuffer(row.identity, buffer))
    house.settle()
    return house


def changed(house, entries):
    table = list(house.reference.snapshot().device_mapping)
    for key, place in entries.items():
        table[key] = place
    return table


def test_the_laws_accept_the_life_of_a_row(house):
    long, short = house.books.requests
    house.does("alloc_decode", seq_lens=[7], last_loc=[9])
    house.books.grow(long, [10])
    house.settle()
    house.does("free_hisparse", slots=[8, 9])
    house.books.device_backed -= {8, 9}
    house.settle()
    house.does("free", slots=long.slots)
    house.books.device_backed.clear()
    house.books.give_back(long, [0, 1])
    house.settle()
    house.does("free_hisparse_indices", slots=house.books.buffers.pop().slots)
    house.settle()
    house.does("free", slots=short.slots)
    house.books.give_back(short, [0])
    house.settle()


def test_a_buffer_that_the_device_lacks_is_nobodys_fault_and_takes_its_pages_with_it(house):
    row = house.books.requests[0]
    outcome = house.does("alloc_device_buffer", slots=row.slots, need=80)
    assert outcome.error == "AssertionError"
    house.books.device_backed.clear()
    house.settle()
    house.does("clear")
    house.books.clear()
    house.settle()


@pytest.mark.parametrize(
    ("law", "pool", "changes"),
    [
        ("padding-page", "device", {"device__free": [0, 4, 5]}),
        ("one-owner", "device", {"device__free": [4, 5, 5]}),
        ("one-owner", "device", {"device__free": [4, 5, 2]}),
        ("one-owner", "device", {"device__free": [4, 5, 3]}),
        ("conservation", "device", {"device__free": [4]}),
        ("conservation", "device", {"device__free": [4, 6]}),
        ("capacity-within-size", "device", {"device__available": 12}),
        ("capacity-within-size", "device", {"device": None}),
        ("one-owner", "full", {"full__free": [4, 5, 6, 7, 8, 9, 10, 1]}),
        ("conservation", "full", {"full__free": [4, 5, 6]}),
        ("capacity-within-size", "", {"queries__available_size": 9}),
        ("capacity-within-size", "", {"queries__device_available_size": 9}),
        ("capacity-within-size", "", {"queries__logical_available_size": 9}),
    ],
)
def test_each_law_about_pages_fires(house, law, pool, changes):
    assert house.judge() is None
    broken(house.judge(**changes), law, pool)


@pytest.mark.parametrize(
    ("law", "entries"),
    [
        ("mapping-support", {-1: 0}),
        ("mapping-support", {5: 0}),
        ("mapping-support", {2: 4}),
        ("mapping-support", {20: 16}),
        ("padding-page", {5: 1}),
        ("mapping-injective", {6: 5}),
        ("mapping-injective", {8: 4, 9: 16}),
        ("mapping-injective", {8: 16, 9: 17, 4: 8, 5: 17}),
        ("page-offset", {5: 16}),
        ("one-owner", {8: 12, 9: 13}),
    ],
)
def test_each_law_about_the_table_fires(house, law, entries):
    broken(house.judge(device_mapping=changed(house, entries)), law, "device")


def test_two_buffers_do_not_share_a_page(house):
    house.books.buffers.append(DeviceBuffer(1, (12, 13)))
    broken(house.judge(), "one-owner", "device")


def test_a_buffer_that_does_not_come_back_is_reported(house):
    house.does("free", slots=[slot for row in house.books.requests for slot in row.slots])
    house.books.clear()
    broken(house.judge(), "conservation", "device")
    house.does("free_hisparse_indices", slots=[12])
    house.settle()
    broken(house.judge(device_mapping=changed(house, {4: 4})), "mapping-support", "device")


def test_buffers_are_judged(house):
    buffer = "alloc_device_buffer"
    assert house.claims(Outcome(value=(16, 17, 18, 19)), buffer, need=4) is None
    own = Outcome(value=(4, 5, 6, 7))
    assert house.claims(own, buffer, slots=[4, 5, 6, 7], need=4) is None
    for answer in ((4, 5, 6, 7), (16, 17, 18), (16, 17, 18, 18), (0, 1, 2, 3)):
        found = house.claims(Outcome(value=answer), buffer, need=4)
        broken(found, "returned-slots", "device")


def test_a_refusal_changes_neither_side_nor_the_table():
    house = FamilyHouse(family_geometry("hisparse", 2, ratio=2))
    house.does("alloc", need=2)
    outcome = house.does("alloc", need=1)
    assert outcome.value is None
    raised = Outcome(error="AssertionError")
    broken(house.claims(raised, "alloc_device_buffer", need=0), "legal-call-raised", "")
