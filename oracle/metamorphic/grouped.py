"""Frees in a group free what they free without one (contract_paged_swa §15.13, contract_unified §15 P10).

"A group of frees ends with the same free set and the same M as running them ungrouped, but a different order; equality of sets
fails if a page is freed twice", which a legal caller does not do. It holds where some frees act at once in a group too (§7, and
contract_unified §9), and where a group defers nothing (§7.1). States have no such group (§8).
"""

from __future__ import annotations

from msgspec.structs import replace

from oracle.geometry import ALL_FAMILIES, Geometry
from oracle.metamorphic.relation import Relation, group_is_open, same_sets
from oracle.metamorphic.running import Run
from oracle.operations import (
    Base,
    Evict,
    EvictNode,
    EvictNodePeers,
    EvictWindow,
    Free,
    FreePages,
    FreeRowSegments,
    FreeSegment,
    FreeSegments,
    GroupBegin,
    GroupEnd,
    Release,
    ReleaseRow,
    RollBack,
)
from oracle.trace import Trace

FREES = (
    Evict, EvictNode, EvictNodePeers, EvictWindow, Free, FreePages, FreeRowSegments, FreeSegment, FreeSegments, Release,
    ReleaseRow, RollBack,
)  # fmt: skip


def _ends_with(operation: Base, geometry: Geometry) -> bool:
    del geometry
    return isinstance(operation, FREES)


def _other(trace: Trace, first: Run) -> Trace | None:
    """The frees at the end of the trace, with a group around them."""
    del first
    start = len(trace.operations)
    while start and isinstance(trace.operations[start - 1], FREES):
        start -= 1
    before, frees = trace.operations[:start], trace.operations[start:]
    if not frees or group_is_open(before):
        return None
    return replace(trace, operations=(*before, GroupBegin(), *frees, GroupEnd()))


GROUPED = Relation(
    name="grouped",
    promise="frees in a group free what they free without one (contract_paged_swa §15.13)",
    families=frozenset(ALL_FAMILIES) - {"mamba-slots"},
    ends_with=_ends_with,
    other=_other,
    compare=same_sets,
)
