"""The paged allocator, rule by rule (contract_paged_swa §3, §5)."""

from __future__ import annotations

import pytest


def full_pool(drive, pages=8, **options):
    """A pool of page size 4 whose pages are all handed out."""
    pool = drive("paged", pages * 4, 4, **options)
    pool.gives("alloc", need=pages * 4)
    return pool


def test_a_size_that_is_no_multiple_loses_its_remainder(drive):  # §1
    state = drive("paged", 11, 4).full
    assert (state.free, state.size, state.available) == ([1, 2], 11, 8)


def test_alloc_gives_whole_pages_slot_by_slot(drive, tokens):  # §5.2
    pool = drive("paged", 16, 4)
    assert pool.gives("alloc", need=8) == tokens(1, 2)
    assert pool.full.free == [3, 4]


@pytest.mark.parametrize(("need", "pages"), [(3, 0), (0, 0), (7, 1)])
def test_alloc_rounds_down_silently(drive, tokens, need, pages):  # §5.2 [ran]
    pool = drive("paged", 16, 4)
    assert pool.gives("alloc", need=need) == tokens(*range(1, pages + 1))


def test_debug_alloc_refuses_part_of_a_page(drive):  # §5.2, §12
    pool = drive("paged", 16, 4, debug=True)
    before = pool.snapshot
    pool.raises("AssertionError", "debug", "alloc", need=3)
    assert pool.snapshot == before


def test_a_refused_alloc_keeps_the_merge(drive, tokens):  # §5.2, §12
    pool = full_pool(drive, need_sort=True)
    pool.does("free", slots=tokens(3))
    pool.does("free", slots=tokens(1))
    pool.refuses("alloc", need=12)
    assert (pool.full.free, pool.full.staged, pool.full.staged_count) == ([1, 3], [], 0)


def test_free_sorts_and_deduplicates_pages_and_puts_them_in_front(drive):  # §5.1, §5.5
    pool = full_pool(drive)
    pool.does("free", slots=[13, 5, 12])
    assert pool.full.free == [1, 3]
    pool.does("free", slots=[8])
    assert pool.full.free == [2, 1, 3]


def test_need_sort_stages_each_release_as_its_own_entry(drive, tokens):  # §5.1
    pool = full_pool(drive, need_sort=True)
    pool.does("free", slots=tokens(3, 1))
    pool.does("free_page_ids", slots=[6, 2])
    state = pool.full
    assert (state.free, state.staged, state.staged_count) == ([], [[1, 3], [6, 2]], 4)
    assert (state.available, state.all_free) == (16, [1, 3, 6, 2])
    pool.does("merge_and_sort_free")
    assert (pool.full.free, pool.full.staged, pool.full.staged_count) == ([1, 2, 3, 6], [], 0)


def test_a_merge_with_nothing_staged_does_not_sort_and_keeps_duplicates(drive):  # §1
    pool = full_pool(drive)
    pool.does("free_page_ids", slots=[3, 1, 3])
    pool.does("merge_and_sort_free")
    assert pool.full.free == [3, 1, 3]


def test_free_page_ids_keeps_order_and_duplicates(drive):  # §5.5
    pool = full_pool(drive)
    pool.does("free_page_ids", slots=[5, 2, 5])
    assert pool.full.free == [5, 2, 5]


def test_free_segment_releases_the_pages_of_representatives_in_row_order(drive, tokens):  # §5.5
    pool = full_pool(drive)
    pool.does("free_segment", slots=tokens(6, 2)[:5], start_pos=8)
    assert pool.full.free == [6, 2]


def test_free_segment_leaks_what_lies_between_representatives(drive):  # §5.5
    pool = full_pool(drive)
    pool.does("free_segment", slots=[4, 8, 12, 16], start_pos=0)
    assert pool.full.free == [1]


def test_an_unaligned_segment_raises_and_changes_nothing(drive, tokens):  # §3, §12
    pool = full_pool(drive)
    before = pool.snapshot
    for method in ("free_segment", "free_full_segment"):
        pool.raises("AssertionError", "alignment", method, slots=tokens(1), start_pos=2)
    assert pool.snapshot == before


