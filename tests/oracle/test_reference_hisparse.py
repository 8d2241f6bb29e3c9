"""The HiSparse allocator (contract_paged_swa §7.1)."""

from __future__ import annotations

import pytest


def tiers(drive, pages=4, page_size=4, ratio=2, **options):
    """``pages`` pages on the device, ``ratio`` times as many logical ones."""
    return drive("hisparse", pages * page_size, page_size, sizes={"ratio": ratio}, **options)


def device(pool):
    return pool.snapshot.device


def places(pool):
    """The live entries of the table."""
    return {key: place for key, place in enumerate(pool.snapshot.device_mapping) if place > 0}


def places_on(pool, *pages, page_size=4):
    """The table has every slot of pages 1, 2, … on these pages of the device."""
    return {
        (at + 1) * page_size + offset: page * page_size + offset
        for at, page in enumerate(pages)
        if page
        for offset in range(page_size)
    }


def test_the_logical_pool_is_the_ratio_times_the_device(drive):
    pool = tiers(drive)
    assert (pool.full.free, device(pool).free) == ([1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4])
    table = pool.snapshot.device_mapping
    assert (len(table), table[-1], set(table[:-1])) == (32 + 4 + 1, -1, {0})
    assert pool.snapshot.queries == {
        "available_size": 16,
        "size": 32,
        "size_full": 32,
        "logical_available_size": 32,
        "device_available_size": 16,
    }
    assert (pool.snapshot.swa, pool.snapshot.mapping, pool.snapshot.group) == (None, None, None)


def test_an_extend_takes_from_both_sides_and_notes_the_places(drive, tokens):
    pool = tiers(drive)
    pool.does("free_hisparse_indices", slots=pool.gives("alloc_device_buffer", slots=[], need=4))
    pool.gives("alloc_device_buffer", slots=[], need=4)
    row = pool.extend(0, 6)
    assert row == tokens(1, 2)[:6]
    assert places(pool) == {4: 8, 5: 9, 6: 10, 7: 11, 8: 12, 9: 13}
    assert pool.extend(6, 7, 9) == [10]
    assert places(pool)[10] == 14


@pytest.mark.parametrize("need_sort", [False, True])
def test_a_short_extend_changes_nothing(drive, extends, need_sort):
    pool = tiers(drive, need_sort=need_sort)
    pool.does("free", slots=pool.extend(0, 16))
    before = pool.snapshot
    pool.refuses("alloc_extend", **extends([0], [17], [-1]))
    assert pool.snapshot == before


def test_decode_and_logical_only_take_no_place(drive, extends):
    pool = tiers(drive)
    assert pool.gives("alloc_logical_only", **extends([0], [20], [-1])) == list(range(4, 24))
    assert pool.gives("alloc_decode", seq_lens=[21], last_loc=[23]) == [24]
    assert (places(pool), device(pool).free) == ({}, [1, 2, 3, 4])


def test_a_partial_page_that_is_not_on_the_device_does_not_go_on_there(drive, extends):
    pool = tiers(drive)
    pool.gives("alloc_logical_only", **extends([0], [6], [-1]))
    assert pool.gives("alloc_logical_only", **extends([6], [7], [9])) == [10]
    pool.is_undefined("no place on the device", "alloc_extend", **extends([7], [8], [10]))


@pytest.mark.parametrize("debug", [False, True])
def test_after_whole_pages_the_place_of_the_last_slot_is_no_matter_outside_debug(
    drive, extends, debug
):
    pool = tiers(drive, debug=debug)
    pool.gives("alloc_logical_only", **extends([0], [4], [-1]))
    arguments = extends([4], [8], [7])
    if debug:
        pool.is_undefined("page start", "alloc_extend", **arguments)
    else:
        assert pool.gives("alloc_extend", **arguments) == [8, 9, 10, 11]
        assert places(pool) == {8: 4, 9: 5, 10: 6, 11: 7}


def test_alloc_needs_page_size_1(drive):
    tiers(drive).raises("NotImplementedError", "page size 1", "alloc", need=4)
    pool = tiers(drive, page_size=1)
    assert pool.gives("alloc", need=2) == [1, 2]
    assert (places(pool), device(pool).free) == ({1: 1, 2: 2}, [3, 4])


