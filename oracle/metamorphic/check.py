"""Judging a relation: the two runs, and the finding where they are not as the contract says.

Guarantees that nothing is reported where either run shows that the relation does not apply: the caller would have made no call, or the
first run was refused what it asked for. Knows no prediction.
"""

from __future__ import annotations

from msgspec import Struct, UnsetType

from oracle.comparison import Difference
from oracle.finding import Finding
from oracle.metamorphic.alloc_group import ALLOC_GROUP
from oracle.metamorphic.each_side import EACH_SIDE
from oracle.metamorphic.evict_in_two import EVICT_IN_TWO
from oracle.metamorphic.eviction_in_group import EVICTION_IN_GROUP
from oracle.metamorphic.extend_in_two import EXTEND_IN_TWO
from oracle.metamorphic.flush_deferred import FLUSH_DEFERRED
from oracle.metamorphic.grouped import GROUPED
from oracle.metamorphic.relation import Relation
from oracle.metamorphic.running import Run, observe
from oracle.metamorphic.segment_form import SEGMENT_FORM
from oracle.metamorphic.spare_pages import SPARE
from oracle.operations import kind_of
from oracle.target import Target
from oracle.trace import RelationName, Trace

RELATIONS: dict[RelationName, Relation] = {
    relation.name: relation
    for relation in (
        GROUPED,
        SEGMENT_FORM,
        EXTEND_IN_TWO,
        EACH_SIDE,
        EVICT_IN_TWO,
        SPARE,
        ALLOC_GROUP,
        FLUSH_DEFERRED,
        EVICTION_IN_GROUP,
    )
}


class Related(Struct, frozen=True):
    """Two runs: of a trace, and of ``other``, whose operations are the trace's up to ``common``."""

    first: Run
    other: Trace
    second: Run
    common: int


def judge_relation(trace: Trace, target: Target) -> Finding | None:
    """The finding where ``target`` breaks the relation that ``trace`` names; None where it keeps it or it does not apply.

    Raises ``UsageError`` when the target does not have the family or the geometry.
    """
    related = run_both(trace, target)
    if related is None:
        return None
    difference = _difference(RELATIONS[_name_of(trace)], related)
    return None if difference is None else _finding(trace, target, related.first, difference)


def run_both(trace: Trace, target: Target) -> Related | None:
    """Both runs; None where the trace names no relation, or one that promises nothing of it."""
    if isinstance(trace.relation, UnsetType) or not trace.operations:
        return None
    relation = RELATIONS[trace.relation]
    fits = trace.callers == "legal" and trace.family in relation.families
    if not fits or not relation.ends_with(trace.operations[-1], trace.geometry):
        return None
    first = observe(trace, target)
    other = relation.other(trace, first)
    if other is None:
        return None
    return Related(first, other, observe(other, target), _common_start(trace, other))


def _name_of(trace: Trace) -> RelationName:
    assert not isinstance(trace.relation, UnsetType)
    return trace.relation


def _difference(relation: Relation, related: Related) -> Difference | None:
    first, second, common = related.first, related.second, related.common
    if first.failure_from(common) is not None or first.skips_from(common):
        return None
    failure = second.failure_from(common)
    if failure is not None:
        error = failure.got.error or "None (refused)"
        return Difference("outcome", "as in the first run", f"{failure.call.method}: {error}")
    if second.skips_from(common):
        return None
    return relation.compare(first, second, common)


def _common_start(trace: Trace, other: Trace) -> int:
    pairs = zip(trace.operations, other.operations, strict=False)
    return next(
        (index for index, (left, right) in enumerate(pairs) if left != right),
        min(len(trace.operations), len(other.operations)),
    )


def _finding(trace: Trace, target: Target, first: Run, difference: Difference) -> Finding:
    index = len(trace.operations) - 1
    calls = first.calls_from(index)
    return Finding(
        family=trace.family,
        kind="metamorphic",
        quantity=f"{_name_of(trace)}: {difference.quantity}",
        index=index,
        operation=kind_of(trace.operations[index]),
        method=calls[0].method if calls else "state",
        expected=difference.expected,
        got=difference.got,
        target=target.name,
        versions=target.versions,
    )
