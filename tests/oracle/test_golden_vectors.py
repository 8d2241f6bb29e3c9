"""The golden vectors of contract_paged_swa §13.3 that hold for 0.5.20 to 0.5.23, and the examples of §2 to §6 that ran."""

from __future__ import annotations

import pytest

from oracle.observation import Hit

INITIAL_MAPPING = [0] * 36 + [-1]


def four_rows(drive, **options):
    """Page size 4, 32 slots on each side, four requests of 8: all 8 pages are used."""
    pool = drive("hybrid-swa", 32, 4, **options)
    for _ in range(4):
        pool.extend(0, 8)
    assert pool.full.free == pool.swa.free == []
    return pool


def mixed_group(pool, tokens):
    pool.does("free_group_begin")
    pool.does("free", slots=tokens(3, 4))
    pool.does("free_segment", slots=tokens(1, 2), start_pos=0)
    pool.does("free_swa", slots=tokens(5, 6))
    pool.does("free", slots=tokens(7, 8))


def test_a_mixed_group_unmaps_at_once_and_releases_at_the_end(drive, tokens):
    pool = four_rows(drive)
    mixed_group(pool, tokens)
    assert pool.swa.free == []
    assert pool.mapping == INITIAL_MAPPING
    pool.does("free_group_end")
    assert pool.full.free == [1, 2, 3, 4, 7, 8]
    assert pool.swa.free == [3, 4, 5, 6, 7, 8, 1, 2]


def test_a_mixed_group_under_need_sort(drive, tokens):
    pool = four_rows(drive, need_sort=True)
    mixed_group(pool, tokens)
    pool.does("free_group_end")
    assert pool.full.staged == [[3, 4, 7, 8], [1, 2]]
    assert pool.swa.staged == [[1, 2], [3, 4, 5, 6, 7, 8]]


def test_two_plain_frees_stage_in_order_of_the_calls(drive, tokens):
    pool = drive("paged", 32, 4, need_sort=True)
    pool.gives("alloc", need=16)
    pool.does("free", slots=tokens(3, 4))
    pool.does("free", slots=tokens(1, 2))
    assert (pool.full.free, pool.full.staged) == ([5, 6, 7, 8], [[3, 4], [1, 2]])


def freed_window_at_page_size_one(drive, level):
    pool = drive("hybrid-swa", 8, level=level)
    assert pool.gives("alloc", need=4) == [1, 2, 3, 4]
    pool.does("free_swa", slots=[2, 3])
    return pool


def test_page_size_one_frees_slot_zero_at_level_off(drive):
    pool = freed_window_at_page_size_one(drive, "off")
    outcome = pool.raises("AssertionError", "over-credit SWA: 10 of 8", "free", slots=[1, 2, 3, 4])
    assert outcome.hits == (Hit("swa.peer_mapped", 2),)
    assert pool.swa.free == [5, 6, 7, 8, 2, 3, 1, 0, 0, 4]
    assert pool.full.free == [5, 6, 7, 8]


@pytest.mark.parametrize("level", ["warn", "strict"])
def test_page_size_one_raises_before_any_change_above_level_off(drive, level):
    pool = freed_window_at_page_size_one(drive, level)
    before = pool.snapshot
    pool.raises("invariant:swa.peer_mapped", "2", "free", slots=[1, 2, 3, 4])
    assert pool.snapshot == before


def test_an_unmapped_representative_puts_page_zero_in_the_list_and_it_is_handed_out(
    drive, extends, tokens
):
    pool = drive("hybrid-swa", 32, 4)
    rows = pool.gives("alloc_extend", **extends([0, 0], [6, 3], [-1, -1]))
    assert rows == [4, 5, 6, 7, 8, 9, 12, 13, 14]
    pool.does("free_swa_segment", slots=range(4, 10), start_pos=0)
    pool.extend(0, 12)
    outcome = pool.does("free_swa_segment", slots=range(4, 10), start_pos=0)
    assert outcome.hits == (Hit("swa.peer_mapped", 2),)
    assert pool.swa.free == [0, 0, 5, 6, 7, 8]
    assert pool.extend(0, 4) == [28, 29, 30, 31]
    assert pool.mapping[28:32] == [0, 1, 2, 3]


def test_the_two_sides_flush_their_piles_in_opposite_order(drive, tokens):  # §6.4
    pool = four_rows(drive)
    pool.does("free_group_begin")
    pool.does("free", slots=tokens(3, 4))
    pool.does("free_segment", slots=tokens(1, 2, 5, 6), start_pos=0)
    pool.does("free", slots=tokens(7, 8))
    pool.does("free_group_end")
    assert pool.full.free == [1, 2, 5, 6, 3, 4, 7, 8]
    assert pool.swa.free == [3, 4, 7, 8, 1, 2, 5, 6]


def test_clearing_the_sentinel_destroys_it_and_clear_does_not_repair_it(drive):  # §6.1, §1
    pool = drive("hybrid-swa", 32, 4)
    assert pool.gives("translate_loc_from_full_to_swa", slots=[-1]) == [-1]
    pool.does("clear_full_to_swa_mapping", slots=[-1])
    pool.does("clear")
    assert pool.gives("translate_loc_from_full_to_swa", slots=[-1]) == [0]


def test_an_unaligned_tail_frees_page_zero_and_leaks_the_real_page(drive):  # §6.2
    pool = drive("hybrid-swa", 32, 4)
    row = unaligned_tail(pool)
    outcome = pool.does("free_segment", slots=row, start_pos=0)
    assert outcome.hits == (Hit("swa.peer_mapped", 1),)
    assert pool.swa.free == [0, 1, 3, 4, 5, 6, 7, 8]
    assert pool.swa.available == 32


def test_debug_mode_reports_a_page_that_straddles_two_swa_pages(drive):  # §6.2, §6.6
    pool = drive("hybrid-swa", 32, 4, debug=True)
    row = unaligned_tail(pool)
    before = pool.snapshot
    pool.raises(
        "AssertionError", "swa pages do not match", "free_swa_segment", slots=row[4:], start_pos=4
    )
    assert pool.snapshot == before


def unaligned_tail(pool):
    return pool.gives(
        "alloc_extend_swa_tail",
        prefix_lens=[0],
        seq_lens=[8],
        last_loc=[-1],
        extend_num_tokens=8,
        swa_tail_len=6,
    )


def test_a_negative_representative_wraps_and_wipes_the_last_page_of_the_table(drive):  # §6.3
    pool = four_rows(drive)
    pool.does("set_full_to_swa_mapping", slots=[32, 33], peers=[4, 5])
    pool.does("free_swa_segment", slots=[-1], start_pos=0)
    assert pool.swa.free == [-1]
    assert pool.mapping[33:] == [0, 0, 0, 0]
    assert pool.mapping[32] == 4


def test_a_double_free_passes_while_a_page_is_in_use(drive, tokens):  # §12
    pool = four_rows(drive)
    pool.does("free_segment", slots=tokens(3), start_pos=0)
    pool.does("free_segment", slots=tokens(3), start_pos=0)
    assert pool.full.free == [3, 3]
    assert pool.swa.free == [0, 3]
