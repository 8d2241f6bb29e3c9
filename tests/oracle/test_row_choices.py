"""Each choice of the calls on rows in the contract, one test or more a field (contract_paged_swa §11, §13.2).

Page size 4, a window of 8 slots unless said otherwise, and one row on the FULL and SWA pages 1, 2, ... in order. Each test fails if its
field has another value; ``tests/strategies/test_older_rows.py`` says that callers meet the difference, too.
"""

from __future__ import annotations

import pytest
from row_house import Row

from oracle.call import RowCursors

BEFORE_SEGMENTS = {"unmapped": "skipped", "expansion": "sorted-pages"}


@pytest.fixture
def row(drive):
    return lambda *arguments, **options: Row(drive, *arguments, **options)


# Window eviction


@pytest.mark.parametrize(
    ("kept_behind", "window", "cursor"),
    [
        # A row of 32, 31 computed, down to a page.
        ("whole-pages", 5, 20),
        ("window-or-page", 5, 24),
        ("window-and-page", 5, 20),
        ("whole-pages", 8, 20),
        ("window-or-page", 8, 20),
        ("window-and-page", 8, 16),
        ("whole-pages", 1, 24),
        ("window-or-page", 1, 24),
        ("window-and-page", 1, 24),
        ("window-and-page", 4, 20),
    ],
)
def test_what_stays_behind_with_prefix_sharing(row, kept_behind, window, cursor):
    one = row(window=window, kept_behind=kept_behind)
    assert one.cursor() == cursor
    assert one.lost() == list(range(cursor))


@pytest.mark.parametrize("kept_behind", ["whole-pages", "window-or-page", "window-and-page"])
def test_without_prefix_sharing_the_window_is_kept_and_nothing_else(row, kept_behind):
    assert row(window=5, kept_behind=kept_behind).cursor(sharing=False) == 24


@pytest.mark.parametrize(("has_floor", "first"), [(True, 12), (False, 4)])
def test_a_floor_holds_an_eviction_up_where_there_are_floors(row, has_floor, first):
    one = row(has_floor=has_floor)
    assert one.cursor(RowCursors(protected=4, floor=9)) == 20
    assert one.lost() == list(range(first, 20))


@pytest.mark.parametrize(("has_retain_floor", "cursor"), [(True, 12), (False, 20)])
def test_more_than_the_window_is_retained_where_that_can_be_said(row, has_retain_floor, cursor):
    one = row(has_retain_floor=has_retain_floor)
    assert one.cursor(retain_floor=13) == cursor


@pytest.mark.parametrize(("has_interval", "cursor"), [(True, 0), (False, 12)])
def test_an_interval_holds_an_eviction_back_where_there_are_intervals(row, has_interval, cursor):
    assert row(has_interval=has_interval).cursor(pre_len=23, interval=16) == cursor


@pytest.mark.parametrize(("has_interval", "cursor"), [(True, 0), (False, 12)])
def test_without_intervals_the_dead_lower_bound_is_stored_whatever_left_the_window(
    row, has_interval, cursor
):
    one = row(has_interval=has_interval)
    assert one.cursor(RowCursors(floor=10), pre_len=4) == cursor
    assert one.lost() == []


@pytest.mark.parametrize(("eviction_without_row", "cursor"), [("returned", 2), ("goes-on", 20)])
def test_without_a_row_the_cursor_stays_or_moves_over_nothing(row, eviction_without_row, cursor):
    one = row(eviction_without_row=eviction_without_row, evicts_by="set")
    before = one.pool.snapshot
    assert one.cursor(RowCursors(evicted=2), slots=[], pre_len=31) == cursor
    assert one.pool.snapshot == before


def test_without_a_row_an_eviction_that_goes_on_asks_for_an_aligned_protected_length(row):
    cursors = RowCursors(protected=6)
    assert row().cursor(cursors, slots=[], pre_len=31) == 0
    outcome = row(eviction_without_row="goes-on").evict(cursors, slots=[], how="call")
    assert (outcome.error, outcome.resolved) == ("AssertionError", (0,))


