"""A window that moves in one step evicts what it evicts in two (contract_paged_swa §6.3, §11.2).

``free_swa_segment`` over the pages that left the window releases each of their SWA pages and clears the mapping of each of them;
the cursor only says how many there are (§11.2 step 8). The same set, in another order: a later call's pages are in front (§5.1).
"""

from __future__ import annotations

from msgspec.structs import replace

from oracle.geometry import Geometry
from oracle.metamorphic.relation import Relation, group_is_open, same_sets
from oracle.metamorphic.running import Run
from oracle.operations import Base, Evict
from oracle.trace import Trace


def _ends_with(operation: Base, geometry: Geometry) -> bool:
    del geometry
    return isinstance(operation, Evict)


def _other(trace: Trace, first: Run) -> Trace | None:
    """The eviction cut where the length of the trace says, so that many cuts are seen."""
    call, operation = first.last_call, trace.operations[-1]
    if call is None or group_is_open(trace.operations) or not isinstance(operation, Evict):
        return None
    pages = -(-len(call.slots) // trace.geometry.page_size)
    if pages < 2:
        return None
    cut = 1 + len(trace.operations) % (pages - 1)
    steps = (replace(operation, pages=cut - 1), replace(operation, pages=pages - cut - 1))
    return replace(trace, operations=(*trace.operations[:-1], *steps))


EVICT_IN_TWO = Relation(
    name="evict-in-two",
    promise="a window that moves in one step evicts what it evicts in two (contract_paged_swa §6.3, §11.2)",
    families=frozenset({"hybrid-swa"}),
    ends_with=_ends_with,
    other=_other,
    compare=same_sets,
)
