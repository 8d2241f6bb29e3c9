"""A window that moves in one step evicts what it evicts in two (contract_paged_swa §6.3, §11.2).

``free_swa_segment`` over the pages that left the window releases each of their SWA pages and clears the mapping of each of them;
the cursor only says how many there are (§11.2 step 8). The same set, in another order: a later call's pages are in front (§5.1).
Over one buffer it unbinds each page by itself (contract_unified §5, §9). In a ring neither step does anything.

By cursors (``evict_out_of_window``) a first step whose window ends earlier leaves the cursor where the one step passes it, so both end
at the same cursor (§11.2 steps 4 to 8); not where an interval makes a step wait (step 3).
"""

from __future__ import annotations

from msgspec.structs import replace

from oracle.comparison import Difference, compare_values
from oracle.geometry import Geometry
from oracle.metamorphic.relation import Relation, group_is_open, same_sets
from oracle.metamorphic.running import Run
from oracle.operations import TWO_SIDED, Base, Evict, EvictWindow
from oracle.trace import Trace


def _ends_with(operation: Base, geometry: Geometry) -> bool:
    del geometry
    if isinstance(operation, EvictWindow):
        return not operation.count and not operation.interval
    return isinstance(operation, Evict)


def _other(trace: Trace, first: Run) -> Trace | None:
    """The eviction cut where the length of the trace says, so that many cuts are seen."""
    call, operation = first.last_call, trace.operations[-1]
    if call is None or group_is_open(trace.operations):
        return None
    if isinstance(operation, EvictWindow):
        if call.pre_len < 1:
            return None
        last = call.cursors.committed - 1
        earlier = 1 + 7 * len(trace.operations) % call.pre_len
        window = replace(operation, behind=last - call.pre_len + earlier)
        return replace(trace, operations=(*trace.operations[:-1], window, operation))
    assert isinstance(operation, Evict)
    pages = -(-len(call.slots) // trace.geometry.page_size)
    if pages < 2:
        return None
    cut = 1 + len(trace.operations) % (pages - 1)
    steps = (replace(operation, pages=cut - 1), replace(operation, pages=pages - cut - 1))
    return replace(trace, operations=(*trace.operations[:-1], *steps))


def _compare(first: Run, second: Run, _common: int) -> Difference | None:
    # The cursor after the call, where there is one.
    once, twice = (run.records[-1].got.resolved for run in (first, second))
    return compare_values("resolved", once, twice) or same_sets(first, second)


EVICT_IN_TWO = Relation(
    name="evict-in-two",
    promise="a window that moves in one step evicts what it evicts in two (contract_paged_swa §6.3, §11.2)",
    families=TWO_SIDED,
    ends_with=_ends_with,
    other=_other,
    compare=_compare,
)
