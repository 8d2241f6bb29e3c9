"""The laws about the state after an operation: pages and their owners, the mapping, and whose KV a
request reads.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from plain_allocator import House

from oracle import operations as op
from oracle.laws import Violation
from oracle.observation import Snapshot

TWO_ROWS = (op.Alloc(1, "pages"), op.Alloc(1, "pages"))
"""Request 1 on FULL and SWA pages 1 and 2, request 2 on pages 3 and 4."""


def _broken(found: Violation | None, law: str, pool: str) -> Violation:
    assert found is not None, f"{law} did not fire"
    assert (found.law, found.pool) == (law, pool), found
    return found


def _map(house: House, first: int, *peers: int) -> None:
    house.allocator.mapping[first : first + len(peers)] = peers


def _judge(house: House, **fields: Any) -> Violation | None:
    """Judge the state with some fields of the snapshot changed (``swa__size`` for one of the SWA
    pool).
    """
    state: Snapshot = house.allocator.snapshot()
    for name, value in fields.items():
        pool, _, field = name.rpartition("__")
        setattr(getattr(state, pool) if pool else state, field, value)
    return house.laws.judge_state(state, house.books)


@pytest.mark.parametrize("pool", ["full", "swa"])
@pytest.mark.parametrize("staged", [False, True])
def test_the_padding_page_is_never_free(pool: str, staged: bool) -> None:
    house = House(size=16).prepare(op.Alloc())
    if staged:
        house.allocator.staged[pool].append([0])
    else:
        house.allocator.free[pool].insert(1, 0)
    found = _broken(house.judge(), "padding-page", pool)
    assert "[0]" in found.got


@pytest.mark.parametrize(
    "pile", ["group", "swa_page_pile", "full_only_pile", "full__group", "full__page_pile"]
)
def test_the_padding_page_is_in_no_pile(pile: str) -> None:
    house = House().prepare(*TWO_ROWS, op.GroupBegin())
    pool = "swa" if "swa" in pile else "full" if "full" in pile else ""
    _broken(_judge(house, **{pile: [[3], [0, 2]]}), "padding-page", pool)


def test_gathered_slots_may_hold_zeros() -> None:
    assert _judge(House().prepare(op.GroupBegin()), swa_set_pile=[[0, 0, 0, 0]]) is None


def test_no_live_slot_maps_to_the_padding_page() -> None:
    house = House().prepare(*TWO_ROWS)
    _map(house, 13, 1)
    found = _broken(house.judge(), "padding-page", "swa")
    assert found.got == "FULL slot 13 (request 2 position 1) has SWA slot 1 as its peer"


@pytest.mark.parametrize("pool", ["full", "swa"])
def test_a_page_that_is_free_twice_is_reported(pool: str) -> None:
    house = House(size=16).prepare(op.Alloc())
    house.allocator.free[pool].append(2)
    found = _broken(house.judge(), "one-owner", pool)
    assert found.got == "it is there again: ... 2, 3, 4, [2]"


@pytest.mark.parametrize("in_group", [False, True])
def test_a_full_page_that_is_free_while_held_is_reported(in_group: bool) -> None:
    house = House().prepare(*TWO_ROWS, *[op.GroupBegin()] * in_group)
    house.allocator.free["full"].insert(0, 3)
    found = _broken(house.judge(), "one-owner", "full")
    assert found.expected == "FULL page 3, which request 2 holds, is not free"


@pytest.mark.parametrize("in_group", [False, True])
def test_an_swa_page_that_is_free_while_held_is_reported(in_group: bool) -> None:
    house = House().prepare(*TWO_ROWS, *[op.GroupBegin()] * in_group)
    house.allocator.free["swa"].insert(0, 3)
    _broken(house.judge(), "one-owner", "swa")


@pytest.mark.parametrize("in_group", [False, True])
@pytest.mark.parametrize("pool", ["full", "swa"])
def test_a_lost_page_is_reported(pool: str, in_group: bool) -> None:
    house = House().prepare(*TWO_ROWS, *[op.GroupBegin()] * in_group)
    house.allocator.free[pool].remove(9)
    found = _broken(house.judge(), "conservation", pool)
    assert found.got == "it is nowhere; 1 of 16 pages are lost"


@pytest.mark.parametrize("pool", ["full", "swa"])
def test_a_page_that_waits_is_lost_only_after_the_group(pool: str) -> None:
    house = House().prepare(*TWO_ROWS, op.GroupBegin(), op.Release())
    house.allocator.waiting[pool].remove(4)
    assert house.judge() is None
    _broken(house.does(op.GroupEnd()), "conservation", pool)


def test_a_page_of_a_later_group_is_not_excused_by_an_earlier_one() -> None:
    house = House().prepare(*TWO_ROWS, op.GroupBegin(), op.Release(), op.GroupEnd())
    house.prepare(op.GroupBegin())
    house.allocator.free["full"].remove(4)
    _broken(house.judge(), "conservation", "full")


def test_a_page_that_the_pool_does_not_have_is_reported() -> None:
    house = House(size=66)
    house.allocator.free["full"].append(17)
    found = _broken(house.judge(), "conservation", "full")
    assert found.expected == "FULL has pages 1 to 16"


def test_a_resize_changes_how_many_pages_there_are() -> None:
    house = House().prepare(*TWO_ROWS, op.Resize(full=3, swa=2))
    house.allocator.free["full"].append(4)
    _broken(house.judge(), "conservation", "full")


@pytest.mark.parametrize(
    ("field", "value"),
    [("available", 52), ("available", -4), ("available", 80), ("size", 60), ("staged_count", 1)],
)
@pytest.mark.parametrize("pool", ["full", "swa"])
def test_a_wrong_capacity_is_reported(pool: str, field: str, value: int) -> None:
    house = House().prepare(*TWO_ROWS)
    _broken(_judge(house, **{f"{pool}__{field}": value}), "capacity-within-size", pool)


@pytest.mark.parametrize("query", ["available_size", "full_available_size", "swa_available_size"])
def test_size_queries_say_that_everything_is_back(query: str) -> None:
    house = House(size=66).prepare(*TWO_ROWS, op.Drain())
    queries = house.allocator.snapshot().queries
    found = _judge(house, queries=queries | {query: 60})
    assert _broken(found, "everything-returned", "").expected == f"{query} 64"


def test_pages_that_are_held_for_no_live_request_are_reported() -> None:
    house = House().prepare(*TWO_ROWS)
    house.books.requests.clear()
    _broken(house.judge(), "everything-returned", "full")


@pytest.mark.parametrize(
    ("slot", "value"), [(-1, 0), (0, 5), (20, 20)], ids=["sentinel", "padding", "free slot"]
)
@pytest.mark.parametrize("in_group", [False, True])
def test_only_live_slots_with_peers_are_mapped(slot: int, value: int, in_group: bool) -> None:
    house = House().prepare(*TWO_ROWS, *[op.GroupBegin()] * in_group)
    house.allocator.mapping[slot] = value
    _broken(house.judge(), "mapping-support", "swa")


def test_a_live_slot_that_lost_its_peer_is_reported() -> None:
    house = House().prepare(*TWO_ROWS)
    _map(house, 13, 0)
    found = _broken(house.judge(), "mapping-support", "swa")
    assert found.expected == "FULL slot 13 (request 2 position 1) has a peer"


def test_an_entry_may_linger_only_until_the_group_ends() -> None:
    house = House(deferral="at-end").prepare(*TWO_ROWS, op.GroupBegin(), op.Free(count=7))
    assert house.allocator.mapping[12] == 12
    house.prepare(op.Alloc(1, "pages"), op.GroupEnd())
    _map(house, 12, 12)
    _broken(house.judge(), "mapping-support", "swa")


def test_a_peer_that_outlives_its_full_page_is_reported() -> None:
    house = House().prepare(*TWO_ROWS)
    found = house.does(op.Free("free_full", count=7), illegal=True)
    _broken(found, "mapping-support", "swa")


def test_two_slots_that_share_a_peer_are_reported() -> None:
    house = House().prepare(*TWO_ROWS)
    _map(house, 12, 4)
    found = _broken(house.judge(), "mapping-injective", "swa")
    assert found.got == (
        "it is the peer of FULL slot 4 (request 1 position 0)"
        " and of FULL slot 12 (request 2 position 0)"
    )


def test_two_full_pages_that_share_an_swa_page_are_reported() -> None:
    rows = (op.Extend((op.Part(0, 2),)), op.Extend((op.Part(0, 8),)))
    house = House().prepare(*rows)
    assert house.row() == list(range(8, 16))
    _map(house, 14, 6, 7)
    found = _broken(house.judge(), "mapping-injective", "swa")
    assert "SWA page 1" in found.expected


def test_a_full_page_with_peers_on_two_swa_pages_is_reported() -> None:
    house = House().prepare(*TWO_ROWS)
    _map(house, 14, 22, 23)
    _broken(house.judge(), "mapping-injective", "swa")


def test_a_peer_at_another_page_offset_is_reported() -> None:
    house = House().prepare(*TWO_ROWS)
    _map(house, 12, 13, 14, 15, 12)
    found = _broken(house.judge(), "page-offset", "swa")
    assert found.got == "SWA slot 13, at page offset 1"
    house.books.straddled.add(3)
    assert house.judge() is None


def test_a_peer_outside_the_pool_is_reported() -> None:
    house = House(page_size=1, size=4).prepare(op.Alloc(2))
    _map(house, 1, 7)
    found = _broken(house.judge(), "mapped-equals-held", "swa")
    assert found.got == "FULL slot 1 maps to SWA slot 7 on SWA page 7"


def test_full_kv_that_another_request_overwrote_is_reported() -> None:
    house = House("paged").prepare(*TWO_ROWS)
    house.books.written.clear()
    house.books.grow(house.books.open_request(), [13])
    house.books.holders[3] = 1
    found = _broken(house.judge(), "content-full", "full")
    assert found.got == "request 2 position 1 would read KV that request 3 position 0 wrote"


def test_a_restore_does_not_bring_overwritten_kv_back() -> None:
    house = House("paged").prepare(op.Alloc(0, "pages"), op.Backup(), op.Free(count=3))
    house.allocator.free["full"].sort()
    house.prepare(op.Alloc(0, "pages"))
    found = _broken(house.does(op.Restore(), illegal=True), "content-full", "full")
    assert found.got == "request 1 position 0 would read KV that request 2 position 0 wrote"


def test_a_restore_after_allocations_brings_everything_back() -> None:
    house = House().prepare(op.Alloc(0, "pages"), op.Backup(), op.Extend((op.Part(1, 9),)))
    house.prepare(op.Restore(), op.Extend((op.Part(1, 9), op.Part(0, 3))), op.Drain())


def test_swa_kv_that_another_request_wrote_is_reported() -> None:
    house = House().prepare(*TWO_ROWS)
    _map(house, 4, 12, 13, 14, 15)
    _map(house, 12, 4, 5, 6, 7)
    found = _broken(house.judge(), "content-swa", "swa")
    assert found.got == "request 1 position 0 would read KV that request 2 position 0 wrote"


def test_swa_kv_that_nobody_wrote_is_reported() -> None:
    house = House().prepare(*TWO_ROWS)
    _map(house, 4, 40, 41, 42, 43)
    house.allocator.free["swa"][house.allocator.free["swa"].index(10)] = 1
    found = _broken(house.judge(), "content-swa", "swa")
    assert found.got == "request 1 position 0 would read a slot that nobody wrote"


def test_new_peers_carry_their_own_kv_only_once_it_is_loaded() -> None:
    house = House().prepare(*TWO_ROWS, op.Evict(1, 1), op.Evict(0, 1))
    unloaded = copy.deepcopy(house.laws)
    house.prepare(op.Recover(1, pages=1))
    house.books.loaded_peers.clear()
    found = unloaded.judge_state(house.allocator.snapshot(), house.books)
    found = _broken(found, "content-swa", "swa")
    assert found.got == "request 1 position 0 would read KV that request 2 position 0 wrote"


def test_a_fork_reads_the_kv_of_the_row_that_it_shares() -> None:
    house = House().prepare(op.Alloc(1, "pages"), op.Fork(0, 0), op.Release(1))
    assert [request.identity for request in house.books.requests] == [2]
    _map(house, 4, 40, 41, 42, 43)
    house.allocator.free["swa"][house.allocator.free["swa"].index(10)] = 1
    found = _broken(house.judge(), "content-swa", "swa")
    assert found.got.startswith("request 2 position 0 would read")
