"""Pages that are never needed change no row: a larger pool hands out the same slots (contract_paged_swa §5.1 to §5.4, §6.2).

The free list is consumed from its head and released pages go in front of it, so a pool that was never short ends in the same list with
the spare pages behind. Only for pools of pages without ``need_sort``: a token pool appends what is freed (§4), and what is
staged is merged when the list gets short. Amounts that ask for what is left, and sizes, would mean something else.

In classes of pages each class gets as many (§9), so the fullest one stays the fullest. Not for a pure SWA pool and states, which are
queues of slots too (§6.8, §8), and not over one buffer, whose ids are a queue (contract_unified §3).
"""

from __future__ import annotations

from msgspec.structs import replace

from oracle.comparison import Difference, compare_values
from oracle.geometry import Geometry
from oracle.metamorphic.relation import Relation
from oracle.metamorphic.running import Run
from oracle.operations import TIERED, Base, Extend, Resize, RotatedExtend
from oracle.trace import Trace

SPARE_PAGES = 3
ALWAYS_PAGED = frozenset({"paged", "hisparse", "page-interleave"})
"""The families whose pools are of pages at page size 1 too (§7.1, §9)."""


def _ends_with(operation: Base, geometry: Geometry) -> bool:
    del operation
    pages = geometry.family in ALWAYS_PAGED or geometry.page_size > 1
    return pages and not geometry.need_sort


def _other(trace: Trace, first: Run) -> Trace | None:
    if first.failure_from(0) is not None or any(map(asks_for_sizes, trace.operations)):
        return None
    geometry = trace.geometry
    spare = SPARE_PAGES * geometry.page_size
    larger = replace(
        geometry,
        size=geometry.size + spare,
        size_swa=geometry.size_swa + spare if geometry.size_swa else 0,
    )
    return replace(trace, geometry=larger)


def asks_for_sizes(operation: Base) -> bool:
    """Whether what the operation means depends on how large the pools are."""
    parts = operation.parts if isinstance(operation, Extend | RotatedExtend) else (operation,)
    left = any(getattr(part, "unit", "") == "left" for part in parts)
    return left or isinstance(operation, Resize)


def _compare(first: Run, second: Run, _common: int) -> Difference | None:
    if first.statuses != second.statuses:
        # A caller who looks at what is available first made another choice.
        return None
    for small, large in zip(first.records, second.records, strict=False):
        difference = compare_values("returned", small.got.value, large.got.value)
        if difference is not None:
            return difference
    return compare_values("calls", len(first.records), len(second.records))


SPARE = Relation(
    name="spare-pages",
    promise="pages that are never needed change no row (contract_paged_swa §5.1 to §5.4, §6.2)",
    families=frozenset({"paged", "hybrid-swa", "hybrid-rows", "swa-ring", "page-interleave"})
    | TIERED,
    ends_with=_ends_with,
    other=_other,
    compare=_compare,
)
