"""An eviction in a group frees first what waits there, so it does and says what it does after the group's end
(contract_unified §10, §15 P9 and P15).

"after flush_deferred, evict's verdict does not depend on whether frees were queued or direct". Only for a tree that frees on the bands
themselves: what goes through the composite waits in the group that is still open (§9).
"""

from __future__ import annotations

from msgspec.structs import replace

from oracle.comparison import Difference, compare_values
from oracle.geometry import UNIFIED_FAMILIES, Geometry
from oracle.metamorphic.relation import Relation, group_is_open, same_sets
from oracle.metamorphic.running import Run
from oracle.operations import Base, EvictForAlloc, GroupEnd
from oracle.trace import Trace


def _ends_with(operation: Base, geometry: Geometry) -> bool:
    del geometry
    return isinstance(operation, EvictForAlloc) and operation.tree and operation.direct


def _other(trace: Trace, first: Run) -> Trace | None:
    if first.last_call is None or not group_is_open(trace.operations):
        return None
    return replace(trace, operations=(*trace.operations[:-1], GroupEnd(), trace.operations[-1]))


def _compare(first: Run, second: Run, _common: int) -> Difference | None:
    queued, direct = first.records[-1], second.records[-1]
    if queued.call != direct.call:
        return None
    return (
        compare_values("verdict", queued.got.value, direct.got.value)
        or compare_values("evicted", list(queued.got.evicted), list(direct.got.evicted))
        or same_sets(first, second)
    )


EVICTION_IN_GROUP = Relation(
    name="eviction-in-group",
    promise="an eviction in a group does what it does after the group's end (contract_unified §10, §15 P15)",
    families=frozenset(UNIFIED_FAMILIES),
    ends_with=_ends_with,
    other=_other,
    compare=_compare,
)
