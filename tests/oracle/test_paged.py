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


class TestExtend:
    def test_a_new_request_takes_pages_in_free_list_order(self, drive, tokens):  # §5.3
        pool = full_pool(drive)
        pool.does("free_page_ids", slots=[6, 2, 5])
        assert pool.extend(0, 6) == tokens(6, 2)[:6]
        assert pool.full.free == [5]

    def test_the_open_page_is_filled_first(self, drive):  # §5.3
        pool = drive("paged", 32, 4)
        row = pool.extend(0, 6)
        assert pool.extend(6, 13, row[-1]) == [10, 11, 12, 13, 14, 15, 16]
        assert pool.full.free == [5, 6, 7, 8]

    def test_an_extend_within_the_open_page_takes_none(self, drive):  # §5.3
        pool = drive("paged", 32, 4)
        row = pool.extend(0, 5)
        assert pool.extend(5, 7, row[-1]) == [9, 10]
        assert pool.full.free == [3, 4, 5, 6, 7, 8]

    def test_requests_own_consecutive_slices_and_pages(self, drive, extends):  # §5.3
        pool = drive("paged", 32, 4)
        row = pool.extend(0, 3)
        got = pool.gives("alloc_extend", **extends([0, 3, 8], [5, 6, 8], [-1, row[-1], 99999]))
        assert got == [8, 9, 10, 11, 12, 7, 16, 17]
        assert pool.full.free == [5, 6, 7, 8]

    def test_exact_exhaustion_empties_the_list_and_one_page_more_is_refused(self, drive):  # §5.3
        pool = drive("paged", 8, 4)
        pool.refuses(
            "alloc_extend", prefix_lens=[0], seq_lens=[9], last_loc=[-1], extend_num_tokens=9
        )
        assert pool.extend(0, 8) == [4, 5, 6, 7, 8, 9, 10, 11]
        assert pool.full.free == []
        pool.refuses(
            "alloc_extend", prefix_lens=[8], seq_lens=[9], last_loc=[11], extend_num_tokens=1
        )

    def test_the_merge_depends_on_a_bound_and_not_on_the_need(self, drive, tokens):  # §5.3
        pool = full_pool(drive, need_sort=True)
        pool.does("free_page_ids", slots=[5, 6])
        pool.does("merge_and_sort_free")
        pool.does("free", slots=tokens(1))
        assert pool.full.free == [5, 6]
        # The need is 1 page and 2 are free, but the bound is 4 // 4 + 1 + 1 = 3.
        assert pool.extend(0, 4) == tokens(1)
        assert (pool.full.free, pool.full.staged) == ([5, 6], [])

    def test_no_merge_when_the_bound_fits(self, drive, tokens):  # §5.3
        pool = full_pool(drive, need_sort=True)
        pool.does("free_page_ids", slots=[5, 6])
        pool.does("merge_and_sort_free")
        pool.does("free", slots=tokens(1))
        assert pool.extend(0, 3) == tokens(5)[:3]
        assert (pool.full.free, pool.full.staged) == ([6], [[1]])

    def test_a_refusal_keeps_the_merge(self, drive, tokens):  # §5.3, §12
        pool = full_pool(drive, need_sort=True)
        pool.does("free", slots=tokens(3))
        pool.does("free", slots=tokens(1))
        pool.refuses(
            "alloc_extend", prefix_lens=[0], seq_lens=[9], last_loc=[-1], extend_num_tokens=9
        )
        assert (pool.full.free, pool.full.staged) == ([1, 3], [])

    def test_empty_extends_take_nothing_but_may_merge(self, drive, tokens, extends):  # §5.3
        pool = full_pool(drive, need_sort=True)
        pool.does("free", slots=tokens(3))
        assert pool.gives("alloc_extend", **extends([4], [4], [7])) == []
        assert (pool.full.free, pool.full.staged) == ([3], [])

    def test_a_batch_of_no_requests_gives_an_empty_tensor(self, drive):  # §5.3
        pool = drive("paged", 8, 4)
        assert pool.gives("alloc_extend") == []
        assert pool.full.free == [1, 2]

    def test_the_exact_need_may_be_passed(self, drive):  # §5.3
        pool = drive("paged", 32, 4)
        assert pool.extend(0, 5, num_new_pages=2) == [4, 5, 6, 7, 8]

    def test_any_other_need_is_undefined(self, drive):  # §5.3
        pool = drive("paged", 32, 4)
        pool.is_undefined(
            "num_new_pages",
            "alloc_extend",
            prefix_lens=[0],
            seq_lens=[5],
            last_loc=[-1],
            extend_num_tokens=5,
            num_new_pages=1,
        )

    @pytest.mark.parametrize(
        ("prefix", "seq", "last", "tokens_given"),
        [([0], [5], [-1], 4), ([5], [4], [8], -1), ([0], [5], [], 5), ([-1], [1], [0], 2)],
    )
    def test_lengths_that_do_not_fit_are_undefined(
        self, drive, prefix, seq, last, tokens_given
    ):  # §5.3
        drive("paged", 32, 4).is_undefined(
            "extend",
            "alloc_extend",
            prefix_lens=prefix,
            seq_lens=seq,
            last_loc=last,
            extend_num_tokens=tokens_given,
        )

    def test_debug_refuses_a_last_slot_elsewhere_in_its_page_unchanged(
        self, drive, extends, tokens
    ):  # §5.3, §12
        pool = full_pool(drive, debug=True, need_sort=True)
        pool.does("free", slots=tokens(3))
        before = pool.snapshot
        pool.raises("AssertionError", "last_loc", "alloc_extend", **extends([5], [6], [9]))
        assert pool.snapshot == before

    def test_debug_refuses_to_hand_a_slot_out_twice_before_any_page_is_taken(
        self, drive, extends
    ):  # §5.3
        pool = full_pool(drive, debug=True)
        pool.raises("AssertionError", "duplicate pages", "free_page_ids", slots=[3, 3])
        pool.raises("AssertionError", "twice", "alloc_extend", **extends([0], [8], [-1]))
        assert pool.full.free == [3, 3]

    def test_a_page_size_that_is_no_power_of_two_works(self, drive):  # §5.3
        pool = drive("paged", 9, 3)
        assert pool.extend(0, 4) == [3, 4, 5, 6]

    def test_page_size_one_takes_a_page_for_each_slot(self, drive):  # §5.3
        assert drive("paged", 4, 1).extend(0, 3) == [1, 2, 3]