def test_an_eviction_by_set_takes_a_cursor_inside_a_page(row):
    assert row().evict(RowCursors(evicted=6), how="call").error == "AssertionError"
    one = row(evicts_by="set")
    assert one.cursor(RowCursors(evicted=6)) == 20
    assert one.lost() == list(range(4, 20)), "the whole page goes, as with any set of slots"


def test_an_eviction_by_set_skips_what_has_no_peer(row):
    one = row(evicts_by="set", **BEFORE_SEGMENTS)
    assert one.cursor(pre_len=20) == 12
    free = one.pool.swa.free
    assert one.cursor() == 20
    assert one.pool.swa.free == [4, 5, *free]


def test_in_a_group_an_eviction_by_set_waits_with_the_sets(row):
    one = row(evicts_by="set", **BEFORE_SEGMENTS)
    one.pool.does("free_group_begin")
    assert one.cursor(pre_len=20) == 12
    state = one.pool.snapshot
    assert (state.swa_set_pile, state.swa_page_pile) == ([one.slots[:12]], [])


# Release


@pytest.mark.parametrize(
    ("dead_parts", "full"), [("segments", [[1, 2], [4, 5]]), ("one-set", [[1, 2, 4, 5]])]
)
def test_what_is_dead_goes_segment_by_segment_or_as_one_set(row, segment, dead_parts, full):
    one = row(need_sort=True, dead_parts=dead_parts)
    assert one.cursor() == 20
    segments = (segment(one.slots[:8], 0), segment(one.slots[12:20], 12))
    one.pool.does("free_row_segments", segments=segments, evicted=20, dead_lo=0)
    assert one.pool.full.staged == full


def test_as_one_set_dead_segments_may_share_a_page_and_stand_in_any_order(row, segment):
    one = row(need_sort=True, dead_parts="one-set")
    assert one.cursor() == 20
    segments = (segment(one.slots[12:20], 12), segment(one.slots[4:14], 4))
    one.pool.does("free_row_segments", segments=segments, evicted=20, dead_lo=0)
    assert one.pool.full.staged == [[2, 3, 4, 5]]


@pytest.mark.parametrize("empty_segments", ["alive", "skipped"])
def test_an_empty_segment_asks_for_an_aligned_cursor_or_is_skipped(row, segment, empty_segments):
    one = row(empty_segments=empty_segments)
    one.pool.does("free_swa_segment", slots=one.slots[:8], start_pos=0)
    segments = (segment(one.slots[:6], 0), segment((), 8))
    outcome = one.pool.call("free_row_segments", segments=segments, evicted=7, dead_lo=0)
    assert outcome.error == ("AssertionError" if empty_segments == "alive" else "")


def test_peers_below_the_floor_go_back_whatever_is_chosen(row):
    one = row(dead_parts="one-set", empty_segments="skipped", touching_ranges="apart")
    assert one.cursor(RowCursors(floor=6)) == 20
    cursors = RowCursors(floor=6, evicted=20, committed=32, allocated=32)
    one.pool.does("free_row", slots=one.slots, cursors=cursors, ranges=((0, 32),))
    assert sorted(one.pool.full.free) == sorted(one.pool.swa.free) == list(range(1, 17))


def test_ranges_that_touch_are_merged_or_stand_apart(row):
    call = {"cursors": RowCursors(), "ranges": ((0, 8), (8, 16))}
    one = row(need_sort=True)
    one.pool.does("free_row", slots=one.slots, **call)
    assert one.pool.full.staged == [[1, 2, 3, 4]]
    one = row(need_sort=True, touching_ranges="apart")
    one.pool.does("free_row", slots=one.slots, **call)
    assert one.pool.full.staged == [[1, 2], [3, 4]]


def test_apart_ranges_that_touch_inside_a_page_are_segments_that_share_it(row):
    call = {"cursors": RowCursors(), "ranges": ((0, 6), (6, 16))}
    one = row(touching_ranges="apart")
    one.pool.raises("AssertionError", "overlap", "free_row", slots=one.slots, **call)
    one = row(
        touching_ranges="apart",
        segment_form="set-shaped",
        segment_overlap="trimmed",
        segment_start="anywhere",
    )
    one.pool.does("free_row", slots=one.slots, **call)
    assert sorted(one.pool.full.free) == sorted(one.pool.swa.free) == [*range(1, 5), *range(9, 17)]
