"""The prediction of window eviction by cursors (contract_paged_swa §11.2).

Page size 4, a window of 8 slots unless said otherwise, and one row on the FULL and SWA pages 1, 2, ... in order.
"""

from __future__ import annotations

import pytest
from row_house import Row

from oracle.call import RowCursors
from oracle.observation import Hit


@pytest.fixture
def row(drive):
    return lambda *arguments, **options: Row(drive, *arguments, **options)


def raising(text, error="AssertionError"):
    """Arguments of ``Row.evict`` for a call that raises."""

    def how(one, cursors=None, **fields):
        outcome = one.evict(cursors, how="call", **fields)
        assert outcome.error == error, outcome
        assert text in outcome.message
        return outcome.resolved

    return how


def test_without_a_row_nothing_happens_whatever_the_cursors_are(row):
    one = row()
    before = one.pool.snapshot
    cursors = RowCursors(protected=3, evicted=2, floor=17)
    assert one.cursor(cursors, slots=[], pre_len=31) == 2
    assert one.pool.snapshot == before


def test_an_unaligned_protected_length_is_refused_before_the_cursor_is_touched(row):
    one = row()
    before = one.pool.snapshot
    cursors = RowCursors(protected=6, floor=12, evicted=8)
    assert raising("protected length 6")(one, cursors) == (8,)
    assert one.pool.snapshot == before


@pytest.mark.parametrize(("pre_len", "cursor"), [(8, 0), (9, 12)])
def test_too_little_outside_the_window_leaves_the_cursor_alone_even_below_the_floor(
    row, pre_len, cursor
):
    # 8 - 8 < 0 + 1: returned at once; 9 - 8 is not: the floor is stored though nothing is freed.
    one = row()
    assert one.cursor(RowCursors(floor=10), pre_len=pre_len) == cursor
    assert one.lost() == []


@pytest.mark.parametrize(("interval", "cursor"), [(15, 12), (16, 0)])
def test_the_eviction_interval_is_what_must_be_outside_the_window_at_least(row, interval, cursor):
    one = row()
    assert one.cursor(pre_len=23, interval=interval) == cursor


def test_the_cursor_is_stored_at_the_dead_lower_bound_even_if_nothing_is_freed(row):
    one = row()
    assert one.cursor(RowCursors(protected=24)) == 24
    assert one.lost() == []


@pytest.mark.parametrize(
    ("protected", "floor", "first"),
    [(0, 0, 0), (0, 5, 8), (4, 5, 8), (8, 5, 8), (8, 8, 8), (8, 9, 12), (0, 8, 8)],
)
def test_eviction_starts_at_the_protected_length_or_at_the_floor_rounded_up(
    row, protected, floor, first
):
    one = row()
    assert one.cursor(RowCursors(protected=protected, floor=floor)) == 20
    assert one.lost() == list(range(first, 20))


@pytest.mark.parametrize(
    ("window", "sharing", "cursor"),
    [(8, True, 20), (8, False, 20), (5, True, 20), (5, False, 24), (1, True, 24), (1, False, 28)],
)
def test_with_prefix_sharing_the_window_is_whole_pages_and_at_least_one(
    row, window, sharing, cursor
):
    # A row of 32, 31 computed: 31 - ceil(max(W, 4)), or 31 - W, down to a page.
    one = row(window=window)
    assert one.cursor(sharing=sharing) == cursor
    assert one.lost() == list(range(cursor))


@pytest.mark.parametrize(("window", "cursor"), [(8, 20), (5, 24), (1, 24)])
def test_older_callers_keep_the_larger_of_window_and_page_as_it_is(row, window, cursor):
    one = row(window=window, kept_behind="window-or-page")
    assert one.cursor() == cursor


@pytest.mark.parametrize(
    ("retain", "sharing", "cursor"),
    [(13, True, 12), (40, True, 20), (0, True, 0), (13, False, 20)],
)
def test_a_retain_floor_holds_the_threshold_down_with_prefix_sharing_only(
    row, retain, sharing, cursor
):
    assert row().cursor(retain_floor=retain, sharing=sharing) == cursor


def test_a_threshold_below_the_cursor_frees_nothing(row):
    one = row()
    assert one.cursor(RowCursors(evicted=20), pre_len=31) == 20
    assert one.lost() == []


def test_the_peers_of_what_left_the_window_go_back_in_row_order_and_the_row_stays(row):
    one = row()
    free = one.pool.swa.free
    assert one.cursor(pre_len=20) == 12
    assert one.pool.swa.free == [1, 2, 3, *free]
    assert one.lost() == list(range(12))
    assert one.pool.full.free == list(range(9, 17))


def test_the_next_eviction_goes_on_where_the_last_one_stopped(row):
    one = row()
    first = one.cursor(pre_len=20)
    assert one.cursor(RowCursors(evicted=first)) == 20
    assert one.pool.swa.free[:5] == [4, 5, 1, 2, 3]


def test_in_a_free_group_the_peers_wait_and_the_cursor_moves(row):
    one = row()
    free = one.pool.swa.free
    one.pool.does("free_group_begin")
    assert one.cursor() == 20
    assert (one.pool.swa.free, one.pool.snapshot.swa_page_pile) == (free, [[1, 2, 3, 4, 5]])
    one.pool.does("free_group_end")
    assert one.pool.swa.free == [1, 2, 3, 4, 5, *free]


def test_an_unaligned_cursor_is_refused_when_peers_are_to_go_and_has_been_stored(row):
    one = row()
    before = one.pool.snapshot
    assert raising("alignment")(one, RowCursors(evicted=6)) == (6,)
    assert one.pool.snapshot == before


def test_an_unaligned_cursor_passes_while_nothing_goes(row):
    assert row().cursor(RowCursors(evicted=22)) == 22


def test_what_raises_after_the_floor_was_stored_leaves_it_stored(row):
    one = row(level="strict")
    assert one.cursor(RowCursors(floor=4), pre_len=20) == 12
    outcome = one.evict(RowCursors(floor=4), how="call")
    assert (outcome.error, outcome.resolved) == ("invariant:swa.peer_mapped", (4,))
    assert one.lost() == list(range(4, 12))


def test_on_a_device_what_raises_late_comes_after_the_cursor_has_moved(row):
    one = row(level="strict", checks_after_clearing=True)
    assert one.cursor(pre_len=20) == 12
    outcome = one.evict(how="call")
    assert (outcome.error, outcome.resolved) == ("invariant:swa.peer_mapped", (20,))
    assert one.lost() == list(range(20))


def test_a_cursor_that_was_reset_frees_the_padding_page_silently(row):
    one = row()
    assert one.cursor(pre_len=20) == 12
    outcome = one.evict()
    assert outcome.hits == (Hit("swa.peer_mapped", 3),)
    assert outcome.resolved == (20,)
    assert one.pool.swa.free[:5] == [0, 0, 0, 4, 5]


def test_at_page_size_1_every_cursor_is_aligned(drive):
    pool = drive("hybrid-rows", 16, 1, size_swa=16, sizes={"window": 3})
    slots = pool.gives("alloc", need=10)
    cursors = RowCursors(protected=1, floor=2, evicted=3, allocated=10)
    arguments = {"slots": slots, "cursors": cursors, "pre_len": 9, "window": 3}
    assert pool.does("evict_out_of_window", **arguments).resolved == (6,)
    assert pool.swa.free == [*range(11, 17), 4, 5, 6]
