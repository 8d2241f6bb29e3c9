"""Planted faults reduce to short traces that still show the same finding, always in the same way."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from planted import (
    LeakyTarget,
    PlantedTarget,
    findings_on,
    third_allocation_after_a_free,
)

from oracle import operations as op
from oracle.family_sizes import FamilySizes
from oracle.finding import Finding
from oracle.geometry import Geometry, Mode
from oracle.lockstep import Session
from oracle.observation import Outcome
from oracle.trace import Trace
from strategies.explore import explore
from strategies.reducer import Reduction, reduce_trace
from strategies.reducing.search import Search
from targets.reference import ReferenceTarget

Found = tuple[Trace, Finding]


def first_finding(target: ReferenceTarget, seed: int, callers: str = "legal") -> Found:
    found: list[Found] = []

    def look(trace: Trace, session: Session) -> None:
        found.extend((trace, finding) for finding in session.findings)

    explore(
        target,
        "paged",
        callers=callers,  # type: ignore[arg-type]
        examples=200,
        seed=seed,
        on_example=look,
        stop=lambda: bool(found) and len(found[-1][0].operations) > 20,
    )
    return max(found, key=lambda one: len(one[0].operations))


def reduced(target: ReferenceTarget, found: Found, most_runs: int = 600) -> Reduction:
    trace, finding = found
    return reduce_trace(trace, findings_on(target), finding.cause, most_runs=most_runs)


@pytest.mark.parametrize("seed", range(4))
def test_a_fault_of_four_operations_reduces_to_at_most_five(seed: int) -> None:
    target = PlantedTarget(third_allocation_after_a_free)
    trace, finding = first_finding(target, seed)
    reduction = reduced(target, (trace, finding))
    assert len(trace.operations) > 10, "the raw trace was to be a long one"
    assert len(reduction.trace.operations) <= 5, reduction.trace.operations
    assert reduction.runs <= 400
    assert reduction.finding.cause == finding.cause


@pytest.mark.parametrize("seed", range(3))
def test_an_opened_and_closed_group_with_a_free_in_it_is_kept_and_nothing_else(seed: int) -> None:
    def leaks(calls: list[object]) -> bool:
        methods = [call.method for call in calls]  # type: ignore[attr-defined]
        if "free_group_begin" not in methods:
            return False
        inside = methods[methods.index("free_group_begin") :]
        freed = [index for index, name in enumerate(inside) if name.startswith("free_segment")]
        return bool(freed) and "free_group_end" in inside[freed[0] :]

    target = LeakyTarget(leaks)  # type: ignore[arg-type]
    reduction = reduced(target, first_finding(target, seed))
    kinds = sorted(op.kind_of(operation) for operation in reduction.trace.operations)
    assert len(kinds) <= 5, kinds
    assert "group-begin" in kinds


def test_the_geometry_and_the_switches_get_as_plain_as_the_fault_allows() -> None:
    def leaks(calls: list[object]) -> bool:
        return any(call.method.startswith("free") for call in calls)  # type: ignore[attr-defined]

    target = LeakyTarget(leaks)  # type: ignore[arg-type]
    trace = Trace(
        geometry=Geometry(family="paged", size=65, page_size=8, need_sort=True),
        mode=Mode(level="strict", debug=True),
        callers="mixed",
        operations=(
            op.Extend(parts=(op.Part(amount=70, unit="tokens"), op.Part(amount=3))),
            op.Merge(),
            op.FreeSegment(page=3, pages=2, cut=3, wide=True, overwrite=True),
            op.Drain(),
        ),
    )
    cause = findings_on(target)(trace)[0].cause
    result = reduce_trace(trace, findings_on(target), cause).trace
    assert (result.geometry.page_size, result.geometry.need_sort) == (1, False)
    assert result.mode == Mode()
    assert result.callers == "legal"
    assert len(result.operations) <= 2
    freed = result.operations[-1]
    assert not getattr(freed, "wide", False)
    assert not getattr(freed, "overwrite", False)


def test_a_shorter_trace_of_another_fault_is_not_taken() -> None:
    """Any merge shows one cause, an allocation after a release another: the second must stay the second."""

    def run(trace: Trace) -> Sequence[Finding]:
        kinds = [op.kind_of(operation) for operation in trace.operations]
        found = []
        if "merge" in kinds:
            found.append(_finding("merge", kinds.index("merge")))
        if "release" in kinds and "alloc" in kinds[kinds.index("release") :]:
            index = kinds.index("alloc", kinds.index("release"))
            found.append(_finding("release", index))
        return found

    operations = (op.Merge(), op.Alloc(), op.Release(), op.Merge(), op.Alloc(), op.Clear())
    trace = Trace(geometry=Geometry(family="token", size=8), operations=operations)
    reduction = reduce_trace(trace, run, _finding("release", 0).cause)
    kinds = [op.kind_of(operation) for operation in reduction.trace.operations]
    assert kinds == ["release", "alloc"]


def test_traces_that_are_equal_and_not_the_same_are_run_once() -> None:
    """The default parts of an extend and parts that are equal to them are no difference."""
    trace = Trace(geometry=Geometry(family="token", size=8), operations=(op.Extend(),))
    equal = Trace(geometry=trace.geometry, operations=(op.Extend(parts=(op.Part(),)),))
    assert trace == equal
    search = Search(lambda _: [], _finding("x", 0).cause, 10, 10)
    assert not search.accepts(trace)
    assert not search.accepts(equal)
    assert search.runs == 1


def test_operations_that_only_go_together_are_deleted_together() -> None:
    """The fault shows only while groups are balanced, so neither end can go alone."""

    def run(trace: Trace) -> Sequence[Finding]:
        kinds = [op.kind_of(operation) for operation in trace.operations]
        balanced = kinds.count("group-begin") == kinds.count("group-end")
        return [_finding("x", kinds.index("clear"))] if balanced and "clear" in kinds else []

    operations = (op.GroupBegin(), op.Alloc(), op.GroupEnd(), op.Clear())
    trace = Trace(geometry=Geometry(family="token", size=8), operations=operations)
    reduction = reduce_trace(trace, run, _finding("x", 0).cause)
    assert reduction.trace.operations == (op.Clear(),)


def test_equal_traces_reduce_equally_and_no_trace_is_run_twice() -> None:
    target = PlantedTarget(third_allocation_after_a_free)
    found = first_finding(target, seed=1)
    seen: list[Trace] = []

    def run(trace: Trace) -> Sequence[Finding]:
        seen.append(trace)
        return findings_on(target)(trace)

    first = reduce_trace(found[0], run, found[1].cause)
    assert len(seen) == len({str(trace) for trace in seen}) == first.runs
    assert reduced(target, found) == first


def test_the_number_of_runs_is_bounded() -> None:
    target = PlantedTarget(third_allocation_after_a_free)
    found = first_finding(target, seed=1)
    reduction = reduced(target, found, most_runs=20)
    assert reduction.runs == 20
    assert reduction.finding.cause == found[1].cause


def test_a_trace_that_does_not_show_the_cause_is_refused() -> None:
    trace = Trace(geometry=Geometry(family="token", size=8))
    with pytest.raises(ValueError, match="shows no finding of cause"):
        reduce_trace(trace, lambda _: [], ("token", "law", "full.conservation", ""))


def _finding(quantity: str, index: int) -> Finding:
    return Finding(
        family="token",
        kind="law",
        quantity=quantity,
        index=index,
        operation="alloc",
        method="alloc",
        expected="",
        got="",
        target="planted",
    )


def test_pages_stay_spread_over_two_ranks() -> None:
    rotated = Geometry(family="page-interleave", size=8, page_size=2, sizes=FamilySizes(ranks=4))
    target = PlantedTarget(lambda calls, outcome: Outcome(value=(1,)) if calls[1:] else outcome)
    trace = Trace(geometry=rotated, operations=(op.Alloc(3), op.Alloc(3), op.Alloc(3)))
    finding = findings_on(target)(trace)[0]
    reduction = reduce_trace(trace, findings_on(target), finding.cause)
    assert reduction.trace.geometry.family_sizes.ranks == 2
