"""Each choice of a token or paged allocator in the contract, one test or more a field (contract_paged_swa §13.2)."""

from __future__ import annotations

from itertools import pairwise

import pytest

NESTED = {"nested_begin": "accepted"}
PREPENDED = {"staging": "prepended-list"}
PIECES = {"segment_start": "anywhere", "segment_overlap": "trimmed"}


@pytest.mark.parametrize(("family", "page_size"), [("token", 1), ("paged", 4), ("hybrid-swa", 1)])
def test_a_nested_begin_that_is_accepted_keeps_what_waits(drive, family, page_size):
    pool = drive(family, 8 * page_size, page_size, **NESTED)
    slots = pool.gives("alloc", need=4 * page_size)
    half = 2 * page_size
    pool.does("free_group_begin")
    pool.does("free", slots=slots[:half])
    before = pool.snapshot
    pool.does("free_group_begin")
    assert pool.snapshot == before
    pool.does("free", slots=slots[half:])
    pool.does("free_group_end")
    assert sorted(pool.full.free) == list(range(1, 9))
    assert pool.full.group is None


def test_a_second_group_end_releases_nothing_twice(drive):
    pool = drive("token", 8, **NESTED)
    pool.does("free_group_begin")
    pool.does("free", slots=pool.gives("alloc", need=2))
    pool.does("free_group_end")
    pool.does("free_group_end")
    assert pool.full.free == [3, 4, 5, 6, 7, 8, 1, 2]


def test_one_staged_list_has_the_later_release_in_front_and_merges_like_entries(drive, tokens):
    pools = [
        drive("paged", 32, 4, need_sort=True),
        drive("paged", 32, 4, need_sort=True, **PREPENDED),
    ]
    for pool in pools:
        pool.gives("alloc", need=32)
        pool.does("free", slots=tokens(5, 2))
        pool.does("free_page_ids", slots=[7, 1])
    assert [pool.full.staged for pool in pools] == [[[2, 5], [7, 1]], [[7, 1, 2, 5]]]
    assert [pool.full.staged_count for pool in pools] == [4, 4]
    for pool in pools:
        pool.does("merge_and_sort_free")
        assert (pool.full.free, pool.full.staged) == ([1, 2, 5, 7], [])


def test_a_duplicate_check_of_the_free_list_alone_overlooks_what_is_staged(drive, tokens):
    options = {"need_sort": True, "debug": True}
    everything = drive("paged", 32, 4, **options)
    free_only = drive("paged", 32, 4, **options, duplicate_check="free-only")
    for pool in (everything, free_only):
        pool.gives("alloc", need=16)
        pool.does("free", slots=tokens(1))
    everything.raises("AssertionError", "duplicate", "free", slots=tokens(1))
    free_only.does("free", slots=tokens(1))
    free_only.does("merge_and_sort_free")
    free_only.raises("AssertionError", "duplicate", "free", slots=tokens(2))


def test_a_group_end_may_have_no_duplicate_check_of_its_own(drive):
    checked = drive("paged", 32, 4, debug=True)
    unchecked = drive("paged", 32, 4, debug=True, duplicate_check_at_group_end=False)
    for pool in (checked, unchecked):
        pool.gives("alloc", need=8)
        pool.raises("AssertionError", "duplicate", "free_page_ids", slots=[3])
        pool.does("free_group_begin")
    checked.raises("AssertionError", "duplicate", "free_group_end")
    unchecked.does("free_group_end")


def test_a_segment_that_starts_inside_a_page_releases_that_page_first(drive, tokens):
    pool = drive("paged", 32, 4, **PIECES)
    row = pool.gives("alloc", need=16)
    pool.does("free_segment", slots=row[6:13], start_pos=6)
    assert pool.full.free == [2, 3, 4, 5, 6, 7, 8]


def test_a_segment_that_starts_and_ends_inside_one_page_releases_it(drive):
    pool = drive("paged", 32, 4, **PIECES)
    row = pool.gives("alloc", need=8)
    pool.does("free_segment", slots=row[5:7], start_pos=5)
    assert pool.full.free == [2, 3, 4, 5, 6, 7, 8]


def test_the_pile_of_such_segments_holds_slots_in_one_entry(drive):
    pool = drive("paged", 32, 4, **PIECES)
    row = pool.gives("alloc", need=24)
    pool.does("free_group_begin")
    pool.does("free_segment", slots=row[6:13], start_pos=6)
    pool.does("free_segment", slots=row[16:20], start_pos=16)
    assert pool.full.page_pile == [[row[6], row[8], row[12], row[16]]]
    assert pool.full.group == []
    pool.does("free_group_end")
    assert pool.full.free == [2, 3, 4, 5, 7, 8]


@pytest.mark.parametrize("cuts", [(0, 2, 4), (0, 1, 2, 4)])
def test_a_page_that_segments_of_a_group_share_is_released_once(drive, cuts):
    pool = drive("paged", 32, 4, **PIECES)
    row = pool.gives("alloc", need=8)
    pool.does("free_group_begin")
    for start, stop in pairwise(cuts):
        pool.does("free_segment", slots=row[start:stop], start_pos=start)
    pool.does("free_group_end")
    assert pool.full.free == [1, 3, 4, 5, 6, 7, 8]


