"""A row that grows by n grows as by k and then by n - k, bit for bit (contract_paged_swa §4, §5.3, §6.2).

The output fills the open page, then takes whole pages in the order of the free list, so where the growth is cut does not matter. What
n slots were granted to, k and n - k are granted to as well. Only without ``need_sort``: a merge is triggered by a bound that
depends on the cut (§5.3 step 1), and reorders the list.
"""

from __future__ import annotations

from msgspec.structs import replace

from oracle.caller import LARGEST_AMOUNT_PAGES
from oracle.comparison import Difference, compare_values
from oracle.geometry import FAMILIES, Geometry
from oracle.metamorphic.relation import Relation, same_state
from oracle.metamorphic.running import Run
from oracle.operations import Base, Extend, Part
from oracle.trace import Trace


def _ends_with(operation: Base, geometry: Geometry) -> bool:
    return isinstance(operation, Extend) and len(operation.parts) == 1 and not geometry.need_sort


def _other(trace: Trace, first: Run) -> Trace | None:
    """The growth cut where the length of the trace says, so that many cuts are seen."""
    operation = trace.operations[-1]
    records = first.records_from(len(trace.operations) - 1)
    if len(records) != 1 or not isinstance(operation, Extend):
        return None
    amount = len(records[0].got.value or ())
    if not 2 <= amount <= LARGEST_AMOUNT_PAGES * trace.geometry.page_size:
        return None
    request = operation.parts[0].request
    cut = 1 + 7 * len(trace.operations) % (amount - 1)
    grown = (
        Extend(parts=(Part(request=request, amount=cut),)),
        # A new request is the newest one from then on.
        Extend(parts=(Part(request=request or 1, amount=amount - cut),)),
    )
    return replace(trace, operations=(*trace.operations[:-1], *grown))


def _compare(first: Run, second: Run, common: int) -> Difference | None:
    at_once, in_two = _slots(first, common), _slots(second, common)
    return compare_values("returned", at_once, in_two) or same_state(first, second)


def _slots(run: Run, common: int) -> list[int]:
    return [slot for record in run.records_from(common) for slot in record.got.value or ()]


EXTEND_IN_TWO = Relation(
    name="extend-in-two",
    promise="a row that grows by n grows as by k and then by n - k (contract_paged_swa §4, §5.3, §6.2)",
    families=frozenset(FAMILIES),
    ends_with=_ends_with,
    other=_other,
    compare=_compare,
)
