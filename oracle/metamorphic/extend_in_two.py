"""A row that grows by n grows as by k and then by n - k, bit for bit (contract_paged_swa §4, §5.3, §6.2).

The output fills the open page, then takes whole pages in the order of the free list, so where the growth is cut does not matter. What
n slots were granted to, k and n - k are granted to as well. Only without ``need_sort``: a merge is triggered by a bound that
depends on the cut (§5.3 step 1), and reorders the list.

Further families: a ring grows its FULL side (§6.2); a device below grows by the same lengths, or by a quarter of them (§7.1, §7.2);
pages that come from the classes in turn go on with the next class, cut between two pages (§9). Over one buffer the ids come from
the head of the list (contract_unified §5), so they are the same, and where their pages are is left open; not with a middle band, in
which n pages may find room where k and then n - k find none (contract_unified §6).
"""

from __future__ import annotations

from msgspec.structs import replace

from oracle.caller import LARGEST_AMOUNT_PAGES
from oracle.comparison import Difference, compare_values
from oracle.geometry import UNIFIED_FAMILIES, Geometry
from oracle.metamorphic.relation import Relation, same_sets, same_state
from oracle.metamorphic.running import Run
from oracle.operations import GROWING, Base, Extend, Part, RotatedExtend
from oracle.trace import Trace


def _ends_with(operation: Base, geometry: Geometry) -> bool:
    grows = isinstance(operation, Extend | RotatedExtend) and len(operation.parts) == 1
    return grows and not geometry.need_sort


def _other(trace: Trace, first: Run) -> Trace | None:
    """The growth cut where the length of the trace says, so that many cuts are seen."""
    operation = trace.operations[-1]
    records = first.records_from(len(trace.operations) - 1)
    if len(records) != 1 or not isinstance(operation, Extend | RotatedExtend):
        return None
    amount = len(records[0].got.value or ())
    size = trace.geometry.page_size
    step = size if isinstance(operation, RotatedExtend) else 1
    cuts = (amount - 1) // step
    if not cuts >= 1 or amount > LARGEST_AMOUNT_PAGES * size:
        return None
    cut = step * (1 + 7 * len(trace.operations) % cuts)
    grown = _grown(operation, cut), _grown(operation, amount - cut, again=True)
    return replace(trace, operations=(*trace.operations[:-1], *grown))


def _grown(
    operation: Extend | RotatedExtend, amount: int, *, again: bool = False
) -> Extend | RotatedExtend:
    """The same row grows by ``amount`` slots; ``again``: a new request is the newest one by now."""
    request = operation.parts[0].request or int(again)
    if isinstance(operation, Extend):
        return Extend(parts=(Part(request=request, amount=amount),))
    part = replace(operation.parts[0], request=request, amount=amount, unit="tokens")
    return RotatedExtend(parts=(part,))


def _compare(first: Run, second: Run, common: int) -> Difference | None:
    at_once, in_two = _slots(first, common), _slots(second, common)
    unified = first.geometry.family in UNIFIED_FAMILIES
    same = same_sets if unified else same_state
    return compare_values("returned", at_once, in_two) or same(first, second)


def _slots(run: Run, common: int) -> list[int]:
    return [slot for record in run.records_from(common) for slot in record.got.value or ()]


EXTEND_IN_TWO = Relation(
    name="extend-in-two",
    promise="a row that grows by n grows as by k and then by n - k (contract_paged_swa §4, §5.3, §6.2)",
    families=(GROWING | {"page-interleave"}) - {"unified-mamba-swa"},
    ends_with=_ends_with,
    other=_other,
    compare=_compare,
)
