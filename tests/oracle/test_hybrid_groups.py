"""Groups of the hybrid allocator, and direct calls on its sub-allocators (contract_paged_swa §6.4)."""

from __future__ import annotations

import pytest

from oracle.observation import Hit


def mapped_pool(drive, pages=8, **options):
    """Page size 4, every page handed out as one row."""
    pool = drive("hybrid-swa", pages * 4, 4, **options)
    pool.extend(0, pages * 4)
    return pool


def test_begin_opens_the_group_of_full_but_never_that_of_swa(drive):
    pool = mapped_pool(drive)
    pool.does("free_group_begin")
    assert (pool.snapshot.group, pool.full.group, pool.swa.group) == ([], [], None)


def test_a_group_without_frees_is_an_identity(drive):
    pool = mapped_pool(drive)
    before = pool.snapshot
    pool.does("free_group_begin")
    pool.does("free_group_end")
    assert pool.snapshot == before


def test_free_swa_unmaps_now_and_piles_what_it_read_zeros_and_repeats_included(drive, tokens):
    pool = mapped_pool(drive)
    pool.does("clear_full_to_swa_mapping", slots=[5])
    pool.does("free_group_begin")
    pool.does("free_swa", slots=[6, 4])
    pool.does("free_swa", slots=[6, 8])
    assert pool.snapshot.swa_set_pile == [[4, 0, 6, 7] * 2, [0, 0, 0, 0, 8, 9, 10, 11]]
    assert pool.snapshot.swa_page_pile == []
    assert list(pool.mapped()) == tokens(*range(3, 9))
    assert pool.swa.free == []


def test_segments_pile_pages_and_full_defers_too(drive, tokens):
    pool = mapped_pool(drive)
    pool.does("clear_full_to_swa_mapping", slots=tokens(2))
    pool.does("free_group_begin")
    pool.does("free_swa_segment", slots=tokens(3, 2), start_pos=0)
    pool.does("free_segment", slots=tokens(1), start_pos=0)
    pool.does("free_full", slots=tokens(2))
    assert pool.snapshot.swa_page_pile == [[3, 0], [1]]
    assert (pool.full.page_pile, pool.full.group) == ([[1]], [tokens(2)])
    assert pool.snapshot.queries["available_size"] == 0


def test_page_size_one_piles_slots_on_the_page_pile(drive):
    pool = drive("hybrid-swa", 4)
    pool.gives("alloc", need=4)
    pool.does("free_group_begin")
    pool.does("free_swa", slots=[3])
    pool.does("free", slots=[2, 1])
    assert (pool.snapshot.swa_page_pile, pool.snapshot.swa_set_pile) == ([[3], [2, 1]], [])
    assert pool.full.group == [[2, 1]]
    pool.does("free_group_end")
    assert (pool.swa.free, pool.full.free) == ([3, 2, 1], [2, 1])


