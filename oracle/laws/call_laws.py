"""What one call may give back and what a failed one may leave behind (contract_paged_swa rule 1,
§15.9).
"""

from __future__ import annotations

from itertools import chain

from oracle.call import Call
from oracle.laws.violation import (
    FAILED_CALL_CHANGES_NOTHING,
    LEGAL_CALL_RAISED,
    PoolName,
    Violation,
)
from oracle.laws.wording import near
from oracle.observation import Outcome, PoolState, Snapshot

ALLOCATIONS = frozenset(
    {
        "alloc",
        "alloc_extend",
        "alloc_extend_swa_tail",
        "alloc_decode",
        "alloc_logical_only",
        "alloc_cyclic",
    }
)
REFUSALS = ("", "AssertionError", "ValueError")
"""The errors with which an allocation refuses; it refuses without an error too, by returning None.
"""


def judge_error(call: Call, breaches: tuple[str, ...], outcome: Outcome) -> Violation | None:
    """A call whose caller kept the contract raises nothing."""
    if not outcome.error or breaches:
        return None
    said = f": {outcome.message}" if outcome.message else ""
    return Violation(
        law=LEGAL_CALL_RAISED,
        pool="",
        expected=f"{call.method} raises nothing, because the call is legal",
        got=f"{outcome.error}{said}",
    )


def failed(call: Call, outcome: Outcome) -> bool:
    """Whether the call must have changed nothing: a refused allocation, or a call that is not
    implemented.
    """
    if outcome.error == "NotImplementedError":
        return True
    return call.method in ALLOCATIONS and outcome.value is None and outcome.error in REFUSALS


def judge_failed(call: Call, before: Snapshot, after: Snapshot) -> Violation | None:
    """A failed call changes no mapping, pile or size, and its free and staged pages are at most
    merged and sorted.
    """
    if before.mapping != after.mapping:
        return _changed(call, "swa", "the mapping", before.mapping or [], after.mapping or [])
    if before.device_mapping != after.device_mapping:
        old_table, new_table = before.device_mapping or [], after.device_mapping or []
        return _changed(call, "device", "the mapping to the device", old_table, new_table)
    if _composite_piles(before) != _composite_piles(after):
        return _changed_pile(call, "")
    pools: list[tuple[PoolName, PoolState, PoolState]] = [("full", before.full, after.full)]
    if before.swa is not None and after.swa is not None:
        pools.append(("swa", before.swa, after.swa))
    if before.device is not None and after.device is not None:
        pools.append(("device", before.device, after.device))
    for pool, old, new in pools:
        if (old.group, old.page_pile, old.size) != (new.group, new.page_pile, new.size):
            return _changed_pile(call, pool)
        if old.free == new.free and old.staged == new.staged:
            continue
        merged = sorted(chain(old.free, *old.staged))
        if new.free != merged or any(new.staged):
            return _changed(call, pool, "the free list", merged, new.free)
    return None


def _composite_piles(state: Snapshot) -> tuple[list[list[int]] | None, ...]:
    return (
        state.group,
        state.swa_set_pile,
        state.swa_page_pile,
        state.full_only_pile,
        state.device_full_pile,
        None if state.prepared is None else [state.prepared],
    )


def _changed(call: Call, pool: PoolName, what: str, old: list[int], new: list[int]) -> Violation:
    at = next(
        (at for at, (was, now) in enumerate(zip(old, new, strict=False)) if was != now),
        min(len(old), len(new)),
    )
    return Violation(
        law=FAILED_CALL_CHANGES_NOTHING,
        pool=pool,
        expected=f"{what} is as before the failed {call.method}, or merged: {near(old, at)}",
        got=near(new, at) or "nothing",
    )


def _changed_pile(call: Call, pool: PoolName) -> Violation:
    return Violation(
        law=FAILED_CALL_CHANGES_NOTHING,
        pool=pool,
        expected=f"the piles and sizes are as before the failed {call.method}",
        got="they differ",
    )