def test_logical_slots_that_come_back_are_staged_with_need_sort(drive):
    pool = tiers(drive, page_size=1, need_sort=True)
    pool.gives("alloc", need=3)
    pool.refuses("alloc", need=2)
    assert (pool.full.free, pool.full.staged) == ([6, 7, 8], [[4, 5]])
    assert (places(pool), device(pool).free) == ({1: 1, 2: 2, 3: 3}, [4])


def test_logical_slots_that_come_back_go_to_the_head_in_order(drive):
    pool = tiers(drive, pages=3, page_size=1)
    pool.gives("alloc", need=3)
    pool.does("free", slots=[3])
    pool.does("free", slots=[1])
    pool.does("free", slots=[2])
    assert pool.full.free[:3] == [2, 1, 3]
    pool.refuses("alloc", need=4)
    assert (pool.full.free, device(pool).free) == ([1, 2, 3, 4, 5, 6], [2, 1, 3])


def test_a_free_takes_the_whole_page_on_both_sides(drive):
    pool = tiers(drive)
    pool.extend(0, 8)
    pool.does("free", slots=[9])
    assert (pool.full.free[:2], device(pool).free) == ([2, 3], [2, 3, 4])
    assert places(pool) == places_on(pool, 1)


def test_a_freed_page_has_no_place_whichever_of_its_slots_was_named(drive, extends):
    pool = tiers(drive)
    pool.extend(0, 2)
    pool.gives("alloc_decode", seq_lens=[3], last_loc=[5])
    pool.does("free", slots=[6])
    assert (places(pool), device(pool).free) == ({}, [1, 2, 3, 4])


def test_free_hisparse_keeps_the_row_and_gives_back_whole_device_pages(drive, tokens):
    pool = tiers(drive)
    pool.extend(0, 12)
    pool.does("free_hisparse", slots=[9, 13, 8])
    assert places(pool) == places_on(pool, 1)
    assert (device(pool).free, pool.full.free) == ([2, 3, 4], [4, 5, 6, 7, 8])
    pool.does("free_hisparse", slots=tokens(2))
    assert device(pool).free == [2, 3, 4]
    pool.does("free", slots=tokens(2, 3))
    assert device(pool).free == [2, 3, 4]


def test_indices_of_the_padding_page_are_skipped(drive):
    pool = tiers(drive)
    buffer = pool.gives("alloc_device_buffer", slots=[], need=8)
    assert buffer == [4, 5, 6, 7, 8, 9, 10, 11]
    pool.does("free_hisparse_indices", slots=[3, 8, 0, 9])
    assert device(pool).free == [2, 3, 4]
    pool.does("free_hisparse_indices", slots=[1, 2])
    assert device(pool).free == [2, 3, 4]


def test_a_buffer_is_cut_from_the_places_of_its_slots(drive, tokens):
    pool = tiers(drive)
    pool.extend(0, 16)
    assert pool.gives("alloc_device_buffer", slots=tokens(1, 2, 3), need=4) == [4, 5, 6, 7]
    assert places(pool) == {key: key for key in tokens(4)}
    assert device(pool).free == [2, 3]


def test_a_buffer_is_filled_up_to_its_page_and_then_by_new_pages(drive, tokens):
    pool = tiers(drive)
    row = pool.extend(0, 6)
    assert pool.gives("alloc_device_buffer", slots=row, need=12) == list(range(4, 16))
    assert (places(pool), device(pool).free) == ({}, [4])
    assert pool.gives("alloc_device_buffer", slots=row, need=4) == tokens(4)


def test_a_buffer_is_whole_pages(drive):
    pool = tiers(drive)
    row = pool.extend(0, 4)
    before = pool.snapshot
    pool.raises("AssertionError", "whole pages", "alloc_device_buffer", slots=row, need=6)
    assert pool.snapshot == before
    assert pool.gives("alloc_device_buffer", slots=row, need=0) == []
    assert device(pool).free == [1, 2, 3, 4]


def test_a_buffer_that_the_device_lacks_raises_once_the_table_is_cleared(drive):
    pool = tiers(drive)
    row = pool.extend(0, 8)
    pool.raises("AssertionError", "lacks", "alloc_device_buffer", slots=row, need=20)
    assert (places(pool), device(pool).free) == ({}, [3, 4])