def test_a_remap_inside_the_group_neither_loses_nor_frees_the_new_peer(drive, tokens):
    pool = drive("hybrid-swa", 32, 4)
    row = pool.extend(0, 4)
    pool.does("free_group_begin")
    pool.does("free", slots=row)
    new = pool.gives("alloc", need=4, pool="swa")
    pool.does("set_full_to_swa_mapping", slots=row, peers=new)
    pool.does("free_group_end")
    assert pool.mapped() == dict(zip(row, new, strict=True))
    assert pool.swa.free == [1, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("level", ["warn", "strict"])
def test_invariants_are_judged_when_the_free_is_deferred(drive, tokens, level):
    pool = mapped_pool(drive, level=level)
    pool.does("free_group_begin")
    before = pool.snapshot
    outcome = pool.call("free_full", slots=tokens(1))
    assert outcome.hits == (Hit("swa.peer_released", 4),)
    assert (pool.snapshot == before) == (level == "strict")
    pool.does("free_swa", slots=tokens(2))
    outcome = pool.raises(
        "invariant:swa.peer_mapped", "1", "free_segment", slots=tokens(2), start_pos=0
    )
    assert pool.snapshot.swa_page_pile == []


def test_peer_released_is_silent_in_the_second_half_of_a_free(drive, tokens):
    pool = mapped_pool(drive, level="strict")
    pool.does("free_group_begin")
    assert pool.does("free", slots=tokens(1)).hits == ()


def test_the_set_pile_is_deduplicated_over_the_whole_group(drive, tokens):
    pool = mapped_pool(drive)
    pool.does("free_group_begin")
    pool.does("free_swa", slots=[13])
    pool.does("set_full_to_swa_mapping", slots=[5], peers=[13])
    pool.does("free_swa", slots=[5])
    pool.does("free_group_end")
    assert pool.swa.free == [1, 3]


def test_frees_of_segments_defer_without_an_assert_but_the_end_asserts(drive, tokens):
    pool = mapped_pool(drive, pages=2)
    pool.does("free_group_begin")
    pool.does("free_swa_segment", slots=tokens(1, 2, 1), start_pos=0)
    pool.raises("AssertionError", "over-credit SWA", "free_group_end")
    assert pool.swa.free == [1, 2, 1]
    assert (pool.snapshot.group, pool.full.group) == (None, None)


def test_a_deferred_free_swa_does_not_look_at_an_over_full_swa_side(drive, tokens):
    pool = mapped_pool(drive, pages=2)
    pool.does("free_page_ids", slots=[1, 2, 1], pool="swa")
    pool.does("free_group_begin")
    pool.does("free_swa", slots=tokens(1))
    pool.raises("AssertionError", "over-credit SWA", "free_group_end")


class TestHalfOpen:
    def half_open(self, drive, tokens):
        """An end that raised in its set pile: FULL is not flushed."""
        pool = mapped_pool(drive, pages=3)
        pool.does("free_group_begin")
        pool.does("free_swa", slots=tokens(3))
        pool.does("free_swa_segment", slots=tokens(1, 2, 1), start_pos=0)
        pool.does("free_full_segment", slots=tokens(1), start_pos=0)
        pool.raises("AssertionError", "over-credit SWA: 16 of 12", "free_group_end")
        return pool

    def test_the_composite_looks_closed_and_full_is_open(self, drive, tokens):
        pool = self.half_open(drive, tokens)
        assert (pool.snapshot.group, pool.full.group, pool.full.page_pile) == (None, [], [[1]])
        assert pool.swa.free == [3, 1, 2, 1]
        assert (pool.snapshot.swa_set_pile, pool.snapshot.swa_page_pile) == ([], [])

    def test_the_next_begin_raises_with_the_composite_left_open(self, drive, tokens):
        pool = self.half_open(drive, tokens)
        pool.raises("AssertionError", "nested group", "free_group_begin")
        assert (pool.snapshot.group, pool.full.group, pool.full.page_pile) == ([], [], [[1]])

    def test_another_end_flushes_full_and_still_finds_swa_over_full(self, drive, tokens):
        pool = self.half_open(drive, tokens)
        pool.raises("AssertionError", "over-credit SWA", "free_group_end")
        assert (pool.full.free, pool.full.group) == ([1], None)

    def test_a_debug_duplicate_in_the_page_pile_leaves_the_set_pile_held(self, drive, tokens):
        pool = mapped_pool(drive, debug=True)
        pool.does("free_group_begin")
        pool.does("free_swa_segment", slots=tokens(1), start_pos=0)
        pool.does("free_swa", slots=tokens(2))
        pool.does("free", slots=[1 * 4], pool="swa")
        pool.raises("AssertionError", "duplicate pages", "free_group_end")
        assert pool.snapshot.swa_set_pile == [[8, 9, 10, 11] * 4]
        assert pool.full.group == []
        pool.does("clear", pool="swa")
        pool.gives("alloc", need=32, pool="swa")
        pool.does("free_group_end")
        assert (pool.swa.free, pool.full.group) == ([2], None)

    def test_a_begin_empties_the_piles_that_were_held(self, drive, tokens):
        pool = mapped_pool(drive, debug=True)
        pool.does("free_group_begin")
        pool.does("free_swa_segment", slots=tokens(1), start_pos=0)
        pool.does("free_swa", slots=tokens(2))
        pool.does("free", slots=[1 * 4], pool="swa")
        pool.raises("AssertionError", "duplicate pages", "free_group_end")
        pool.raises("AssertionError", "nested group", "free_group_begin")
        assert pool.snapshot.swa_set_pile == []


def test_a_nested_begin_changes_nothing(drive, tokens):  # §12
    pool = mapped_pool(drive)
    pool.does("free_group_begin")
    pool.does("free_swa", slots=tokens(1))
    pool.does("free_segment", slots=tokens(2), start_pos=0)
    before = pool.snapshot
    pool.raises("AssertionError", "nested group", "free_group_begin")
    assert pool.snapshot == before


class TestDirectCalls:
    def test_full_is_deferred_with_the_group(self, drive, tokens):
        pool = mapped_pool(drive)
        pool.does("free_group_begin")
        pool.does("free_segment", slots=tokens(2), start_pos=0, pool="full")
        assert (pool.full.page_pile, pool.full.free) == ([[2]], [])
        pool.does("free_group_end")
        assert pool.full.free == [2]

    def test_swa_acts_at_once_in_a_group(self, drive, tokens):
        pool = mapped_pool(drive)
        pool.does("free_group_begin")
        pool.does("free", slots=tokens(2), pool="swa")
        assert pool.swa.free == [2]
        assert pool.gives("alloc", need=4, pool="swa") == tokens(2)

    def test_they_leave_the_mapping_alone_and_signal_nothing(self, drive, tokens):
        pool = mapped_pool(drive, level="strict")
        before = pool.mapping
        assert pool.does("free_full", slots=tokens(2), pool="full").hits == ()
        assert pool.mapping == before

    def test_a_sub_allocator_merges_on_demand(self, drive, tokens):
        pool = mapped_pool(drive, need_sort=True)
        pool.does("free", slots=tokens(5))
        pool.does("free", slots=tokens(2))
        pool.does("merge_and_sort_free", pool="swa")
        assert (pool.swa.free, pool.full.staged) == ([2, 5], [[5], [2]])

    def test_a_token_sub_allocator_has_no_extend(self, drive):
        drive("hybrid-swa", 4).raises(
            "NotImplementedError", "alloc_extend", "alloc_extend", pool="full"
        )

    def test_a_sub_allocator_lacks_the_calls_of_the_composite(self, drive):
        pool = drive("hybrid-swa", 4)
        pool.raises("NotImplementedError", "free_swa", "free_swa", slots=[1], pool="full")
