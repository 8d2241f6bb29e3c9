"""The laws of rows with cursors, beside those of the hybrid allocator below them (contract_paged_swa §11, §15.16).

They look at one window eviction: which peers the row lost by it, and which cursor came back. That a released row leaves nothing
behind is said by the laws on pages. Guarantees what ``Laws`` guarantees.
"""

from __future__ import annotations

from oracle.call import Call, RowCursors
from oracle.laws.judgement import Laws
from oracle.laws.made_call import MadeCall
from oracle.laws.row_names import CURSOR_RISES, EVICTED_ABOVE_FLOOR, WINDOW_KEPT
from oracle.laws.violation import Violation
from oracle.observation import Outcome, Snapshot
from oracle.ownership import Ownership


class RowLaws(Laws):
    """The laws for one allocator with the row-level code of its callers on top."""

    def judge_call(self, made: MadeCall[Snapshot], books: Ownership) -> Violation | None:
        """Judge one call right after it was made. ``books`` do not contain its outcome yet."""
        found = super().judge_call(made, books)
        call, outcome = made.call, made.outcome
        if found is not None or call.method != "evict_out_of_window" or outcome.error:
            return found
        lost = _lost_positions(call, made.before, made.after)
        return (
            _judge_floor(call, lost, books)
            or _judge_window(call, lost, books.page_size)
            or _judge_cursor(call, outcome, lost, books.page_size)
        )


def _lost_positions(call: Call, before: Snapshot, after: Snapshot) -> list[int]:
    """The positions of the row whose peers were there before the call and are not any more, in ascending order."""
    old, new = before.mapping or [], after.mapping or []
    length = min(len(old), len(new))
    return [
        position
        for position, slot in enumerate(call.slots)
        if 0 <= slot < length and old[slot] > 0 and new[slot] <= 0
    ]


def _judge_floor(call: Call, lost: list[int], books: Ownership) -> Violation | None:
    """Nothing below the floor or below the protected length loses its peer: as the request has them, whatever was passed."""
    cursors = _own_cursors(call, books)
    low = max(cursors.protected, cursors.floor)
    if not lost or lost[0] >= low:
        return None
    return Violation(
        law=EVICTED_ABOVE_FLOOR,
        pool="swa",
        expected=f"no position below {low} (protected {cursors.protected}, floor {cursors.floor}) loses its peer",
        got=f"position {lost[0]} (FULL slot {call.slots[lost[0]]}) has lost it",
    )


def _judge_window(call: Call, lost: list[int], page_size: int) -> Violation | None:
    """What the next position may read keeps its peer: the window, with prefix sharing at least a page; and what is retained."""
    kept = max(call.window, page_size) if call.sharing else call.window
    first = call.pre_len - kept
    if call.sharing and call.retain_floor is not None:
        first = min(first, call.retain_floor)
    if not lost or lost[-1] < first:
        return None
    return Violation(
        law=WINDOW_KEPT,
        pool="swa",
        expected=f"positions from {max(first, 0)} on keep their peers: {call.pre_len} are computed, the window is {call.window}",
        got=f"position {lost[-1]} (FULL slot {call.slots[lost[-1]]}) has lost it",
    )


def _judge_cursor(
    call: Call, outcome: Outcome, lost: list[int], page_size: int
) -> Violation | None:
    """The cursor goes up only, and no further than the row's pages; what lost its peer is below it."""
    cursors = call.cursors
    low = max([cursors.evicted, *(position + 1 for position in lost[-1:])])
    high = max(cursors.evicted, -(-cursors.allocated // page_size) * page_size)
    if len(outcome.resolved) == 1 and low <= outcome.resolved[0] <= high:
        return None
    return Violation(
        law=CURSOR_RISES,
        pool="swa",
        expected=f"an evicted cursor from {low} to {high}",
        got=f"{outcome.resolved[0]}" if outcome.resolved else "none",
    )


def _own_cursors(call: Call, books: Ownership) -> RowCursors:
    for request in books.requests:
        if tuple(request.slots) == call.slots:
            return request.cursors
    return call.cursors
