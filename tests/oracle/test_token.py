"""The token allocator, rule by rule (contract_paged_swa §3, §4)."""

from __future__ import annotations

import pytest


def test_a_new_pool_has_every_slot_but_zero_in_order(drive):  # §1
    state = drive("token", 5).full
    assert state.free == [1, 2, 3, 4, 5]
    assert state.available == 5
    assert (state.staged, state.staged_count, state.group, state.page_pile) == ([], 0, None, [])


def test_alloc_takes_from_the_head(drive):  # §4
    pool = drive("token", 5)
    assert pool.gives("alloc", need=2) == [1, 2]
    assert pool.full.free == [3, 4, 5]


def test_alloc_of_nothing_gives_an_empty_tensor(drive):  # §4
    pool = drive("token", 2)
    assert pool.gives("alloc", need=0) == []
    assert pool.full.free == [1, 2]


def test_alloc_takes_the_very_last_slot_and_then_refuses(drive):  # §4
    pool = drive("token", 2)
    assert pool.gives("alloc", need=2) == [1, 2]
    pool.refuses("alloc", need=1)


def test_free_appends_in_the_given_order_with_duplicates(drive):  # §4
    pool = drive("token", 4)
    pool.gives("alloc", need=3)
    pool.does("free", slots=[3, 1, 3])
    assert pool.full.free == [4, 3, 1, 3]


def test_need_sort_keeps_released_slots_apart_until_alloc_is_short(drive):  # §4
    pool = drive("token", 4, need_sort=True)
    pool.gives("alloc", need=3)
    pool.does("free", slots=[3])
    pool.does("free", slots=[1])
    assert (pool.full.free, pool.full.staged, pool.full.staged_count) == ([4], [[3, 1]], 2)
    assert pool.full.all_free == [4, 3, 1]
    assert pool.gives("alloc", need=1) == [4]
    assert pool.gives("alloc", need=1) == [1]
    assert (pool.full.free, pool.full.staged) == ([3], [])


def test_a_refused_alloc_keeps_the_merge(drive):  # §4, §12
    pool = drive("token", 4, need_sort=True)
    pool.gives("alloc", need=4)
    pool.does("free", slots=[3, 1])
    pool.refuses("alloc", need=3)
    assert (pool.full.free, pool.full.staged) == ([1, 3], [])


def test_a_merge_with_nothing_released_does_not_sort(drive):  # §1
    pool = drive("token", 3)
    pool.gives("alloc", need=3)
    pool.does("free", slots=[3, 1])
    pool.does("merge_and_sort_free")
    assert pool.full.free == [3, 1]


@pytest.mark.parametrize("method", ["free", "free_full", "free_page_ids"])
def test_every_plain_free_is_the_same_one(drive, method):  # §3, §4
    pool = drive("token", 3)
    pool.gives("alloc", need=3)
    pool.does(method, slots=[2, 1])
    assert pool.full.free == [2, 1]


@pytest.mark.parametrize("method", ["free_segment", "free_full_segment"])
def test_a_segment_is_freed_as_its_slots(drive, method):  # §3
    pool = drive("token", 3)
    pool.gives("alloc", need=3)
    pool.does(method, slots=[2, 1], start_pos=7)
    assert pool.full.free == [2, 1]


@pytest.mark.parametrize("method", ["free_segments", "free_full_segments"])
def test_segments_that_overlap_are_refused_after_the_earlier_ones(
    drive, segment, method
):  # §3, §12
    pool = drive("token", 6)
    pool.gives("alloc", need=6)
    segments = [segment([2, 1], 0), segment([], 0), segment([5], 1), segment([6], 2)]
    pool.raises("AssertionError", "overlap", method, segments=segments)
    assert pool.full.free == [2, 1]


def test_a_group_holds_frees_back_until_its_end(drive):  # §3
    pool = drive("token", 4)
    pool.gives("alloc", need=4)
    pool.does("free_group_begin")
    pool.does("free", slots=[4])
    pool.does("free_page_ids", slots=[1, 2])
    assert (pool.full.free, pool.full.group, pool.full.available) == ([], [[4], [1, 2]], 0)
    pool.refuses("alloc", need=1)
    pool.does("free_group_end")
    assert (pool.full.free, pool.full.group) == ([4, 1, 2], None)


def test_a_nested_begin_raises_and_keeps_the_pile(drive):  # §3, §12
    pool = drive("token", 2)
    pool.gives("alloc", need=2)
    pool.does("free_group_begin")
    pool.does("free", slots=[2])
    pool.raises("AssertionError", "nested group", "free_group_begin")
    assert pool.full.group == [[2]]


def test_an_end_without_a_group_frees_nothing(drive):  # §3
    pool = drive("token", 2)
    pool.does("free_group_begin")
    pool.does("free_group_end")
    before = pool.snapshot
    pool.does("free_group_end")
    assert pool.snapshot == before


def test_clear_in_a_group_drops_what_waits_and_a_later_end_does_nothing(drive):  # §3 [ran]
    pool = drive("token", 3, need_sort=True)
    fresh = pool.snapshot
    pool.gives("alloc", need=3)
    pool.does("free", slots=[1])
    pool.does("free_group_begin")
    pool.does("free", slots=[2])
    pool.does("clear")
    pool.does("free_group_end")
    assert pool.snapshot == fresh


def test_an_empty_free_is_nothing_even_in_a_group(drive):  # §0
    pool = drive("token", 3)
    pool.does("free_group_begin")
    pool.does("free", slots=[])
    assert pool.full.group == []


@pytest.mark.parametrize("method", ["alloc_extend", "alloc_decode"])
def test_extend_and_decode_are_not_implemented(drive, method):  # §3
    drive("token", 3).raises("NotImplementedError", method, method, seq_lens=[1], last_loc=[-1])


@pytest.mark.parametrize("method", ["free_swa", "backup_state", "alloc_extend_swa_tail"])
def test_calls_of_other_families_are_not_implemented(drive, method):
    drive("token", 3).raises("NotImplementedError", method, method, slots=[1])


def test_a_token_allocator_has_no_sub_allocators(drive):
    drive("token", 3).raises("NotImplementedError", "swa", "alloc", pool="swa", need=1)


def test_debug_mode_does_not_exist_here(drive):  # §0
    pool = drive("token", 3, debug=True)
    pool.does("free", slots=[1])
    assert pool.full.free == [1, 2, 3, 1]


@pytest.mark.parametrize("size", [2, 6])
def test_resize_takes_the_size_and_clears_an_open_group_too(drive, size):  # §1
    pool = drive("token", 4)
    pool.gives("alloc", need=2)
    pool.does("free_group_begin")
    pool.does("resize", size=size)
    assert pool.snapshot == drive("token", size).snapshot


def test_outcomes_carry_no_counter_where_there_is_none(drive):  # §2
    outcome = drive("token", 3).does("alloc", need=1)
    assert (outcome.hits, outcome.counted) == ((), None)


def test_a_negative_need_is_undefined(drive):
    drive("token", 3).is_undefined("negative", "alloc", need=-1)


def test_what_is_undefined_is_forgotten_at_the_next_call(drive):
    pool = drive("token", 3)
    pool.is_undefined("negative", "alloc", need=-1)
    assert pool.gives("alloc", need=1) == [1]
