"""Replaying one trace on one target, inside a child process: an event for each operation, then the findings.

Guarantees that every operation of the trace is told, also those after the end of the run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from campaigns.messages import Discovered, Event, Replayed, ReplayJob
from campaigns.wording import describe_call, describe_outcome
from oracle.lockstep import CallRecord, Judging, Session
from oracle.metamorphic import judge_relation, run_both
from oracle.operations import kind_of
from oracle.target import Target
from oracle.trace import Trace

if TYPE_CHECKING:
    from targets.probes.probed_target import ProbedTarget


def replay(job: ReplayJob, target: Target, tell: Callable[[Event], None]) -> None:
    """Run the trace of ``job``. Raises ``UsageError`` when the target cannot run it at all."""
    trace = job.trace
    session = Session(
        [target],
        trace.geometry,
        trace.mode,
        trace.callers,
        Judging(prediction=not job.laws_only),
        may_break=trace.may_break,
        keep_records=True,
    )
    told = _tell_findings(session, 0, job, tell)
    for index, operation in enumerate(trace.operations):
        before, rows = len(session.records or ()), _rows_of(session)
        status: str = session.step(operation)
        records = (session.records or [])[before:]
        lines = tuple(_line(record) for record in records)
        if status == "stopped" and lines:
            status = "done"
        elif status == "skipped" and _rows_of(session) != rows:
            # A fork is the caller's business alone, and so is an insert into the tree.
            status = "no call"
        tell(Replayed(index, kind_of(operation), status, lines))
        told = _tell_findings(session, told, job, tell)
    _replay_relation(trace, target, tell)
    if session.undefined:
        tell(Replayed(len(trace.operations), "end", f"undefined: {session.undefined}"))


def _rows_of(session: Session) -> int:
    books = session.caller.books
    return len(books.requests) + len(books.tree)


def _replay_relation(trace: Trace, target: Target, tell: Callable[[Event], None]) -> None:
    """The second run from where it differs from the first, and the finding if the two do not come to the same."""
    related = run_both(trace, target)
    if related is None:
        if trace.relation:
            reason = f"not made: {trace.relation} promises nothing of this trace here"
            tell(Replayed(len(trace.operations), "second run", reason))
        return
    tell(Replayed(related.common, "second run", f"for {trace.relation}: {_sizes(related.other)}"))
    for index, operation in enumerate(related.other.operations[related.common :], related.common):
        records = [record for record in related.second.records if record.index == index]
        lines = tuple(_line(record) for record in records)
        tell(Replayed(index, kind_of(operation), related.second.statuses[index], lines))
    finding = judge_relation(trace, target)
    if finding is not None:
        tell(Discovered(finding, trace))


def _sizes(trace: Trace) -> str:
    pools = f"{trace.geometry.size} slots"
    return f"{pools}, {trace.geometry.size_swa} SWA slots" if trace.geometry.size_swa else pools


def tell_costs(job: ReplayJob, target: ProbedTarget, tell: Callable[[Event], None]) -> None:
    """Tell what the calls of each method cost, after the replay."""
    from targets.probes.attaching import cost_lines

    lines = cost_lines(target) or ("no call was watched",)
    tell(Replayed(len(job.trace.operations), "costs", "done", lines))


def _tell_findings(
    session: Session, told: int, job: ReplayJob, tell: Callable[[Event], None]
) -> int:
    for finding in session.findings[told:]:
        tell(Discovered(finding, job.trace))
    return len(session.findings)


def _line(record: CallRecord) -> str:
    breaches = f"  (breaks: {', '.join(record.breaches)})" if record.breaches else ""
    return f"{describe_call(record.call)} -> {describe_outcome(record.call, record.got)}{breaches}"
