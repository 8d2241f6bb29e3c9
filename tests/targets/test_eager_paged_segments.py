"""The paged allocator's segments and free groups, rule by rule (contract_paged_swa §3, §5.5)."""

from __future__ import annotations

from eager_calls import Bench, paged, pages

from oracle.geometry import Mode

DEBUG = Mode(debug=True)


def test_a_segment_releases_pages_in_row_order_and_a_partial_last_page_too() -> None:
    bench = Bench(paged())
    bench.fresh(16)
    bench.free((*pages(3, 1), 16), "free_segment", start_pos=8, wide=False)
    assert bench.state.full.free == [3, 1, 4, 5, 6, 7, 8]


def test_a_repeated_page_in_a_segment_is_released_twice() -> None:
    bench = Bench(paged())
    bench.fresh(4)
    bench.free(pages(1, 1), "free_segment")
    assert bench.state.full.free[:2] == [1, 1]


def test_an_unaligned_start_is_an_error_that_changes_nothing() -> None:
    bench = Bench(paged())
    bench.fresh(8)
    before = bench.state
    assert bench.free(pages(1), "free_segment", start_pos=2).error == "AssertionError"
    assert bench.free(pages(1), "free_full_segment", start_pos=2).error == "AssertionError"
    assert bench.state == before


def test_an_empty_segment_skips_the_alignment_check_except_in_the_base_form() -> None:
    bench = Bench(paged())
    assert bench.free((), "free_segment", start_pos=2).error == ""
    assert bench.free((), "free_full_segment", start_pos=2).error == "AssertionError"
    assert bench.free((), "free_full_segment", start_pos=4).error == ""


def test_full_segments_go_the_way_of_plain_frees() -> None:
    bench = Bench(paged())
    bench.fresh(12)
    bench.call("free_group_begin")
    bench.free(pages(3, 1), "free_full_segment")
    bench.free(pages(2), "free_full")
    assert bench.state.full.group == [list(pages(3, 1)), list(pages(2))]
    assert bench.state.full.page_pile == []
    bench.call("free_group_end")
    assert bench.state.full.free == [1, 2, 3, 4, 5, 6, 7, 8]


def test_debug_mode_refuses_a_segment_whose_representatives_miss_a_page() -> None:
    bench = Bench(paged(), DEBUG)
    bench.fresh(12)
    before = bench.state
    assert bench.free((4, 5, 8, 9), "free_segment").error == "AssertionError"
    assert bench.free(pages(1, 1), "free_segment").error == "AssertionError"
    assert bench.state == before


def test_segments_are_freed_one_by_one_and_empty_ones_skipped() -> None:
    bench = Bench(paged())
    bench.fresh(16)
    outcome = bench.segments("free_segments", (pages(1), 0), ((), 3), ((*pages(2), 12), 4))
    assert outcome.error == ""
    assert bench.state.full.free == [2, 3, 1, 5, 6, 7, 8]


def test_segments_that_share_a_page_fail_after_the_earlier_ones_were_freed() -> None:
    bench = Bench(paged())
    bench.fresh(12)
    outcome = bench.segments("free_segments", ((4, 5, 6, 7, 8), 0), ((9, 10), 4))
    assert outcome.error == "AssertionError"
    assert bench.state.full.free == [1, 2, 4, 5, 6, 7, 8]


def test_descending_segments_fail_in_both_plural_forms() -> None:
    for method in ("free_segments", "free_full_segments"):
        bench = Bench(paged())
        bench.fresh(8)
        assert bench.segments(method, (pages(2), 4), (pages(1), 0)).error == "AssertionError"
        assert bench.state.full.free == [2, 3, 4, 5, 6, 7, 8]


def test_a_group_ends_with_the_page_pile_in_front_of_the_plain_pile() -> None:
    bench = Bench(paged())
    bench.fresh(24)
    bench.call("free_group_begin")
    bench.free(pages(4, 3))
    bench.free(pages(6, 5), "free_segment", overwrite=True)
    bench.free((2,), "free_page_ids", overwrite=True, wide=False)
    bench.free((16, 4), overwrite=True)
    assert bench.state.full.group == [list(pages(4, 3)), [16, 4]]
    assert bench.state.full.page_pile == [[6, 5], [2]]
    assert bench.state.full.available == 8
    bench.call("free_group_end")
    assert bench.state.full.free == [6, 5, 2, 1, 3, 4, 7, 8]
    assert bench.state.full.page_pile == []


def test_a_sorted_pool_stages_the_plain_pile_then_the_page_pile() -> None:
    bench = Bench(paged(need_sort=True))
    bench.fresh(16)
    bench.call("free_group_begin")
    bench.free(pages(1, 2), "free_segment")
    bench.free(pages(4, 3))
    bench.call("free_group_end")
    assert bench.state.full.staged == [[3, 4], [1, 2]]


def test_a_page_in_both_piles_is_freed_twice_and_debug_mode_says_so() -> None:
    bench = Bench(paged(), DEBUG)
    bench.fresh(4)
    bench.call("free_group_begin")
    bench.free(pages(1))
    bench.free(pages(1), "free_segment")
    assert bench.call("free_group_end").error == "AssertionError"
    assert bench.state.full.free == [1, 1, 2, 3, 4, 5, 6, 7, 8]
    assert bench.state.full.group is None
    assert bench.state.full.page_pile == []


def test_the_page_pile_is_still_held_when_the_plain_pile_fails() -> None:
    bench = Bench(paged(), DEBUG)
    bench.fresh(8)
    bench.free(pages(1))
    bench.call("free_group_begin")
    bench.free(pages(2), "free_segment")
    bench.free(pages(1))
    assert bench.call("free_group_end").error == "AssertionError"
    assert bench.state.full.page_pile == [[2]]
    assert bench.state.full.group is None
