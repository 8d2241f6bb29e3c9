"""The prediction of frees of rows, in segments and between cursors (contract_paged_swa §11.3).

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


# §11.3, segments


def evicted_row(row, **options):
    """A row of 8 pages, the first five of which have lost their peers."""
    one = row(**options)
    assert one.cursor() == 20
    return one


def test_what_is_dead_goes_first_and_full_only_then_what_is_alive(row, segment):
    one = evicted_row(row)
    outcome = one.pool.does(
        "free_row_segments", segments=(segment(one.slots, 0),), evicted=20, dead_lo=0
    )
    assert (outcome.hits, outcome.resolved) == ((), (20,))
    # Each later free goes in front: pages 1 to 5 as a sorted set, then the segment of 6 to 8.
    assert one.pool.full.free == [6, 7, 8, 1, 2, 3, 4, 5, *range(9, 17)]
    assert one.pool.swa.free == [6, 7, 8, 1, 2, 3, 4, 5, *range(9, 17)]
    assert one.pool.mapped() == {}


def test_the_dead_range_has_a_lower_bound_and_the_head_keeps_its_place_before_the_tail(
    row, segment
):
    one = row()
    assert one.cursor(RowCursors(floor=8)) == 20
    one.pool.does("free_row_segments", segments=(segment(one.slots, 0),), evicted=20, dead_lo=8)
    assert one.pool.full.free[:8] == [6, 7, 8, 1, 2, 3, 4, 5]
    assert one.pool.swa.free[:8] == [6, 7, 8, 1, 2, 3, 4, 5]


def test_the_dead_parts_of_all_segments_go_before_any_that_is_alive(row, segment):
    one = row(need_sort=True)
    assert one.cursor(RowCursors(protected=4)) == 20
    segments = (segment(one.slots[:12], 0), segment(one.slots[16:], 16))
    one.pool.does("free_row_segments", segments=segments, evicted=20, dead_lo=4)
    assert one.pool.full.staged == [[2, 3], [5], [1], [6, 7, 8]]


def test_a_cursor_below_the_dead_lower_bound_leaves_everything_alive(row, segment):
    one = row()
    segments = (segment(one.slots, 0),)
    one.pool.does("free_row_segments", segments=segments, evicted=6, dead_lo=8)
    assert one.pool.full.free[:8] == list(range(1, 9))


@pytest.mark.parametrize("with_empty", [False, True])
def test_an_unaligned_cursor_is_refused_if_something_is_alive_and_an_empty_segment_is(
    row, segment, with_empty
):
    one = row()
    one.pool.does("free_swa_segment", slots=one.slots[:8], start_pos=0)
    before = one.pool.snapshot
    segments = (segment(one.slots[:6], 0), *([segment((), 8)] if with_empty else []))
    call = {"segments": segments, "evicted": 7, "dead_lo": 0}
    if with_empty:
        one.pool.raises("AssertionError", "evicted cursor 7", "free_row_segments", **call)
        assert one.pool.snapshot == before
    else:
        one.pool.does("free_row_segments", **call)
        assert one.pool.full.free[:2] == [1, 2]


def test_an_aligned_cursor_and_an_empty_segment_are_fine(row, segment):
    one = evicted_row(row)
    segments = (segment(one.slots[:20], 0), segment((), 20))
    one.pool.does("free_row_segments", segments=segments, evicted=20, dead_lo=0)
    assert one.pool.full.free[:5] == [1, 2, 3, 4, 5]


def test_what_was_dead_is_gone_when_what_is_alive_raises(row, segment):
    one = evicted_row(row, level="strict")
    one.pool.does("free_swa_segment", slots=one.slots[28:], start_pos=28)
    segments = (segment(one.slots, 0),)
    outcome = one.pool.call("free_row_segments", segments=segments, evicted=20, dead_lo=0)
    assert outcome.error == "invariant:swa.peer_mapped"
    assert one.pool.full.free[:5] == [1, 2, 3, 4, 5]
    assert one.pool.mapping[24] > 0


def test_segments_that_share_a_page_are_refused_after_the_earlier_ones(row, segment):
    one = row()
    segments = (segment(one.slots[:6], 0), segment(one.slots[4:], 4))
    one.pool.raises(
        "AssertionError", "overlap", "free_row_segments", segments=segments, evicted=0, dead_lo=0
    )
    assert one.pool.full.free[:2] == [1, 2]


# §11.3, rows


def test_a_row_goes_back_between_its_cursors(row):
    one = row()
    cursors = RowCursors(protected=8, evicted=20, committed=30, allocated=32)
    assert one.cursor(cursors=RowCursors(protected=8)) == 20
    one.pool.does("free_row", slots=one.slots, cursors=cursors, ranges=((8, 30),))
    assert sorted(one.pool.full.free) == list(range(3, 17))
    assert set(one.pool.mapped()) == set(one.slots[:8])


def test_ranges_that_touch_are_one_segment_and_others_are_not(row):
    one = row()
    cursors = RowCursors(committed=6, allocated=32)
    one.pool.does("free_row", slots=one.slots, cursors=cursors, ranges=((0, 6), (6, 16)))
    one.pool.does("free_row", slots=one.slots, cursors=cursors, ranges=((16, 17), (20, 32)))
    assert one.pool.full.free[:8] == [6, 7, 8, 5, 1, 2, 3, 4]


def test_ranges_that_share_a_page_and_do_not_touch_are_refused(row):
    one = row()
    one.pool.raises(
        "AssertionError",
        "overlap",
        "free_row",
        slots=one.slots,
        cursors=RowCursors(),
        ranges=((0, 6), (4, 8)),
    )


@pytest.mark.parametrize(("floor", "alive"), [(0, 0), (5, 8), (8, 8)])
def test_below_the_floor_a_row_goes_back_on_both_sides(row, floor, alive):
    one = row()
    cursors = RowCursors(floor=floor)
    assert one.cursor(cursors) == 20
    assert one.lost() == list(range(alive, 20))
    cursors = RowCursors(floor=floor, evicted=20, committed=32, allocated=32)
    outcome = one.pool.does("free_row", slots=one.slots, cursors=cursors, ranges=((0, 32),))
    assert outcome.hits == ()
    assert sorted(one.pool.full.free) == sorted(one.pool.swa.free) == list(range(1, 17))


def test_a_forgotten_cursor_at_release_gives_the_padding_page_away(row):
    one = evicted_row(row)
    one.pool.extend(0, 32)
    cursors = RowCursors(committed=32, allocated=32)
    outcome = one.pool.does("free_row", slots=one.slots, cursors=cursors, ranges=((0, 32),))
    assert outcome.hits == (Hit("swa.peer_mapped", 5),)
    assert one.pool.swa.free[:8] == [0, 0, 0, 0, 0, 6, 7, 8]


def test_over_credit_that_a_forgotten_cursor_makes_is_seen_between_the_two_sides(row):
    one = evicted_row(row)
    outcome = one.pool.call("free_row", slots=one.slots, cursors=RowCursors(), ranges=((0, 32),))
    assert (outcome.error, "over-credit SWA" in outcome.message) == ("AssertionError", True)
    assert one.pool.full.free == list(range(9, 17))


def test_a_forgotten_floor_at_release_leaves_peers_on_free_pages(row):
    one = row()
    assert one.cursor(RowCursors(floor=8)) == 20
    cursors = RowCursors(evicted=20, committed=32, allocated=32)
    outcome = one.pool.does("free_row", slots=one.slots, cursors=cursors, ranges=((0, 32),))
    assert outcome.hits == (Hit("swa.peer_released", 8),)
    assert set(one.pool.mapped()) == set(one.slots[:8])


def test_an_unaligned_protected_length_at_release_frees_nothing(row):
    one = row()
    before = one.pool.snapshot
    one.pool.raises(
        "AssertionError",
        "alignment",
        "free_row",
        slots=one.slots,
        cursors=RowCursors(protected=6),
        ranges=((6, 32),),
    )
    assert one.pool.snapshot == before


def test_an_empty_range_frees_nothing(row):
    one = row()
    before = one.pool.snapshot
    one.pool.does("free_row", slots=one.slots, cursors=RowCursors(), ranges=((8, 8),))
    assert one.pool.snapshot == before