def test_a_buffer_of_parts_of_pages_is_left_open(drive):
    for part in ([5, 6], [4, 6], [4, 5]):
        pool = tiers(drive)
        pool.extend(0, 8)
        pool.is_undefined("parts of pages", "alloc_device_buffer", slots=part, need=4)


def test_groups_change_nothing_and_nest(drive, tokens):
    pool = tiers(drive)
    pool.extend(0, 16)
    pool.does("free_group_begin")
    pool.does("free_group_begin")
    pool.does("free", slots=tokens(2))
    assert (pool.full.free[0], device(pool).free, pool.snapshot.group) == (2, [2], None)
    pool.does("free_group_end")
    pool.does("free_group_end")


@pytest.mark.parametrize("method", ["free_segment", "free_full_segment"])
def test_segment_forms_assert_the_alignment_first_also_of_nothing(drive, tokens, method):
    pool = tiers(drive)
    pool.extend(0, 16)
    pool.raises("AssertionError", "alignment", method, slots=[], start_pos=1)
    pool.does(method, slots=tokens(3, 2), start_pos=4)
    assert (pool.full.free[:2], device(pool).free) == ([2, 3], [2, 3])


def test_free_full_and_plural_forms_are_frees(drive, tokens, segment):
    pool = tiers(drive)
    pool.extend(0, 16)
    pool.does("free_full", slots=tokens(4))
    pool.does("free_segments", segments=(segment(tokens(1), 0), segment(tokens(2), 4)))
    assert device(pool).free == [2, 1, 4]
    late = (segment(tokens(3), 8), segment(tokens(4), 8))
    pool.raises("AssertionError", "overlap", "free_full_segments", segments=late)
    assert device(pool).free == [3, 2, 1, 4]


def test_over_credit_is_asserted_on_the_logical_side_first(drive, tokens):
    pool = tiers(drive)
    pool.raises("AssertionError", "over-credit logical", "free", slots=tokens(1))
    pool = tiers(drive)
    pool.extend(0, 4)
    pool.does("free_hisparse_indices", slots=tokens(3))
    pool.does("free_hisparse_indices", slots=tokens(2))
    pool.raises("AssertionError", "over-credit device", "free", slots=tokens(1))
    assert (device(pool).free, places(pool)) == ([1, 2, 3, 2, 3, 4], {})


def test_clear_returns_to_the_start(drive, tokens):
    pool = tiers(drive, need_sort=True)
    before = pool.snapshot
    pool.extend(0, 12)
    pool.gives("alloc_device_buffer", slots=tokens(3), need=4)
    pool.does("free", slots=tokens(1))
    pool.does("clear")
    assert pool.snapshot == before


def test_scratch_sizes_are_whole_pages_and_not_negative(drive):
    pool = tiers(drive)
    configure = "configure_spec_scratch"
    pool.does(configure, need=4, device_buffer=16)
    for need, buffer in ((3, 16), (4, 15), (-4, 16), (4, -16)):
        pool.raises("ValueError", "whole pages", configure, need=need, device_buffer=buffer)
    assert pool.does("request_slot_reserve", need=0).value == (20,)


@pytest.mark.parametrize(
    ("scratch", "buffer", "prefill", "held", "reserve"),
    [
        (0, 16, 0, False, 0),
        (4, 16, 0, False, 20),
        (4, 16, 0, True, 16),
        (4, 16, 5, True, 8),
        (4, 16, 16, False, 4),
        (4, 16, 40, True, 0),
    ],
)
def test_what_a_request_slot_reserves(drive, scratch, buffer, prefill, held, reserve):
    pool = tiers(drive)
    assert pool.does("request_slot_reserve", need=9).value == (0,)
    pool.does("configure_spec_scratch", need=scratch, device_buffer=buffer)
    outcome = pool.does("request_slot_reserve", need=prefill, slot_held=held)
    assert (outcome.value, outcome.dtype) == ((reserve,), "")


def test_whether_a_clear_keeps_the_scratch_is_left_open(drive):
    pool = tiers(drive)
    pool.does("configure_spec_scratch", need=4, device_buffer=8)
    pool.does("clear")
    pool.is_undefined("clear", "request_slot_reserve", need=0)
    pool.does("configure_spec_scratch", need=4, device_buffer=8)
    assert pool.does("request_slot_reserve", need=0).value == (12,)