def test_only_the_base_form_checks_the_start_of_an_empty_segment(drive):  # §0
    pool = full_pool(drive)
    pool.does("free_segment", slots=[], start_pos=2)
    pool.raises("AssertionError", "alignment", "free_full_segment", slots=[], start_pos=2)


def test_free_full_segment_goes_through_free_and_the_plain_pile(drive, tokens):  # §3
    pool = full_pool(drive)
    pool.does("free_full_segment", slots=tokens(6, 2), start_pos=0)
    assert pool.full.free == [2, 6]
    pool.does("free_group_begin")
    pool.does("free_full_segment", slots=tokens(3), start_pos=0)
    assert (pool.full.group, pool.full.page_pile) == ([tokens(3)], [])


def test_segments_are_freed_one_after_the_other(drive, segment, tokens):  # §3
    pool = full_pool(drive)
    segments = [segment(tokens(6), 0), segment([], 3), segment(tokens(2, 7)[:6], 4)]
    pool.does("free_segments", segments=segments)
    assert pool.full.free == [2, 7, 6]


def test_a_segment_that_shares_a_page_with_the_one_before_is_refused(
    drive, segment, tokens
):  # §3, §12
    pool = full_pool(drive)
    segments = [segment(tokens(6)[:2], 0), segment(tokens(6)[2:], 2)]
    pool.raises("AssertionError", "overlap", "free_segments", segments=segments)
    assert pool.full.free == [6]


def test_an_unaligned_later_segment_leaves_the_earlier_ones_freed(drive, segment, tokens):  # §12
    pool = full_pool(drive)
    segments = [segment(tokens(6), 0), segment(tokens(2), 6)]
    pool.raises("AssertionError", "alignment", "free_segments", segments=segments)
    assert pool.full.free == [6]


@pytest.mark.parametrize("method", ["free", "free_full", "free_page_ids"])
def test_an_empty_free_is_nothing(drive, method):  # §0
    pool = full_pool(drive, debug=True)
    before = pool.snapshot
    pool.does(method, slots=[])
    assert pool.snapshot == before


def test_a_group_ends_with_one_plain_free_and_then_the_page_pile(drive, tokens):  # §5.5
    pool = full_pool(drive)
    pool.does("free_page_ids", slots=[8])
    pool.does("free_group_begin")
    pool.does("free", slots=tokens(5))
    pool.does("free_page_ids", slots=[7])
    pool.does("free", slots=tokens(3, 5))
    pool.does("free_segment", slots=tokens(1), start_pos=4)
    state = pool.full
    assert (state.group, state.page_pile) == ([tokens(5), tokens(3, 5)], [[7], [1]])
    assert (state.free, state.available) == ([8], 4)
    pool.does("free_group_end")
    assert (pool.full.free, pool.full.group, pool.full.page_pile) == ([7, 1, 3, 5, 8], None, [])


def test_a_group_under_need_sort_stages_the_plain_pile_first(drive, tokens):  # §5.5
    pool = full_pool(drive, need_sort=True)
    pool.does("free_group_begin")
    pool.does("free_page_ids", slots=[7, 1])
    pool.does("free", slots=tokens(5, 3))
    pool.does("free_group_end")
    assert pool.full.staged == [[3, 5], [7, 1]]


def test_a_page_on_both_piles_ends_up_twice(drive, tokens):  # §5.5 [ran]
    pool = full_pool(drive)
    pool.does("free_group_begin")
    pool.does("free", slots=tokens(3))
    pool.does("free", slots=tokens(3))
    pool.does("free_segment", slots=tokens(3), start_pos=0)
    pool.does("free_group_end")
    assert pool.full.free == [3, 3]


def test_a_nested_begin_keeps_both_piles(drive, tokens):  # §3, §12
    pool = full_pool(drive)
    pool.does("free_group_begin")
    pool.does("free", slots=tokens(3))
    pool.does("free_page_ids", slots=[4])
    before = pool.snapshot
    pool.raises("AssertionError", "nested group", "free_group_begin")
    assert pool.snapshot == before


def test_clear_drops_piles_and_staged_pages(drive, tokens):  # §1, §3 [ran]
    pool = full_pool(drive, need_sort=True)
    pool.does("free", slots=tokens(2))
    pool.does("free_group_begin")
    pool.does("free", slots=tokens(3))
    pool.does("free_page_ids", slots=[4])
    pool.does("clear")
    pool.does("free_group_end")
    assert pool.snapshot == drive("paged", 32, 4, need_sort=True).snapshot


