"""The laws of rows with cursors: each fires on a bad case made by hand, and is silent on the same case done right.

Page size 4 and one row on FULL pages 1 to 8, whose peers are the SWA slots of the same numbers; 31 positions are computed.
"""

from __future__ import annotations

import pytest

from oracle.call import Call, RowCursors
from oracle.family_sizes import FamilySizes
from oracle.geometry import Geometry
from oracle.laws import Violation, make_laws
from oracle.laws.made_call import MadeCall
from oracle.laws.row_laws import RowLaws
from oracle.laws.row_names import ROW_LAW_NAMES
from oracle.observation import Outcome, PoolState, Snapshot
from oracle.ownership import Ownership

ROW = tuple(range(4, 36))


def _snapshot(lost: range) -> Snapshot:
    """The state in which the positions ``lost`` of the row have no peer."""
    mapping = [0] * 4 + list(ROW) + [0] * 32 + [-1]
    for position in lost:
        mapping[ROW[position]] = 0
    pool = PoolState(
        size=64,
        available=32,
        free=list(range(9, 17)),
        staged=[],
        staged_count=0,
        group=None,
        page_pile=[],
    )
    return Snapshot(
        full=pool,
        swa=pool,
        mapping=mapping,
        swa_set_pile=[],
        swa_page_pile=[],
        queries={},
        new_pages=[],
    )


def judge(
    lost: range,
    cursor: int | None,
    *,
    gone: range = range(0),
    passed: RowCursors | None = None,
    own: RowCursors | None = None,
    window: int = 8,
    sharing: bool = True,
    retain_floor: int | None = None,
    error: str = "",
) -> Violation | None:
    """Judge an eviction before which ``gone`` had no peers and after which ``lost`` has none either; ``own``: as in the books."""
    cursors = passed or RowCursors(evicted=gone.stop, allocated=32)
    geometry = Geometry(
        family="hybrid-rows", size=64, size_swa=64, page_size=4, sizes=FamilySizes(window=window)
    )
    laws, books = make_laws(geometry), Ownership(4)
    request = books.open_request()
    books.grow(request, ROW, peered=ROW)
    request.cursors = own or cursors
    after = _snapshot(gone)
    for position in lost:
        assert after.mapping is not None
        after.mapping[ROW[position]] = 0
    call = Call(
        method="evict_out_of_window",
        slots=ROW,
        cursors=cursors,
        pre_len=31,
        window=window,
        sharing=sharing,
        retain_floor=retain_floor,
    )
    outcome = Outcome(resolved=() if cursor is None else (cursor,), error=error)
    breaches = ("stale-cursor",) if error else ()
    return laws.judge_call(MadeCall(call, breaches, outcome, _snapshot(gone), after), books)


def broken(found: Violation | None, law: str) -> Violation:
    assert found is not None, f"{law} did not fire"
    assert (found.law, found.pool) == (law, "swa"), found
    assert law in ROW_LAW_NAMES
    return found


def test_the_family_has_these_laws() -> None:
    geometry = Geometry(
        family="hybrid-rows", size=64, size_swa=64, page_size=4, sizes=FamilySizes(window=1)
    )
    assert isinstance(make_laws(geometry), RowLaws)


@pytest.mark.parametrize("cursor", [20, 24, 32])
def test_an_eviction_up_to_the_window_is_right_wherever_the_cursor_comes_to_stand_above(
    cursor: int,
) -> None:
    assert judge(range(20), cursor) is None


def test_an_eviction_that_frees_nothing_is_right() -> None:
    assert judge(range(0), 0) is None
    assert judge(range(0), 8, gone=range(8)) is None


def test_the_cursor_never_goes_down() -> None:
    found = broken(judge(range(0), 4, gone=range(8)), "cursor-rises")
    assert (found.expected, found.got) == ("an evicted cursor from 8 to 32", "4")


def test_the_cursor_stays_within_the_row() -> None:
    broken(judge(range(0), 36), "cursor-rises")
    assert judge(range(0), 36, passed=RowCursors(evicted=36, allocated=32)) is None


def test_the_cursor_may_end_on_the_rows_last_page_where_a_floor_is_rounded_up() -> None:
    assert judge(range(0), 32, passed=RowCursors(floor=30, allocated=30)) is None


def test_the_cursor_is_above_all_that_has_lost_its_peer() -> None:
    found = broken(judge(range(8), 4), "cursor-rises")
    assert found.expected == "an evicted cursor from 8 to 32"


def test_an_eviction_says_where_the_cursor_is() -> None:
    found = broken(judge(range(8), None), "cursor-rises")
    assert found.got == "none"


def test_nothing_below_the_floor_loses_its_peer() -> None:
    cursors = RowCursors(floor=6, allocated=32)
    found = broken(judge(range(4, 20), 20, passed=cursors), "evicted-above-floor")
    assert found.got == "position 4 (FULL slot 8) has lost it"
    assert judge(range(8, 20), 20, passed=cursors) is None


def test_nothing_below_the_protected_length_loses_its_peer() -> None:
    cursors = RowCursors(protected=8, allocated=32)
    broken(judge(range(4, 20), 20, passed=cursors), "evicted-above-floor")
    assert judge(range(8, 20), 20, passed=cursors) is None


def test_the_floor_is_the_requests_own_whatever_was_passed() -> None:
    passed, own = RowCursors(allocated=32), RowCursors(floor=8, allocated=32)
    broken(judge(range(20), 20, passed=passed, own=own), "evicted-above-floor")


def test_the_window_keeps_its_peers() -> None:
    assert judge(range(23), 24, sharing=False) is None
    found = broken(judge(range(24), 24, sharing=False), "window-kept")
    assert found.got == "position 23 (FULL slot 27) has lost it"


def test_with_prefix_sharing_a_page_is_kept_where_the_window_is_smaller() -> None:
    assert judge(range(28), 28, window=1, sharing=False) is None
    broken(judge(range(28), 28, window=1), "window-kept")
    assert judge(range(27), 28, window=1) is None


def test_what_is_retained_keeps_its_peers() -> None:
    broken(judge(range(20), 20, retain_floor=16), "window-kept")
    assert judge(range(16), 16, retain_floor=16) is None
    assert judge(range(20), 20, retain_floor=16, sharing=False) is None


def test_an_eviction_that_raised_is_not_looked_at() -> None:
    assert judge(range(24), 4, gone=range(8), error="AssertionError") is None
