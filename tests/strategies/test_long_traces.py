"""Faults in long simulated traces reduce to short ones, within a bound of runs and of operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from planted import LeakyTarget, findings_on

from oracle.call import Call
from oracle.contract import current_contract
from oracle.finding import Finding
from oracle.geometry import Geometry
from oracle.lockstep import run_trace
from oracle.observation import Outcome
from oracle.operations import Alloc, Drain, Release
from oracle.trace import Trace
from strategies.reducer import (
    MOST_OPERATIONS,
    MOST_RUNS,
    MOST_TIMES_THE_TRACE,
    Reduction,
    reduce_trace,
)
from strategies.reducing.long_traces import LONG, MIDDLING
from strategies.serving.dry_run import simulated_trace
from strategies.serving.workload import Workload, serving_geometry
from targets.reference import ReferenceTarget


class Counting:
    """Runs traces on a target and counts the operations in them."""

    def __init__(self, target: ReferenceTarget) -> None:
        self._run = findings_on(target)
        self.operations = 0

    def __call__(self, trace: Trace) -> Sequence[Finding]:
        findings = self._run(trace)
        self.operations += min([len(trace.operations), *(one.index + 1 for one in findings)])
        return findings


def long_day(requests: int = 120) -> Trace:
    geometry = serving_geometry("paged", 16)
    return simulated_trace(geometry, current_contract("paged"), Workload(requests=requests), 3)


def leaks_after_hundreds_of_calls(calls: list[Call]) -> bool:
    """At the first group end after five hundred calls, whatever they were."""
    return len(calls) >= 500 and calls[-1].method == "free_group_end"


def reduced_on(
    leaks: Callable[[list[Call]], bool], trace: Trace, most_runs: int = MOST_RUNS
) -> tuple[Reduction, Counting]:
    target = LeakyTarget(leaks)
    found = run_trace(trace, [target]).findings[0]
    assert found.index > LONG, "the fault was to show late"
    counting = Counting(target)
    reduction = reduce_trace(trace, counting, found.cause, most_runs=most_runs, shown=found)
    return reduction, counting


def late_sequences(trace: Trace) -> list[list[str]]:
    """Three methods in a row that the trace first calls in this order after its first ``LONG`` operations, the latest last."""
    session = run_trace(trace, [ReferenceTarget()], keep_records=True)
    records = session.records or []
    first: dict[tuple[str, ...], int] = {}
    for index in range(2, len(records)):
        methods = tuple(record.call.method for record in records[index - 2 : index + 1])
        first.setdefault(methods, records[index].index)
    late = sorted((index, methods) for methods, index in first.items() if index > LONG)
    return [list(methods) for _, methods in late]


@pytest.mark.parametrize("which", [0, -1])
def test_what_is_rare_in_a_day_gets_as_short_as_it_can(which: int) -> None:
    trace = long_day()
    methods = late_sequences(trace)[which]

    def leaks(calls: list[Call]) -> bool:
        return [call.method for call in calls[-3:]] == methods

    reduction, counting = reduced_on(leaks, trace)
    assert len(reduction.trace.operations) <= 8, reduction.trace.operations
    assert counting.operations <= 10 * len(trace.operations)


def test_what_needs_hundreds_of_calls_stays_within_the_bounds() -> None:
    trace = long_day(60)
    reduction, counting = reduced_on(leaks_after_hundreds_of_calls, trace, most_runs=60)
    assert reduction.runs <= 60
    assert counting.operations <= MOST_OPERATIONS + (MOST_TIMES_THE_TRACE + 1) * len(
        trace.operations
    )
    assert 490 <= len(reduction.trace.operations) <= len(trace.operations)
    assert run_trace(reduction.trace, [LeakyTarget(leaks_after_hundreds_of_calls)]).findings


def test_the_run_that_shows_the_finding_again_is_saved_when_it_is_known() -> None:
    trace = Trace(
        geometry=Geometry(family="token", size=8),
        callers="legal",
        operations=(Alloc(amount=1), Release(), Drain()),
    )
    target = LeakyTarget(lambda calls: bool(calls) and calls[-1].method == "alloc")
    found = run_trace(trace, [target]).findings[0]
    runs: list[Trace] = []

    def run(candidate: Trace) -> Sequence[Finding]:
        runs.append(candidate)
        return run_trace(candidate, [target]).findings

    reduction = reduce_trace(trace, run, found.cause, shown=found)
    assert trace not in runs
    assert len(reduction.trace.operations) == 1


class _RefusesWithNothing(ReferenceTarget):
    """Answers an allocation for which there is no page with no slots instead of None."""

    def apply(self, call: Call) -> Outcome:
        outcome = super().apply(call)
        refused = call.method == "alloc" and outcome.value is None and not outcome.error
        return Outcome(value=(), dtype="int64") if refused else outcome


def test_what_it_took_to_fill_an_allocator_goes_with_its_size() -> None:
    pages = 2 * MIDDLING
    geometry = Geometry(family="paged", size=4 * pages, page_size=4)
    filled = (Alloc(4), Alloc(4), Release()) * pages + (Alloc(4),)
    trace = Trace(geometry=geometry, callers="legal", operations=filled)
    target = _RefusesWithNothing()
    found = run_trace(trace, [target]).findings[0]
    assert MIDDLING < found.index < LONG
    reduction = reduce_trace(trace, findings_on(target), found.cause, shown=found)
    assert len(reduction.trace.operations) <= 2
    assert reduction.trace.geometry.size <= 8
    assert reduction.runs * 4 < len(trace.operations), "operations were deleted one by one"
