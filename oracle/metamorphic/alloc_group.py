"""States that are taken out in advance are those that would be handed out one by one (contract_paged_swa §8).

``alloc_group_begin(n)`` "pops n"; ``alloc(1)`` then hands out the "next pre-allocated slot", and ``alloc_group_end`` "appends the unused
remainder to the tail". So the same states are handed out in the same order, and the same are free at the end, in another order
where some are left; a shortage "falls back to single allocs".
"""

from __future__ import annotations

from msgspec.structs import replace

from oracle.comparison import Difference, compare_values
from oracle.geometry import Geometry
from oracle.metamorphic.relation import Relation, same_sets
from oracle.metamorphic.running import Run
from oracle.operations import Alloc, AllocGroupBegin, AllocGroupEnd, Base
from oracle.trace import Trace


def _ends_with(operation: Base, geometry: Geometry) -> bool:
    del geometry
    return isinstance(operation, Alloc)


def _other(trace: Trace, first: Run) -> Trace | None:
    """The single allocations at the end of the trace, with states taken out for them; sometimes for one more."""
    start = len(trace.operations)
    while start and _is_single(first, start - 1):
        start -= 1
    before, singles = trace.operations[:start], trace.operations[start:]
    if not singles or first.state_prepared:
        return None
    amount = len(singles) + len(trace.operations) % 2
    # What a caller asks for who takes what is left is another number once some are taken out.
    ones = (Alloc(amount=1),) * len(singles)
    grouped = (AllocGroupBegin(amount=amount), *ones, AllocGroupEnd())
    return replace(trace, operations=(*before, *grouped))


def _is_single(run: Run, index: int) -> bool:
    calls = run.calls_at(index)
    return [(call.method, call.need) for call in calls] == [("alloc", 1)]


def _compare(first: Run, second: Run, common: int) -> Difference | None:
    one_by_one, in_advance = (
        [slot for record in run.records_from(common) for slot in record.got.value or ()]
        for run in (first, second)
    )
    return compare_values("returned", one_by_one, in_advance) or same_sets(first, second)


ALLOC_GROUP = Relation(
    name="alloc-group",
    promise="states taken out in advance are those that would be handed out one by one (contract_paged_swa §8)",
    families=frozenset({"mamba-slots"}),
    ends_with=_ends_with,
    other=_other,
    compare=_compare,
)
