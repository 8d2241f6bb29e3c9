"""From the traces in which a campaign met findings to the few short ones that it reports.

Guarantees that each cause is reduced at least once, that no signature is reported twice, that a trace which does not show its
finding again is reported as it is, and that the work for one cause is bounded. Equal findings in an equal order give
equal reports unless ``hurry`` says that time is up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from campaigns.messages import Reduced
from campaigns.scripting import script_of
from campaigns.wording import describe_call, describe_outcome
from oracle.finding import Finding, signature
from oracle.lockstep import Judging, Session, run_trace
from oracle.operations import kind_of
from oracle.target import Target
from oracle.trace import Trace
from strategies.reducer import reduce_trace
from strategies.reducing.arguments import simpler_structs

MOST_FOR_A_CAUSE = 3
NOT_STEADY = "the trace did not show it a second time, so it is saved as it was met"

Cause = tuple[str, str, str, str]


def _error_before(finding: Finding, session: Session) -> str:
    """What the caller of a short trace did wrong before a finding that is not put down to it; "" when it did nothing."""
    for record in session.records or []:
        if record.breaches and not finding.breach and record.index < finding.index:
            return (
                f"the caller broke {record.breaches[0]!r} at operation {record.index}, before this"
            )
    return ""


class _TimeIsUp(Exception):  # noqa: N818 (no error: it ends a reduction)
    """Time is up."""


@dataclass
class _Known:
    """What was already reduced of one cause: the (operation, method) of each finding and the kinds of each short trace."""

    calls: list[tuple[str, str]] = field(default_factory=list)
    kinds: list[frozenset[str]] = field(default_factory=list)

    def is_new(self, finding: Finding, trace: Trace) -> bool:
        """Whether this trace could become one with other operations than those that are known."""
        if not self.calls:
            return True
        if len(self.calls) >= MOST_FOR_A_CAUSE:
            return False
        present = {kind_of(operation) for operation in trace.operations}
        return (finding.operation, finding.method) not in self.calls or not any(
            kinds <= present for kinds in self.kinds
        )


class Shortener:
    """Takes findings with their traces, and yields each different one with a short trace.

    ``hurry`` is asked before each run of a candidate: once it says True, the shortest trace known so far is taken.
    ``alive`` is told of each run.
    """

    def __init__(
        self,
        target: Target,
        judging: Judging,
        *,
        hurry: Callable[[], bool],
        alive: Callable[[], None],
    ) -> None:
        self._target = target
        self._judging = judging
        self._hurry = hurry
        self._alive = alive
        self._known: dict[Cause, _Known] = {}
        self._signatures: set[str] = set()

    def wants(self, finding: Finding, trace: Trace) -> bool:
        """Whether reducing this finding could tell anything new."""
        return self._known.setdefault(finding.cause, _Known()).is_new(finding, trace)

    def shorten(self, finding: Finding, trace: Trace) -> Iterator[Reduced]:
        """The finding with a short trace; nothing when its signature is already reported."""
        trace = trace_until(trace, finding)
        known = self._known.setdefault(finding.cause, _Known())
        known.calls.append((finding.operation, finding.method))
        again = self._find(trace, finding.cause)
        steady = again is not None
        short, short_finding = trace, finding
        if again is not None:
            short, short_finding = self._reduce(trace, again)
            blamed = self._blame_one_error(short, short_finding)
            if blamed is not None:
                short, short_finding = self._reduce(*blamed)
        known.kinds.append(frozenset(kind_of(operation) for operation in short.operations))
        name = signature(short_finding, short.operations)
        if name in self._signatures:
            return
        self._signatures.add(name)
        session = run_trace(short, [self._target], self._judging, keep_records=True)
        script, no_script = script_of(short, self._target, short_finding, session)
        yield Reduced(
            finding=short_finding,
            trace=short,
            signature=name,
            calls=calls_of(short, session),
            script=script,
            remark="; ".join(
                filter(
                    None,
                    (
                        _error_before(short_finding, session),
                        "" if steady else NOT_STEADY,
                        no_script,
                    ),
                )
            ),
        )

    def _reduce(self, trace: Trace, finding: Finding) -> tuple[Trace, Finding]:
        return reduce_bounded(trace, finding, self._run, hurry=self._hurry, alive=self._alive)

    def _blame_one_error(self, trace: Trace, hazard: Finding) -> tuple[Trace, Finding] | None:
        """A trace whose caller makes one error less and that shows the same hazard, if there is one.

        A hazard is put down to the last error before it, which an earlier one may have caused: a free that waits in a
        group does its harm at the end.
        """
        if hazard.kind != "hazard":
            return None
        session = run_trace(trace, [self._target], self._judging, keep_records=True)
        errors = {error for record in session.records or [] for error in record.breaches}
        if len(errors) < 2:
            return None
        for candidate in (
            *(msgspec.structs.replace(trace, may_break=(error,)) for error in sorted(errors)),
            *_with_plainer_operations(trace),
        ):
            for found in self._run(candidate):
                same = (found.kind, found.quantity) == (hazard.kind, hazard.quantity)
                if same and (candidate.may_break is not None or found.breach != hazard.breach):
                    return trace_until(candidate, found), found
        return None

    def _find(self, trace: Trace, cause: Cause) -> Finding | None:
        return next((found for found in self._run(trace) if found.cause == cause), None)

    def _run(self, trace: Trace) -> Sequence[Finding]:
        return run_trace(trace, [self._target], self._judging).findings


def reduce_bounded(
    trace: Trace,
    finding: Finding,
    run: Callable[[Trace], Sequence[Finding]],
    *,
    hurry: Callable[[], bool],
    alive: Callable[[], None],
) -> tuple[Trace, Finding]:
    """A short trace that shows the finding, and the finding there; the shortest one known when time was up.

    ``run`` gives the findings of a candidate, ``hurry`` and ``alive`` are as in ``Shortener``.
    """
    shortest, shortest_finding = trace, finding

    def run_and_remember(candidate: Trace) -> Sequence[Finding]:
        nonlocal shortest, shortest_finding
        alive()
        if hurry():
            raise _TimeIsUp
        findings = run(candidate)
        same = next((found for found in findings if found.cause == finding.cause), None)
        if same is not None and len(candidate.operations) < len(shortest.operations):
            shortest, shortest_finding = candidate, same
        return findings

    try:
        reduction = reduce_trace(trace, run_and_remember, finding.cause, shown=finding)
    except _TimeIsUp:
        return trace_until(shortest, shortest_finding), shortest_finding
    return reduction.trace, reduction.finding


def calls_of(trace: Trace, session: Session) -> tuple[str, ...]:
    """One line for each call of a session that ran ``trace`` and kept its records, and for each operation without one."""
    lines: list[str] = []
    records = session.records or []
    for index, operation in enumerate(trace.operations[: session.index + 1]):
        made = [record for record in records if record.index == index]
        lines += [
            f"{describe_call(record.call)} -> {describe_outcome(record.call, record.got)}"
            for record in made
        ]
        if not made:
            lines.append(f"({kind_of(operation)}: no call)")
    return tuple(lines)


def _with_plainer_operations(trace: Trace) -> Iterator[Trace]:
    """The trace with one operation plainer."""
    for index, operation in enumerate(trace.operations):
        for plainer in simpler_structs(operation, 8 * trace.geometry.page_size + 1):
            operations = (*trace.operations[:index], plainer, *trace.operations[index + 1 :])
            yield msgspec.structs.replace(trace, operations=operations)


def trace_until(trace: Trace, finding: Finding) -> Trace:
    """The trace without what came after the finding."""
    return msgspec.structs.replace(trace, operations=trace.operations[: finding.index + 1])
