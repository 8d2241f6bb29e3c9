"""The hybrid allocator in ring mode, and its laws (contract_paged_swa §6)."""

from __future__ import annotations

import pytest
from family_house import FamilyHouse, broken, family_geometry

from oracle.observation import Hit, Outcome

SIZES = {"request_slots": 3, "ring": 6}
"""A ring of 6 slots costs 8 at page size 4."""


def ring(drive, pages=4, **options):
    return drive("swa-ring", pages * 4, 4, size_swa=8, sizes=SIZES, **options)


def test_the_cost_is_the_ring_in_whole_pages_and_the_swa_pool_lies_idle(drive):
    pool = ring(drive)
    assert pool.snapshot.queries == {
        "available_size": 16,
        "full_available_size": 16,
        "swa_available_size": 24,
        "size": 16,
        "size_full": 16,
        "size_swa": 24,
        "free_request_slots": 3,
    }
    assert (pool.swa.size, pool.swa.free) == (8, [1, 2])
    assert ring(drive, 8).snapshot.queries["size"] == 24


def test_request_slots_are_the_callers_and_count_for_the_swa_side(drive):
    pool = ring(drive)
    assert pool.does("take_request_slots", need=2).value is None
    queries = pool.snapshot.queries
    assert (queries["free_request_slots"], queries["swa_available_size"]) == (1, 8)
    assert (queries["size_swa"], queries["available_size"]) == (24, 16)
    pool.does("clear")
    pool.does("return_request_slots", need=1)
    assert pool.snapshot.queries["swa_available_size"] == 16
    pool.is_undefined("4 of 3 request slots", "return_request_slots", need=2)


def test_new_pages_are_a_question_of_the_full_side_alone(drive):
    pool = ring(drive)
    pool.does("take_request_slots", need=3)
    assert pool.snapshot.new_pages == [True] * 12 + [False] * 4


def test_extend_decode_and_tail_take_from_the_full_side_alone(drive, extends):
    pool = ring(drive)
    idle = (pool.swa, pool.mapping)
    assert pool.extend(0, 3) == [4, 5, 6]
    assert pool.gives("alloc_decode", seq_lens=[4], last_loc=[6]) == [7]
    tail = pool.gives("alloc_extend_swa_tail", **extends([0], [9], [-1]), swa_tail_len=4)
    assert tail == list(range(8, 17))
    assert (pool.swa, pool.mapping) == idle
    assert pool.gives("translate_loc_from_full_to_swa", slots=[4, -1]) == [0, -1]


def test_a_short_extend_merges_nothing_and_a_short_decode_may(drive, extends, tokens):
    pool = ring(drive, 2, need_sort=True)
    pool.extend(0, 8)
    pool.does("free", slots=tokens(2))
    before = pool.snapshot
    for method in ("alloc_extend", "alloc_extend_swa_tail"):
        pool.refuses(method, **extends([0], [12], [-1]))
        assert pool.snapshot == before
    pool.refuses("alloc_decode", seq_lens=[1, 5], last_loc=[-1, 7])
    assert (pool.full.free, pool.full.staged) == ([2], [])


def test_a_tail_must_fit_and_be_of_one_request(drive, extends):
    pool = ring(drive)
    tail = "alloc_extend_swa_tail"
    pool.raises("AssertionError", "tail", tail, **extends([0], [4], [-1]), swa_tail_len=5)
    pool.raises("AssertionError", "batch", tail, **extends([0, 0], [4, 4], [-1, -1]))
    assert pool.full.free == [1, 2, 3, 4]


@pytest.mark.parametrize("method", ["free_swa", "free_swa_segment"])
def test_frees_of_the_swa_side_do_nothing_aligned_or_not(drive, tokens, method):
    pool = ring(drive, level="strict", debug=True)
    pool.extend(0, 8)
    before = pool.snapshot
    pool.does(method, slots=tokens(1), start_pos=3 if "segment" in method else 0)
    assert pool.snapshot == before


def test_free_and_its_segment_forms_free_the_full_side(drive, tokens):
    pool = ring(drive, level="strict", debug=True)
    pool.extend(0, 16)
    pool.does("free", slots=[8, 4])
    pool.does("free_segment", slots=tokens(4), start_pos=0)
    pool.does("free_full_segment", slots=tokens(3), start_pos=4)
    assert pool.full.free == [3, 4, 1, 2]
    assert pool.swa.free == [1, 2]


