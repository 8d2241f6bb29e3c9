"""States that were taken out in advance: allocated, held by nobody, and handed out once each (contract_unified §10).

Which they are is read from the allocator's own state, and judged by what was free before, by what the caller holds, and by
whether it has begun a group at all. What an end or a clear has to give back is missed by the laws about what is bound.
"""

from __future__ import annotations

from oracle.call import Call
from oracle.laws.unified_names import PREPARED_STATES
from oracle.laws.unified_returned import judge_pages
from oracle.laws.violation import Violation
from oracle.observation import Outcome
from oracle.ownership import Ownership
from oracle.unified_observation import UnifiedSnapshot

REPLACING = frozenset({"alloc_group_begin", "alloc_group_end", "clear"})
"""The calls after which other states are prepared, or none. Whether a call that raised did so is not judged."""


def prepared_of(state: UnifiedSnapshot) -> list[int]:
    """The prepared states in order, none where nothing is prepared."""
    return state.prepared or []


def prepares_nothing(call: Call, outcome: Outcome, after: UnifiedSnapshot) -> bool:
    """Whether the call was a begin that was refused, or wanted no states."""
    return call.method == "alloc_group_begin" and not outcome.error and after.prepared is None


def judge_prepared_call(
    call: Call, outcome: Outcome, before: UnifiedSnapshot, after: UnifiedSnapshot, books: Ownership
) -> Violation | None:
    """A begin takes out free states, as many as wanted; an end and a clear leave none; a single allocation hands one out, and
    that one is gone from them; no other call touches them.
    """
    left = prepared_of(before)
    if call.method in REPLACING:
        return None if outcome.error else _judge_replaced(call, before, after, books)
    single = call.method == "alloc" and call.pool == "state" and call.need == 1
    if single and left and outcome.value:
        state = outcome.value[0]
        if state not in left:
            return _broken(f"one of the prepared states {left} is handed out", str(state))
        left = [other for other in left if other != state]
    if prepared_of(after) != left:
        return _broken(f"{left} are prepared after {call.method}", str(prepared_of(after)))
    return None


def judge_prepared_state(after: UnifiedSnapshot, books: Ownership) -> Violation | None:
    """States are prepared in a group only; each is bound, and neither prepared twice nor held."""
    prepared = prepared_of(after)
    if not prepared:
        return None
    if not books.preparing:
        return _broken("no state is prepared outside an alloc group", f"{prepared} are")
    if len(set(prepared)) < len(prepared):
        return _broken("a state is prepared once", str(prepared))
    for state in prepared:
        if state in books.states:
            return _broken(f"state {state}, which the caller holds, is not prepared", "it is")
        v2p = after.bands["state"].v2p
        place = v2p[state] if 0 <= state < len(v2p) else -1
        if place <= 0:
            return _broken(f"virtual page {state}, which is prepared, is bound", str(place))
    return None


def _judge_replaced(
    call: Call, before: UnifiedSnapshot, after: UnifiedSnapshot, books: Ownership
) -> Violation | None:
    if call.method != "alloc_group_begin":
        if after.prepared:
            expected = f"nothing is prepared after {call.method}"
            return _broken(expected, f"{after.prepared} are")
        return None
    if after.prepared is None:
        return None
    free = set(before.bands["state"].free_ids or ()) - set(books.states)
    found = judge_pages("state", tuple(after.prepared), max(0, call.need), 1, free)
    return None if found is None else _broken(found.expected, found.got)


def _broken(expected: str, got: str) -> Violation:
    return Violation(PREPARED_STATES, "state", expected, got)
