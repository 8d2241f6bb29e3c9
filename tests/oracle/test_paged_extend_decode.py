"""Extend and decode of the paged allocator, rule by rule (contract_paged_swa §5.3, §5.4)."""

from __future__ import annotations

import pytest


def full_pool(drive, pages=8, **options):
    """A pool of page size 4 whose pages are all handed out."""
    pool = drive("paged", pages * 4, 4, **options)
    pool.gives("alloc", need=pages * 4)
    return pool


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
