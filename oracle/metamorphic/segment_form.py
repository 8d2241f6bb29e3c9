"""A segment form frees what the set form of the same slots frees, bit for bit where the contract says so.

* Token: ``free_segment`` and ``free_full_segment`` are ``free`` by default (contract_paged_swa §3), so bit for bit.
* Paged: ``free_full_segment`` "goes through ``free``" (§3), so bit for bit; ``free_segment`` releases representatives in row
  order and ``free`` the sorted pages (§5.5), so bit for bit where the row's pages ascend, else the same set.
* Hybrid at page size 1: ``free_swa`` is "identical to ``free_swa_segment``" (§6.3), and the FULL side is a token allocator, so bit
  for bit. With larger pages: the same set of pages, and the mapping of the same whole pages is cleared.
* Pure SWA and page-interleave: the segment forms are the set forms (§6.8, §9), so bit for bit.
* Rings: as in a paged pool; on the SWA side neither does anything (§6.3).
* HiSparse: "base", so ``free`` (§7.1, §7.2), bit for bit; the SWA side of a logical hybrid allocator as there.
* Over one buffer: "segment form == set form", as sets (contract_unified §15 P10).

Rows with cursors have no set form.

Outside a group, where both forms release at once.
"""

from __future__ import annotations

from msgspec.structs import replace

from oracle.call import Call
from oracle.comparison import Difference
from oracle.geometry import ALL_FAMILIES, UNIFIED_FAMILIES, Geometry
from oracle.metamorphic.relation import (
    Relation,
    group_is_open,
    same_sets,
    same_state,
)
from oracle.metamorphic.running import Run
from oracle.operations import Base, Free, FreeSegment, SegmentMethod, SetMethod
from oracle.trace import Trace

SET_FORMS: dict[SegmentMethod, SetMethod] = {
    "free_segment": "free",
    "free_swa_segment": "free_swa",
    "free_full_segment": "free_full",
}


def _ends_with(operation: Base, geometry: Geometry) -> bool:
    del geometry
    return isinstance(operation, FreeSegment) and not operation.direct


def _other(trace: Trace, first: Run) -> Trace | None:
    call, operation = first.last_call, trace.operations[-1]
    if call is None or group_is_open(trace.operations) or not isinstance(operation, FreeSegment):
        return None
    free = Free(
        method=SET_FORMS[operation.method],
        request=operation.request,
        first=call.start_pos,
        count=len(call.slots) - 1,
        wide=operation.wide,
        overwrite=operation.overwrite,
    )
    return replace(trace, operations=(*trace.operations[:-1], free))


def _compare(first: Run, second: Run, common: int) -> Difference | None:
    segment, as_set = first.calls_from(common), second.calls_from(common)
    if [call.slots for call in segment] != [call.slots for call in as_set]:
        return None
    if is_bit_for_bit(first.geometry, segment[0]):
        return same_state(first, second)
    return same_sets(first, second)


def is_bit_for_bit(geometry: Geometry, call: Call) -> bool:
    """Whether the two forms leave the same state, not only the same sets."""
    family = geometry.family
    if family in ("token", "pure-swa", "page-interleave", "hisparse"):
        return True
    if family == "hisparse-dsv4":
        return call.method != "free_swa_segment"
    if family == "hybrid-swa":
        return geometry.page_size == 1
    if family in UNIFIED_FAMILIES:
        return False
    pages = [slot // geometry.page_size for slot in call.slots]
    through_free = family == "paged" and call.method == "free_full_segment"
    return through_free or pages == sorted(pages)


SEGMENT_FORM = Relation(
    name="segment-form",
    promise="a segment form frees what the set form of the same slots frees (contract_paged_swa §3, §5.5, §6.3)",
    families=frozenset(ALL_FAMILIES) - {"mamba-slots", "hybrid-rows"},
    ends_with=_ends_with,
    other=_other,
    compare=_compare,
)
