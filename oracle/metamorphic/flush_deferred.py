"""To flush what waits in a group is to end the group and to begin another one, bit for bit (contract_unified §9, §15 P9).

"if a group is open and ANY of the listed piles is non-empty: end, then begin (group stays open, empty)"; and the end of a group in
which nothing waits changes nothing. Only pools with states show ``flush_deferred`` to their callers.
"""

from __future__ import annotations

from msgspec.structs import replace

from oracle.geometry import Geometry
from oracle.metamorphic.relation import Relation, group_is_open, same_state
from oracle.metamorphic.running import Run
from oracle.operations import STATEFUL, Base, FlushDeferred, GroupBegin, GroupEnd
from oracle.trace import Trace


def _ends_with(operation: Base, geometry: Geometry) -> bool:
    del geometry
    return isinstance(operation, FlushDeferred)


def _other(trace: Trace, first: Run) -> Trace | None:
    del first
    if not group_is_open(trace.operations):
        return None
    return replace(trace, operations=(*trace.operations[:-1], GroupEnd(), GroupBegin()))


FLUSH_DEFERRED = Relation(
    name="flush-deferred",
    promise="to flush what waits in a group is to end it and to begin another one (contract_unified §9, §15 P9)",
    families=STATEFUL,
    ends_with=_ends_with,
    other=_other,
    compare=same_state,
)
