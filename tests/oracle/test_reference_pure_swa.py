"""The allocator whose layers all slide, and its laws (contract_paged_swa §6.8)."""

from __future__ import annotations

import pytest
from family_house import FamilyHouse, broken, family_geometry

from oracle.observation import Outcome

IDENTITY = [0, 1, 2, 3, 4, -1]


def test_it_starts_with_an_identity_mapping_of_length_size_plus_2(drive):
    pool = drive("pure-swa", 4)
    assert (pool.full.free, pool.mapping, pool.snapshot.swa) == ([1, 2, 3, 4], IDENTITY, None)
    assert set(pool.snapshot.queries.values()) == {4}
    assert set(pool.snapshot.queries) == {
        "available_size",
        "full_available_size",
        "swa_available_size",
        "size",
        "size_full",
        "size_swa",
    }


def test_alloc_is_that_of_a_token_allocator(drive):
    pool = drive("pure-swa", 4, need_sort=True)
    assert pool.gives("alloc", need=3) == [1, 2, 3]
    pool.does("free", slots=[3, 1])
    assert (pool.full.free, pool.full.staged) == ([4], [[3, 1]])
    pool.refuses("alloc", need=4)
    assert (pool.full.free, pool.full.staged) == ([1, 3, 4], [])


@pytest.mark.parametrize(
    "method",
    [
        "alloc_extend",
        "alloc_decode",
        "alloc_extend_swa_tail",
        "set_full_to_swa_mapping",
        "clear_full_to_swa_mapping",
    ],
)
def test_what_needs_pages_or_peers_is_not_implemented(drive, method):
    drive("pure-swa", 4).raises("NotImplementedError", "pure-SWA", method)


def test_translate_is_the_identity(drive):
    assert drive("pure-swa", 4).gives("translate_loc_from_full_to_swa", slots=[3, 0, -1]) == [
        3,
        0,
        -1,
    ]


@pytest.mark.parametrize("method", ["free", "free_swa", "free_segment", "free_swa_segment"])
def test_each_of_these_frees_gives_slots_back_in_order_but_none_up_to_0(drive, method):
    pool = drive("pure-swa", 4)
    pool.gives("alloc", need=4)
    pool.does(method, slots=[3, 0, -1, 2])
    assert (pool.full.free, pool.mapping) == ([3, 2], IDENTITY)


@pytest.mark.parametrize("method", ["free_full", "free_full_segment"])
def test_frees_of_the_full_side_do_nothing(drive, method):
    pool = drive("pure-swa", 4)
    row = pool.gives("alloc", need=4)
    before = pool.snapshot
    pool.does(method, slots=row)
    assert pool.snapshot == before


def test_several_segments_are_frees_one_after_the_other(drive, segment):
    pool = drive("pure-swa", 4)
    pool.gives("alloc", need=4)
    parts = (segment([2, 1], 0), segment([], 0), segment([4], 2))
    pool.does("free_full_segments", segments=parts)
    assert pool.full.free == []
    pool.does("free_segments", segments=parts)
    assert pool.full.free == [2, 1, 4]
    pool.gives("alloc", need=3)
    twice = (segment([2, 1], 0), segment([4], 1))
    pool.raises("AssertionError", "overlap", "free_segments", segments=twice)
    pool.is_undefined("out of order", "free_full_segments", segments=twice)


def test_free_and_free_swa_of_one_slot_free_it_twice(drive):
    pool = drive("pure-swa", 4)
    pool.gives("alloc", need=4)
    pool.does("free", slots=[2])
    pool.does("free_swa", slots=[2])
    assert pool.full.free == [2, 2]


def test_only_free_asserts_the_size_and_after_the_work(drive):
    pool = drive("pure-swa", 4)
    pool.does("free_swa", slots=[2])
    pool.raises("AssertionError", "over-credit", "free", slots=[3])
    assert pool.full.free == [1, 2, 3, 4, 2, 3]
    pool.does("free_swa", slots=[2])
    pool.does("free", slots=[])
    pool.does("free_group_begin")
    pool.raises("AssertionError", "over-credit", "free", slots=[3])
    pool.raises("AssertionError", "over-credit", "free_group_end")


