"""A free of both sides is a free of the SWA side and then of the FULL side, bit for bit (contract_paged_swa §6.3, §6.4).

"``free(x)``: ``free_swa(x)`` then ``free_full(x)``"; "``free_segment(x, *, start_pos)``: ``free_swa_segment`` then
``FULL.free_segment``", which is also what ``free_full_segment`` ends in. In a group the parts go to the same piles in the same
order. In a ring the SWA side is no-op (§6.3). Over one buffer "``free(T)`` == ``free_swa`` + ``free_full``" as sets, outside a group
(contract_unified §15 P10; in one, ``free_swa`` acts at once, §9). A pure SWA pool would be freed twice (§6.8), and a compressed
HiSparse's ``free`` gives back places on the device as well, which neither side does (§7.2). Where a target frees the FULL side first or resolves a grouped free at the group's end (§13.2), it is the same set only,
and outside a group.
"""

from __future__ import annotations

from msgspec.structs import replace

from oracle.comparison import Difference
from oracle.geometry import UNIFIED_FAMILIES, Geometry
from oracle.metamorphic.relation import Relation, group_is_open, same_sets, same_state
from oracle.metamorphic.running import Run
from oracle.operations import Base, Free, FreeSegment
from oracle.trace import Trace


def _ends_with(operation: Base, geometry: Geometry) -> bool:
    del geometry
    if isinstance(operation, FreeSegment):
        return operation.method == "free_segment" and not operation.direct
    return isinstance(operation, Free) and operation.method == "free"


def _other(trace: Trace, first: Run) -> Trace | None:
    operation = trace.operations[-1]
    if first.last_call is None or (group_is_open(trace.operations) and not _in_order(first)):
        return None
    sides: tuple[Free | FreeSegment, ...] = ()
    if isinstance(operation, FreeSegment):
        sides = (
            replace(operation, method="free_swa_segment"),
            replace(operation, method="free_full_segment"),
        )
    elif isinstance(operation, Free):
        sides = (replace(operation, method="free_swa"), replace(operation, method="free_full"))
    return replace(trace, operations=(*trace.operations[:-1], *sides))


def _in_order(run: Run) -> bool:
    contract = run.contract
    return (
        run.geometry.family not in UNIFIED_FAMILIES
        and contract.free_order == "swa-first"
        and contract.segment_form == "representatives"
        and contract.grouped_free == "resolved-at-call"
    )


def _compare(first: Run, second: Run, _common: int) -> Difference | None:
    compare = same_state if _in_order(first) else same_sets
    return compare(first, second)


EACH_SIDE = Relation(
    name="each-side",
    promise="a free of both sides is a free of the SWA side and then of the FULL side (contract_paged_swa §6.3, §6.4)",
    families=frozenset({"hybrid-swa", "swa-ring", "unified-swa", "unified-mamba-swa"}),
    ends_with=_ends_with,
    other=_other,
    compare=_compare,
)