def test_resize_counts_the_pages_anew(drive):  # §1
    pool = full_pool(drive)
    pool.does("resize", size=14)
    assert pool.snapshot == drive("paged", 14, 4).snapshot


class TestDebugMode:
    def test_a_duplicate_page_is_reported_after_the_release(self, drive, tokens):  # §5.5, §12
        pool = full_pool(drive, debug=True)
        pool.does("free", slots=tokens(3))
        pool.raises("AssertionError", "duplicate pages", "free", slots=tokens(3))
        assert pool.full.free == [3, 3]

    def test_a_duplicate_among_staged_pages_counts(self, drive, tokens):  # §5.5
        pool = full_pool(drive, debug=True, need_sort=True)
        pool.does("free", slots=tokens(3))
        pool.raises("AssertionError", "duplicate pages", "free_page_ids", slots=[3])
        assert pool.full.staged == [[3], [3]]

    def test_an_old_duplicate_is_reported_again_until_clear(self, drive, tokens):  # §5.5
        pool = full_pool(drive, debug=True)
        pool.raises("AssertionError", "duplicate pages", "free_page_ids", slots=[3, 3])
        pool.raises("AssertionError", "duplicate pages", "free", slots=tokens(1))
        pool.raises("AssertionError", "duplicate pages", "free_group_end")
        pool.does("clear")
        pool.does("free_group_end")

    def test_the_check_also_runs_when_a_plain_free_waits_but_not_for_page_ids(
        self, drive, tokens
    ):  # §5.5
        pool = full_pool(drive, debug=True)
        pool.raises("AssertionError", "duplicate pages", "free_page_ids", slots=[3, 3])
        pool.does("free_group_begin")
        pool.raises("AssertionError", "duplicate pages", "free", slots=tokens(1))
        assert pool.full.group == [tokens(1)]
        pool.does("free_page_ids", slots=[2])
        assert pool.full.page_pile == [[2]]

    def test_a_group_end_reports_after_both_piles(self, drive, tokens):  # §12
        pool = full_pool(drive, debug=True)
        pool.does("free_group_begin")
        pool.does("free", slots=tokens(3))
        pool.does("free_page_ids", slots=[3])
        pool.raises("AssertionError", "duplicate pages", "free_group_end")
        assert (pool.full.free, pool.full.group, pool.full.page_pile) == ([3, 3], None, [])

    def test_a_group_end_whose_plain_pile_raises_still_holds_the_page_pile(
        self, drive, tokens
    ):  # §12
        pool = full_pool(drive, debug=True)
        pool.does("free", slots=tokens(3))
        pool.does("free_group_begin")
        pool.does("free", slots=tokens(3))
        pool.does("free_page_ids", slots=[4])
        pool.raises("AssertionError", "duplicate pages", "free_group_end")
        assert (pool.full.free, pool.full.group, pool.full.page_pile) == ([3, 3], None, [[4]])

    @pytest.mark.parametrize("slots", [[4, 8, 12, 16], [4, 5, 6, 7, 4]])
    def test_a_segment_that_is_not_whole_pages_is_refused_unchanged(self, drive, slots):  # §5.5
        pool = full_pool(drive, debug=True)
        before = pool.snapshot
        pool.raises("AssertionError", "representatives", "free_segment", slots=slots, start_pos=0)
        assert pool.snapshot == before


def test_negative_slots_floor_to_negative_pages(drive):  # §0: nothing validates a range
    pool = full_pool(drive)
    pool.does("free", slots=[-1, -5])
    assert pool.full.free == [-2, -1]
    assert pool.gives("alloc", need=4) == [-8, -7, -6, -5]


@pytest.mark.parametrize("field", ["overwrite", "wide"])
def test_what_the_caller_does_with_its_tensors_does_not_matter(drive, tokens, field):  # §0
    states = []
    for value in (False, True):
        pool = full_pool(drive)
        pool.does("free_group_begin")
        pool.does("free", slots=tokens(3), **{field: value})
        states.append(pool.snapshot)
    assert states[0] == states[1]
