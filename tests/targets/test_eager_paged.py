"""The paged allocator's allocation and plain frees, rule by rule (contract_paged_swa §5)."""

from __future__ import annotations

import pytest
from eager_calls import Bench, paged, pages

from oracle.geometry import Mode

DEBUG = Mode(debug=True)


def test_a_remainder_of_the_size_is_lost() -> None:
    state = Bench(paged(11, 4)).state
    assert state.full.free == [1, 2]
    assert state.full.available == 8
    assert state.queries == {"available_size": 8, "size": 11}


def test_alloc_gives_whole_pages_and_floors() -> None:
    bench = Bench(paged())
    assert bench.call("alloc", need=7).value == (4, 5, 6, 7)
    assert bench.call("alloc", need=3).value == ()
    assert bench.call("alloc", need=32).value is None


def test_debug_mode_refuses_a_part_of_a_page() -> None:
    bench = Bench(paged(), DEBUG)
    before = bench.state
    assert bench.call("alloc", need=7).error == "AssertionError"
    assert bench.state == before


def test_releases_go_in_front_sorted_and_each_page_once() -> None:
    bench = Bench(paged())
    bench.fresh(24)
    bench.free((13, 8, 12, 5), wide=False)
    assert bench.state.full.free == [1, 2, 3, 7, 8]
    bench.free(pages(6, 4))
    assert bench.state.full.free == [4, 6, 1, 2, 3, 7, 8]


def test_sorted_pools_stage_each_release_as_an_entry() -> None:
    bench = Bench(paged(need_sort=True))
    bench.fresh(16)
    bench.free(pages(3, 4))
    bench.free(pages(2, 1), "free_segment", overwrite=True)
    state = bench.state.full
    assert state.free == [5, 6, 7, 8]
    assert state.staged == [[3, 4], [2, 1]]
    assert state.staged_count == 4
    assert state.all_free == [5, 6, 7, 8, 3, 4, 2, 1]
    bench.call("merge_and_sort_free")
    assert bench.state.full.free == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_merge_with_nothing_staged_keeps_the_order() -> None:
    bench = Bench(paged())
    bench.fresh(16)
    bench.free(pages(2))
    bench.free(pages(4))
    bench.call("merge_and_sort_free")
    assert bench.state.full.free == [4, 2, 5, 6, 7, 8]


def test_extend_fills_the_open_page_then_whole_pages_then_the_start_of_the_last() -> None:
    bench = Bench(paged())
    row = bench.fresh(3)
    assert row == (4, 5, 6)
    outcome = bench.extend((3, 10, 6), wide=False)
    assert outcome.value == (7, 8, 9, 10, 11, 12, 13)
    assert outcome.dtype == "int64"


def test_extend_serves_requests_in_batch_order_with_consecutive_pages() -> None:
    bench = Bench(paged())
    bench.fresh(16)
    bench.free(pages(2))
    bench.free(pages(4))
    assert bench.extend((0, 5, -1), (0, 2, -1)).value == (16, 17, 18, 19, 8, 20, 21)
    assert bench.state.full.free == [6, 7, 8]


def test_extend_that_stays_in_the_open_page_takes_none() -> None:
    bench = Bench(paged())
    bench.fresh(1)
    assert bench.extend((1, 3, 4)).value == (5, 6)
    assert bench.state.full.free == [2, 3, 4, 5, 6, 7, 8]


def test_an_empty_extend_gives_an_empty_tensor() -> None:
    bench = Bench(paged())
    bench.fresh(4)
    before = bench.state
    assert bench.extend((4, 4, 7)).value == ()
    assert bench.state == before


def test_extend_merges_when_the_bound_is_short_although_the_need_fits() -> None:
    bench = Bench(paged(16, need_sort=True))
    bench.fresh(12)
    bench.free(pages(1))
    assert bench.state.full.free == [4]
    assert bench.extend((0, 4, -1)).value == pages(1)


def test_extend_takes_exactly_what_is_left_and_no_more() -> None:
    bench = Bench(paged(16))
    assert bench.extend((0, 17, -1)).value is None
    assert bench.extend((0, 16, -1)).value == pages(1, 2, 3, 4)
    assert bench.state.full.free == []


def test_a_given_number_of_new_pages_is_used() -> None:
    bench = Bench(paged(16))
    assert bench.extend((0, 9, -1), num_new_pages=3).value == (*pages(1, 2), 12)
    assert bench.state.full.free == [4]


def test_decode_opens_pages_for_rows_at_a_boundary_only() -> None:
    bench = Bench(paged())
    bench.fresh(4, 2, 8)
    outcome = bench.decode((5, 7), (3, 9), (9, 19), wide=False)
    assert outcome.value == (20, 10, 24)
    assert outcome.dtype == "int64"
    assert bench.state.full.free == [7, 8]


def test_decode_is_refused_when_pages_are_short_and_keeps_the_merge() -> None:
    bench = Bench(paged(8, need_sort=True))
    bench.fresh(8)
    bench.free(pages(1))
    assert bench.decode((5, 11), (5, 11)).value is None
    assert bench.state.full.free == [1]
    assert bench.state.full.staged == []


@pytest.mark.parametrize("need_sort", [False, True])
def test_decode_at_page_size_one_takes_the_slots_that_it_hands_out(need_sort: bool) -> None:
    bench = Bench(paged(4, 1, need_sort=need_sort))
    assert bench.fresh(2) == (1, 2)
    assert bench.decode((3, 2)).value == (3,)
    assert bench.state.full.free == [4]


def test_debug_mode_refuses_a_last_slot_that_does_not_continue_its_row() -> None:
    bench = Bench(paged(), DEBUG)
    bench.fresh(3)
    before = bench.state
    assert bench.extend((3, 5, 5)).error == "AssertionError"
    assert bench.decode((4, 4)).error == "AssertionError"
    assert bench.state == before


def test_debug_mode_refuses_to_hand_out_a_slot_twice() -> None:
    bench = Bench(paged(), DEBUG)
    bench.fresh(2)
    before = bench.state
    assert bench.extend((2, 3, 5), (2, 3, 5)).error == "AssertionError"
    assert bench.decode((3, 5), (3, 5)).error == "AssertionError"
    assert bench.state == before


def test_debug_mode_reports_a_page_freed_twice_after_the_fact_and_again() -> None:
    bench = Bench(paged(), DEBUG)
    bench.fresh(8)
    bench.free(pages(1))
    assert bench.free(pages(1)).error == "AssertionError"
    assert bench.state.full.free == [1, 1, 3, 4, 5, 6, 7, 8]
    assert bench.free(pages(2)).error == "AssertionError"
    bench.call("clear")
    assert bench.call("free_group_end").error == ""


def test_without_debug_mode_a_page_freed_twice_is_silent() -> None:
    bench = Bench(paged())
    bench.fresh(4)
    bench.free(pages(1))
    assert bench.free(pages(1)).error == ""
    assert bench.state.full.free[:2] == [1, 1]


def test_resize_sets_the_number_of_pages() -> None:
    bench = Bench(paged())
    bench.fresh(8)
    bench.call("resize", size=14)
    assert bench.state.full.free == [1, 2, 3]
    assert bench.state.full.size == 14