class TestDecode:
    def test_a_request_on_a_page_boundary_takes_a_page(self, drive, extends):  # §5.4
        pool = drive("paged", 32, 4)
        rows = pool.gives("alloc_extend", **extends([0, 0, 0], [4, 3, 8], [-1, -1, -1]))
        last = [rows[3], rows[6], rows[14]]
        assert pool.gives("alloc_decode", seq_lens=[5, 4, 9], last_loc=last) == [20, 11, 24]
        assert pool.full.free == [7, 8]

    def test_a_refusal_keeps_the_merge(self, drive, tokens):  # §5.4, §12
        pool = full_pool(drive, need_sort=True)
        pool.does("free", slots=tokens(6))
        pool.refuses("alloc_decode", seq_lens=[5, 5], last_loc=[7, 11])
        assert (pool.full.free, pool.full.staged) == ([6], [])

    def test_the_merge_depends_on_the_number_of_requests(self, drive, tokens):  # §5.4
        pool = full_pool(drive, need_sort=True)
        pool.does("free", slots=tokens(6))
        assert pool.gives("alloc_decode", seq_lens=[6], last_loc=[8]) == [9]
        assert (pool.full.free, pool.full.staged) == ([6], [])

    def test_page_size_one_gives_the_next_slot_and_takes_nothing(self, drive):  # §5.4 [ran]
        pool = drive("paged", 4, 1)
        row = pool.gives("alloc", need=2)
        assert pool.gives("alloc_decode", seq_lens=[3], last_loc=[row[-1]]) == [3]
        assert pool.full.free == [3, 4]

    def test_a_batch_of_no_requests_gives_an_empty_tensor(self, drive):  # §5.4
        assert drive("paged", 8, 4).gives("alloc_decode") == []

    def test_debug_refuses_a_last_slot_elsewhere_in_its_page(self, drive):  # §5.4, §12
        pool = drive("paged", 32, 4, debug=True)
        before = pool.snapshot
        pool.raises("AssertionError", "last_loc", "alloc_decode", seq_lens=[6], last_loc=[9])
        assert pool.snapshot == before

    def test_debug_refuses_to_hand_a_slot_out_twice(self, drive):  # §5.4
        pool = drive("paged", 32, 4, debug=True)
        before = pool.snapshot
        pool.raises("AssertionError", "twice", "alloc_decode", seq_lens=[6, 6], last_loc=[8, 8])
        assert pool.snapshot == before

    def test_lengths_that_do_not_fit_are_undefined(self, drive):  # §5.4
        drive("paged", 8, 4).is_undefined("differ", "alloc_decode", seq_lens=[5], last_loc=[])


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
