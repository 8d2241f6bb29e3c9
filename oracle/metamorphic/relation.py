"""What a relation is: how the second run is made from a trace, and what must be equal after both.

A relation speaks of the **subject** of a trace: its last operation, the last few, or the whole of it. What comes before the
subject is the same in both runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from oracle.comparison import Difference, compare_values
from oracle.geometry import Geometry
from oracle.metamorphic.running import Run
from oracle.observation import PoolState, Snapshot
from oracle.operations import Base, Clear, Drain, GroupBegin, GroupEnd, Resize
from oracle.trace import RelationName, Trace
from oracle.unified_comparison import unified_quantities
from oracle.unified_observation import AnySnapshot, UnifiedSnapshot

FURTHER = ("device_mapping", "device_full_pile", "classes", "class_staged", "prepared")
"""What only some families have of a state."""

Other = Callable[[Trace, Run], Trace | None]
Compare = Callable[[Run, Run, int], Difference | None]
Eligible = Callable[[Base, Geometry], bool]


class Relation(Struct, frozen=True, kw_only=True):
    """One relation. ``name`` is part of signatures and must not change. ``promise``: the sentence that the two runs have to keep, with
    the section of the contract that says it.

    ``ends_with``: whether a trace whose last operation this is has a subject. ``other``: the trace of the second run, None
    where the contract promises nothing (it also gets the first run, of the trace itself). ``compare``: the first thing that is not
    as it must be after both runs, whose operations are equal up to the given number. ``families`` are those that it speaks of.
    """

    name: RelationName
    promise: str
    families: frozenset[str]
    ends_with: Eligible
    other: Other
    compare: Compare


def group_is_open(operations: tuple[Base, ...]) -> bool:
    """Whether a free group is open after ``operations`` of a legal caller."""
    for operation in reversed(operations):
        if isinstance(operation, GroupBegin):
            return True
        if isinstance(operation, GroupEnd | Clear | Resize | Drain):
            return False
    return False


def same_state(first: Run, second: Run, _common: int = 0) -> Difference | None:
    """Both end in the same state, bit for bit."""
    return _first_unequal(_exact(first.state), _exact(second.state))


def same_sets(first: Run, second: Run, _common: int = 0) -> Difference | None:
    """Both end with the same pages free or staged, in whatever order, with the same mapping and the same sizes (§15.13).

    Over one buffer: with the same ids free, the same virtual pages bound in each band, and the same sizes (contract_unified §15, P10);
    where the pages are is left open.
    """
    return _first_unequal(_as_sets(first.state), _as_sets(second.state))


def _first_unequal(
    first: Iterator[tuple[str, Any]], second: Iterator[tuple[str, Any]]
) -> Difference | None:
    for (quantity, left), (_, right) in zip(first, second, strict=True):
        difference = compare_values(quantity, left, right)
        if difference is not None:
            return difference
    return None


def _pools(state: Snapshot) -> Iterator[tuple[str, PoolState]]:
    yield "full", state.full
    if state.swa is not None:
        yield "swa", state.swa
    if state.device is not None:
        yield "device", state.device


def _as_sets(state: AnySnapshot) -> Iterator[tuple[str, Any]]:
    if isinstance(state, UnifiedSnapshot):
        yield from _bound(state)
        return
    for name, pool in _pools(state):
        staged = [page for entry in pool.staged for page in entry]
        yield f"{name}.free or staged", sorted([*pool.free, *staged])
        yield f"{name}.available", pool.available
    if state.classes is not None:
        classes = zip(state.classes, state.class_staged, strict=True)
        yield "classes free or staged", [sorted([*free, *staged]) for free, staged in classes]
    for part in ("prepared", "mapping", "device_mapping"):
        yield part, getattr(state, part)
    yield from sorted(state.queries.items())


def _bound(state: UnifiedSnapshot) -> Iterator[tuple[str, Any]]:
    for name, band in state.bands.items():
        yield f"{name}.free ids", sorted(band.free_ids or ())
        yield f"{name}.bound", [page for page, place in enumerate(band.v2p) if page and place > 0]
        yield f"{name}.live", band.live
    yield from sorted(state.queries.items())


def _exact(state: AnySnapshot) -> Iterator[tuple[str, Any]]:
    if isinstance(state, UnifiedSnapshot):
        for quantity, value, _ in unified_quantities(state, state):
            # The moves are those of the last call, which is another one.
            if quantity != "copies":
                yield quantity, value
        return
    for name, pool in _pools(state):
        for part in ("free", "staged", "group", "page_pile", "staged_count", "available"):
            yield f"{name}.{part}", getattr(pool, part)
    for part in ("mapping", "swa_set_pile", "swa_page_pile", "full_only_pile", "group", *FURTHER):
        yield part, getattr(state, part)
    yield from sorted(state.queries.items())