def test_in_a_group_the_slots_wait_as_they_were_given_and_go_together(drive):
    pool = drive("pure-swa", 4)
    pool.gives("alloc", need=4)
    pool.does("free_group_begin")
    pool.does("free", slots=[3, 0])
    pool.does("free_swa", slots=[1])
    pool.does("free_full", slots=[2])
    assert (pool.snapshot.group, pool.full.group, pool.full.free) == ([[3, 0], [1]], None, [])
    pool.raises("AssertionError", "nested", "free_group_begin")
    pool.does("free_group_end")
    assert (pool.snapshot.group, pool.full.free) == (None, [3, 1])


@pytest.mark.parametrize("method", ["clear", "resize"])
def test_clear_and_resize_drop_what_waits(drive, method):
    pool = drive("pure-swa", 4)
    before = pool.snapshot
    row = pool.gives("alloc", need=4)
    pool.does("free_group_begin")
    pool.does("free", slots=row)
    pool.does(method, size=4, size_swa=4)
    assert pool.snapshot == before
    pool.does("free_group_end")
    assert pool.snapshot == before


def test_a_resize_gives_the_pool_the_swa_size_and_keeps_the_mapping(drive):
    pool = drive("pure-swa", 4)
    pool.does("resize", size=3, size_swa=2)
    assert (pool.full.free, pool.mapping) == ([1, 2], IDENTITY)
    queries = pool.snapshot.queries
    assert (queries["size_full"], queries["size_swa"], queries["size"]) == (3, 2, 2)
    pool.is_undefined("beyond the table", "resize", size=5, size_swa=5)


@pytest.fixture
def house():
    """A row of slots 1 to 3, slots 4 to 6 free."""
    house = FamilyHouse(family_geometry("pure-swa", 6))
    house.row(house.does("alloc", need=3).value)
    house.settle()
    return house


def test_the_laws_accept_frees_of_either_name_in_a_group_and_outside(house):
    house.does("free_swa", slots=[3])
    house.books.give_back(house.books.requests[0], [2])
    house.settle()
    house.does("free_group_begin")
    house.books.group_open = True
    house.does("free", slots=[1, 2])
    house.books.give_back(house.books.requests[0], [0, 1])
    house.settle()
    house.does("free_group_end")
    house.books.close_group()
    house.settle()
    house.does("resize", size=6, size_swa=5)
    house.settle()


@pytest.mark.parametrize(
    ("law", "pool", "changes"),
    [
        ("padding-page", "full", {"full__free": [0, 4, 5, 6]}),
        ("one-owner", "full", {"full__free": [4, 5, 6, 3]}),
        ("one-owner", "full", {"full__free": [4, 5, 6, 6]}),
        ("conservation", "full", {"full__free": [4, 5]}),
        ("capacity-within-size", "full", {"full__available": 4}),
        ("capacity-within-size", "", {"queries__swa_available_size": 4}),
        ("identity-mapping", "swa", {"mapping": [0, 1, 2, 3, 0, 5, 6, -1]}),
        ("identity-mapping", "swa", {"mapping": [0, 1, 2, 3, 4, 5, 6, 0]}),
        ("identity-mapping", "swa", {"mapping": []}),
    ],
)
def test_each_law_fires(house, law, pool, changes):
    assert house.judge() is None
    broken(house.judge(**changes), law, pool)


def test_a_slot_that_waits_and_is_0_is_no_damage(house):
    house.does("free_group_begin")
    house.books.group_open = True
    house.does("free", slots=[0], breaches=("raw-slots",))
    house.settle()


def test_answers_are_judged(house):
    wrong = Outcome(value=(1, 0))
    translate = "translate_loc_from_full_to_swa"
    broken(house.claims(wrong, translate, slots=[1, 2]), "returned-slots", "swa")
    broken(house.claims(Outcome(value=(3,)), "alloc", need=1), "returned-slots", "full")


def test_a_slot_that_does_not_come_back_is_reported(house):
    house.books.clear()
    broken(house.judge(), "conservation", "full")
