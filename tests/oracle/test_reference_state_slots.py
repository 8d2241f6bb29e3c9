"""The allocator of states and its laws (contract_paged_swa §8)."""

from __future__ import annotations

import pytest
from family_house import FamilyHouse, broken, family_geometry

from oracle.observation import Outcome


def prepared(pool):
    return pool.snapshot.prepared


def test_it_starts_with_every_state_but_0_and_nothing_prepared(drive):
    pool = drive("mamba-slots", 4)
    assert (pool.full.free, prepared(pool)) == ([1, 2, 3, 4], None)
    assert pool.snapshot.queries == {"available_size": 4, "size": 4}


def test_alloc_pops_the_head_and_free_appends(drive):
    pool = drive("mamba-slots", 4)
    assert pool.gives("alloc", need=3) == [1, 2, 3]
    pool.does("free", slots=[2, 1, 2])
    assert pool.full.free == [4, 2, 1, 2]
    assert pool.gives("alloc", need=2) == [4, 2]


def test_none_when_states_are_short_and_nothing_changes(drive):
    pool = drive("mamba-slots", 2)
    pool.refuses("alloc", need=3)
    assert pool.full.free == [1, 2]
    assert pool.gives("alloc", need=0) == []


def test_single_allocations_come_from_what_was_prepared(drive):
    pool = drive("mamba-slots", 6)
    pool.does("alloc_group_begin", need=3)
    assert (pool.full.free, prepared(pool)) == ([4, 5, 6], [1, 2, 3])
    assert pool.snapshot.queries["available_size"] == 3
    assert pool.gives("alloc", need=1) == [1]
    assert pool.gives("alloc", need=2) == [4, 5]
    assert pool.gives("alloc", need=1) == [2]
    pool.does("alloc_group_end")
    assert (pool.full.free, prepared(pool)) == ([6, 3], None)


def test_what_is_exhausted_falls_back_to_the_head(drive):
    pool = drive("mamba-slots", 3)
    pool.does("alloc_group_begin", need=2)
    assert [pool.gives("alloc", need=1) for _ in range(3)] == [[1], [2], [3]]
    assert prepared(pool) == []
    pool.refuses("alloc", need=1)
    pool.does("alloc_group_end")
    assert prepared(pool) is None


@pytest.mark.parametrize("need", [0, 5])
def test_a_begin_that_wants_nothing_or_too_much_prepares_nothing(drive, need):
    pool = drive("mamba-slots", 4)
    pool.does("alloc_group_begin", need=need)
    assert (pool.full.free, prepared(pool)) == ([1, 2, 3, 4], None)
    pool.does("alloc_group_end")
    assert pool.gives("alloc", need=1) == [1]


def test_a_second_begin_drops_what_the_first_took_out(drive):
    pool = drive("mamba-slots", 4)
    pool.does("alloc_group_begin", need=2)
    pool.does("alloc_group_begin", need=1)
    assert (pool.full.free, prepared(pool)) == ([4], [3])


def test_clear_returns_to_the_start(drive):
    pool = drive("mamba-slots", 4)
    before = pool.snapshot
    pool.gives("alloc", need=1)
    pool.does("alloc_group_begin", need=2)
    pool.does("clear")
    assert pool.snapshot == before


def test_a_negative_need_is_left_open(drive):
    drive("mamba-slots", 4).is_undefined("negative", "alloc", need=-1)


@pytest.fixture
def house():
    """A row of states 1 and 2, states 3 to 5 prepared, states 6 to 8 free."""
    house = FamilyHouse(family_geometry("mamba-slots", 8))
    house.row(house.does("alloc", need=2).value)
    house.settle()
    house.does("alloc_group_begin", need=3)
    house.settle()
    return house


def test_the_laws_accept_prepared_states_and_hand_them_out(house):
    house.row(house.does("alloc", need=1).value)
    house.settle()
    house.does("alloc_group_end")
    house.settle()
    assert house.does("alloc", need=6).value is None


def test_with_no_row_prepared_states_are_not_missing():
    house = FamilyHouse(family_geometry("mamba-slots", 4))
    house.does("alloc_group_begin", need=2)
    house.settle()


def test_a_second_begin_loses_states(house):
    house.does("alloc_group_begin", need=1, breaches=("nested-group",))
    broken(house.judge(), "conservation", "full")


@pytest.mark.parametrize(
    ("law", "changes"),
    [
        ("padding-page", {"prepared": [0, 3, 4, 5]}),
        ("one-owner", {"prepared": [3, 4, 5, 6]}),
        ("one-owner", {"prepared": [3, 4, 5, 2]}),
        ("conservation", {"prepared": [3, 5]}),
        ("conservation", {"prepared": None}),
        ("capacity-within-size", {"full__available": 6}),
    ],
)
def test_each_law_fires(house, law, changes):
    assert house.judge() is None
    broken(house.judge(**changes), law, "full")


def test_states_that_do_not_come_back_are_reported(house):
    house.does("alloc_group_end")
    house.books.clear()
    broken(house.judge(), "conservation", "full")
    house.does("free", slots=[1, 2])
    house.settle()
    broken(house.judge(queries__available_size=7), "everything-returned", "")


def test_a_held_state_is_not_handed_out(house):
    broken(house.claims(Outcome(value=(2,)), "alloc", need=1), "returned-slots", "full")
    assert house.claims(Outcome(value=(4,)), "alloc", need=1) is None