def test_a_page_that_a_segment_shares_with_a_plain_free_of_the_group_is_released_once(drive):
    pool = drive("paged", 32, 4, **PIECES)
    row = pool.gives("alloc", need=8)
    pool.does("free_group_begin")
    pool.does("free_segment", slots=row[2:8], start_pos=2)
    pool.does("free", slots=row[:2])
    pool.does("free_group_end")
    assert pool.full.free == [2, 1, 3, 4, 5, 6, 7, 8]


def test_two_page_starts_in_a_group_are_two_frees_of_the_page(drive):  # §15.2
    pool = drive("paged", 32, 4, **PIECES)
    row = pool.gives("alloc", need=8)
    pool.does("free_group_begin")
    pool.does("free_segment", slots=row[:4], start_pos=0)
    pool.does("free_segment", slots=row[:4], start_pos=0)
    pool.does("free_group_end")
    assert pool.full.free == [1, 1, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize(
    ("segments", "free"),
    [
        ([(0, 6), (6, 12)], [3, 1, 2]),
        ([(0, 6), (4, 12)], [3, 1, 2]),
        ([(0, 6), (6, 8), (8, 12)], [3, 1, 2]),
        ([(8, 12), (0, 6)], [1, 2, 3]),
        ([(0, 4), (8, 12)], [3, 1]),
    ],
)
def test_a_later_segment_loses_the_page_that_the_one_before_ended_on(
    drive, segment, segments, free
):
    pool = drive("paged", 12, 4, **PIECES)
    row = pool.gives("alloc", need=12)
    pool.does(
        "free_segments", segments=[segment(row[start:stop], start) for start, stop in segments]
    )
    assert pool.full.free == free


def test_slots_that_overlap_are_trimmed_at_page_size_one_too(drive, segment):
    pool = drive("token", 4, **PIECES)
    row = pool.gives("alloc", need=4)
    pool.does("free_segments", segments=[segment(row[:2], 0), segment(row[1:4], 1)])
    assert pool.full.free == [1, 2, 3, 4]


def test_a_short_pool_is_undefined_in_debug_mode_where_the_launch_comes_first(drive, extends):
    for debug in (False, True):
        pool = drive("paged", 8, 4, debug=debug, capacity_test="after-launch")
        pool.gives("alloc", need=8)
        calls = (
            ("alloc_extend", extends([0], [4], [-1])),
            ("alloc_decode", {"seq_lens": [1], "last_loc": [-1]}),
        )
        for method, arguments in calls:
            if debug:
                pool.is_undefined("before or after", method, **arguments)
            else:
                pool.refuses(method, **arguments)


def test_a_page_count_is_undefined_where_it_cannot_be_passed(drive, extends):
    pool = drive("paged", 32, 4, takes_page_count=False)
    arguments = extends([0], [8], [-1])
    pool.gives("alloc_extend", **arguments)
    pool.is_undefined("num_new_pages", "alloc_extend", **arguments, num_new_pages=2)


@pytest.mark.parametrize(("family", "page_size"), [("token", 1), ("paged", 4), ("hybrid-swa", 4)])
@pytest.mark.parametrize("need_sort", [False, True])
def test_a_restore_brings_back_what_the_backup_saw(drive, extends, family, page_size, need_sort):
    pool = drive(family, 32, page_size, release="0.5.16", need_sort=need_sort)
    fill = {"slots": [*range(page_size, 3 * page_size), *range(4 * page_size, 5 * page_size)]}
    if family == "hybrid-swa":
        pool.gives("alloc_extend", **extends([0], [5 * page_size], [-1]))
    else:
        pool.gives("alloc", need=5 * page_size)
    pool.does("free", **fill)
    before = pool.snapshot
    pool.does("backup_state")
    assert pool.snapshot == before
    if family == "hybrid-swa":
        pool.gives("alloc_extend", **extends([0], [6 * page_size], [-1]))
    else:
        pool.gives("alloc", need=6 * page_size)
    assert pool.snapshot != before
    pool.does("restore_state")
    assert pool.snapshot == before


@pytest.mark.parametrize("family", ["token", "paged", "hybrid-swa"])
def test_a_restore_without_a_backup_is_undefined(drive, family):
    drive(family, 8, release="0.5.9").is_undefined("without a backup", "restore_state")


def test_pools_take_the_calls_that_the_contract_gives_them(drive):
    older = drive("hybrid-swa", 8, release="0.5.17")
    older.gives("alloc", need=2, pool="full")
    older.raises("NotImplementedError", "free_page_ids", "free_page_ids", slots=[1], pool="full")
    newer = drive("hybrid-swa", 8)
    newer.gives("alloc", need=2, pool="full")
    newer.does("free_page_ids", slots=[1], pool="full")
    assert newer.full.free == [3, 4, 5, 6, 7, 8, 1]