def test_the_full_half_of_a_segment_free_asserts_the_alignment(drive, tokens):
    pool = ring(drive)
    pool.extend(0, 8)
    before = pool.snapshot
    pool.raises("AssertionError", "alignment", "free_segment", slots=tokens(1), start_pos=2)
    assert pool.snapshot == before
    pool.does("free_segment", slots=[], start_pos=2)


def test_what_is_freed_needs_no_peer_but_an_odd_id_hits_peer_released(drive):
    pool = ring(drive, level="strict")
    pool.extend(0, 8)
    outcome = pool.raises("invariant:swa.peer_released", "1", "free", slots=[4, -1])
    assert outcome.hits == (Hit("swa.peer_released", 1),)
    assert pool.full.free == [3, 4]


def test_over_credit_is_asserted_after_the_full_release(drive, tokens):
    pool = ring(drive)
    pool.raises("AssertionError", "over-credit FULL", "free", slots=tokens(1))
    assert pool.full.free == [1, 1, 2, 3, 4]


def test_in_a_group_only_full_waits(drive, tokens):
    pool = ring(drive)
    pool.extend(0, 16)
    pool.does("free_group_begin")
    pool.does("free", slots=tokens(1))
    pool.does("free_swa", slots=tokens(2))
    pool.does("free_segment", slots=tokens(2, 3), start_pos=4)
    state = pool.snapshot
    assert (state.group, state.swa_set_pile, state.swa_page_pile) == ([], [], [])
    assert (pool.full.group, pool.full.page_pile) == ([tokens(1)], [[2, 3]])
    pool.does("free_group_end")
    assert (pool.full.free, pool.swa.free) == ([2, 3, 1], [1, 2])


def test_direct_calls_reach_the_full_pool(drive, tokens):
    pool = ring(drive, need_sort=True)
    pool.extend(0, 16)
    pool.does("free_segment", pool="full", slots=tokens(3, 2), start_pos=0)
    assert (pool.full.free, pool.full.staged) == ([], [[3, 2]])
    pool.does("merge_and_sort_free", pool="full")
    assert (pool.full.free, pool.full.staged) == ([2, 3], [])


@pytest.fixture
def house():
    """A row on pages 1 and 2, pages 3 and 4 free, one request slot taken."""
    house = FamilyHouse(family_geometry("swa-ring", 16, 4, size_swa=8, **SIZES))
    house.does("take_request_slots", need=1)
    house.books.request_slots = 1
    house.settle()
    extend = {"prefix_lens": [0], "seq_lens": [6], "last_loc": [-1], "extend_num_tokens": 6}
    house.row(house.does("alloc_extend", **extend).value)
    house.settle()
    return house


def test_the_laws_accept_a_row_and_its_end(house, tokens):
    house.does("free_swa", slots=tokens(1))
    house.settle()
    house.does("free_group_begin")
    house.books.group_open = True
    house.does("free_segment", slots=range(4, 10), start_pos=0)
    house.books.give_back(house.books.requests[0], [0, 1])
    house.settle()
    house.does("free_group_end")
    house.books.close_group()
    house.does("return_request_slots", need=1)
    house.settle()


@pytest.mark.parametrize(
    ("law", "pool", "changes"),
    [
        ("padding-page", "full", {"full__free": [0, 3, 4]}),
        ("one-owner", "full", {"full__free": [3, 4, 2]}),
        ("conservation", "full", {"full__free": [3]}),
        ("conservation", "swa", {"swa__free": [1]}),
        ("mapping-support", "swa", {"mapping": [0] * 5 + [4] + [0] * 14 + [-1]}),
        ("ring-accounting", "", {"queries__swa_available_size": 15}),
        ("ring-accounting", "", {"queries__available_size": 7}),
        ("ring-accounting", "", {"queries__size_swa": 8}),
    ],
)
def test_each_law_fires(house, law, pool, changes):
    assert house.judge() is None
    broken(house.judge(**changes), law, pool)


def test_a_held_page_is_not_handed_out(house):
    extend = {"prefix_lens": [0], "seq_lens": [1], "last_loc": [-1], "extend_num_tokens": 1}
    broken(house.claims(Outcome(value=(8,)), "alloc_extend", **extend), "returned-slots", "full")
    assert house.claims(Outcome(value=(12,)), "alloc_extend", **extend) is None


def test_pages_that_do_not_come_back_are_reported(house):
    house.books.clear()
    broken(house.judge(), "conservation", "full")
