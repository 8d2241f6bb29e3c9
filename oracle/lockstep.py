"""The judge: runs operations on the prediction and on one or more targets, step by step, and returns findings.

Guarantees that the first finding of a run is the first call after which anything differed from the prediction or a law
was broken. A run ends at the first finding that is no hazard; after a hazard it goes on with the prediction alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import ClassVar, Literal

from msgspec import Struct
from msgspec.structs import replace

from oracle.call import Call
from oracle.caller import Caller, Plan, Planned
from oracle.comparison import Difference, compare_outcomes, compare_snapshots
from oracle.contract import Contract
from oracle.cost_judgement import CostJudgement
from oracle.errors import UsageError
from oracle.finding import Finding, FindingKind
from oracle.geometry import Geometry, Mode
from oracle.laws import Violation, make_laws
from oracle.laws.made_call import MadeCall
from oracle.observation import Outcome, Snapshot
from oracle.operations import Base, kind_of
from oracle.prediction import Prediction, make_prediction
from oracle.quoting import quote
from oracle.target import Target
from oracle.trace import Callers, Trace
from oracle.unified_observation import AnySnapshot

Status = Literal["done", "skipped", "stopped"]


class Judging(Struct, frozen=True, kw_only=True):
    """What the judge looks at: the prediction, the laws, or both."""

    prediction: bool = True
    laws: bool = True


class CallRecord(Struct, frozen=True):
    """One call that was made: the operation it belongs to, its breaches, what was predicted and what came back."""

    index: int
    call: Call
    breaches: tuple[str, ...]
    expected: Outcome | None
    got: Outcome


class Seconds(Struct):
    """Where the time of a run went: inside the targets, the prediction, the laws, and comparing."""

    target: float = 0.0
    prediction: float = 0.0
    laws: float = 0.0
    comparison: float = 0.0


class _Lane:
    """One target of a run with the ledger that judges it and its last state."""

    def __init__(self, target: Target, geometry: Geometry, mode: Mode) -> None:
        self.target = target
        target.reset(geometry, mode)
        self.laws = make_laws(geometry)
        self.last = target.snapshot()


class Session:
    """One run: a caller, the prediction, and the targets, all fresh.

    ``findings`` grows as operations are stepped; ``finished`` is set when nothing more can be judged (a finding that is no
    hazard, or a call that the contract leaves undefined, which ``undefined`` then explains). Raises ``UsageError`` when a target does not have the family
    or, with several targets, when their contracts differ.
    """

    journal: ClassVar[Callable[[Session, Base], None] | None] = None
    """Told each operation before it runs, so that what ran is known even when the process dies of it."""

    def __init__(
        self,
        targets: Sequence[Target],
        geometry: Geometry,
        mode: Mode | None = None,
        callers: Callers = "mixed",
        judging: Judging | None = None,
        *,
        may_break: tuple[str, ...] | None = None,
        keep_records: bool = False,
    ) -> None:
        geometry.check()
        self.geometry = geometry
        self.mode = mode or Mode()
        self.judging = judging or Judging()
        self.contract = _common_contract(targets, geometry)
        allowed = () if callers == "legal" else may_break
        self.caller = Caller(
            geometry,
            self.contract,
            may_break=None if allowed is None else frozenset(allowed),
        )
        self.findings: list[Finding] = []
        self.finished = False
        self.undefined = ""
        self.steps = 0
        self.index = -1
        self.seconds = Seconds()
        self.records: list[CallRecord] | None = [] if keep_records else None
        self._costs = CostJudgement(geometry, self.mode)
        self._lanes = [_Lane(target, geometry, self.mode) for target in targets]
        self.caller.read_sizes(self._lanes[0].last.queries)
        self._reference: Prediction | None = None
        if self.judging.prediction:
            self._reference = make_prediction(geometry, self.mode, self.contract)
            self._compare_first()
        self._trusted = True
        """The caller's books still describe the target: nothing said aloud changed it, no hazard was found."""
        self._breach = ""
        """The precondition that the caller broke last, in a call that was not refused."""

    def step(self, operation: Base) -> Status:
        """Judge one operation. ``skipped``: it made no call; ``stopped``: the run is finished."""
        self.index += 1
        if self.finished:
            return "stopped"
        if Session.journal is not None:
            Session.journal(self, operation)
        status = self._perform(operation)
        self.caller.read_sizes(self._lanes[0].last.queries)
        return status

    def _perform(self, operation: Base) -> Status:
        plan = self.caller.plan(operation)
        made = False
        planned = next(plan, None)
        while planned is not None and self.caller.may_call(planned):
            made = True
            outcome = self._judge_call(planned, operation)
            if outcome is None:
                return "stopped"
            planned = _next_call(plan, outcome)
            if self.undefined:
                break
        plan.close()
        if self.undefined:
            self._end_undefined(operation)
        elif made:
            self._judge_state(operation)
        return "done" if made else "skipped"

    def _judge_call(self, planned: Planned, operation: Base) -> Outcome | None:
        """Make the call everywhere and judge it; None when the run is finished."""
        call = planned.call
        self.steps += 1
        start = perf_counter()
        expected = self._reference.apply(call) if self._reference else None
        state = self._reference.snapshot() if self._reference else None
        self.seconds.prediction += perf_counter() - start
        self._costs.follow(planned, self._lanes[0].last.queries)
        outcome: Outcome | None = None
        for lane in self._lanes:
            start = perf_counter()
            got = _with_short_message(lane.target.apply(call))
            after = lane.target.snapshot()
            self.seconds.target += perf_counter() - start
            if self.records is not None:
                self.records.append(CallRecord(self.index, call, planned.breaches, expected, got))
            outcome = outcome or got
            if self._reference is not None and self._reference.undefined:
                self.undefined = self._reference.undefined
                expected = state = None
            self._judge_lane(lane, planned, operation, expected, state, got, after)
            if not self.finished:
                self._judge_costs(lane, call, operation, got)
            if self.finished:
                return None
        return outcome

    def _judge_lane(
        self,
        lane: _Lane,
        planned: Planned,
        operation: Base,
        expected: Outcome | None,
        state: AnySnapshot | None,
        got: Outcome,
        after: AnySnapshot,
    ) -> None:
        before, lane.last = lane.last, after
        if isinstance(after, Snapshot) and after.overwritten:
            damage = Difference(
                after.overwritten[0],
                "nothing is written outside a buffer",
                f"writes {', '.join(after.overwritten)}",
            )
            breach = planned.breaches[0] if planned.breaches else ""
            self._report(lane, "memory", damage, planned.call, operation, breach)
            return
        start = perf_counter()
        difference = None
        if expected is not None and state is not None:
            difference = compare_outcomes(expected, got) or compare_snapshots(state, after)
        self.seconds.comparison += perf_counter() - start
        explained = self.undefined or (expected is None and planned.breaches)
        crashed = got.error.startswith("crash:") and not explained
        if difference is not None or crashed:
            kind: FindingKind = "divergence"
            if crashed:
                kind = "crash"
                difference = Difference(got.error, "no such exception", got.message)
            elif difference is not None and difference.signal:
                kind = "signal"
            assert difference is not None
            breach = planned.breaches[0] if planned.breaches else ""
            self._report(lane, kind, difference, planned.call, operation, breach)
            return
        if not (self.judging.laws and self._trusted):
            return
        if planned.breaches and not (got.error and before == after):
            self._breach = planned.breaches[0]
        if (self._breach or self.undefined) and (got.error or got.counted):
            self._trusted = before == after
            return
        start = perf_counter()
        made = MadeCall(planned.call, planned.breaches, got, before, after)
        violation = lane.laws.judge_call(made, self.caller.books)
        self.seconds.laws += perf_counter() - start
        self._report_violation(lane, violation, planned.call, operation)

    def _judge_costs(self, lane: _Lane, call: Call, operation: Base, got: Outcome) -> None:
        judged = self._costs.judge(call, got)
        if judged is not None:
            kind, difference = judged
            self._report(lane, kind, difference, call, operation, "")

    def _end_undefined(self, operation: Base) -> None:
        """The contract leaves the last call open, so only the laws judge it, and nothing after it is judged."""
        self._judge_state(operation)
        self.finished = True

    def _judge_state(self, operation: Base) -> None:
        if not (self.judging.laws and self._trusted) or self.finished:
            return
        start = perf_counter()
        for lane in self._lanes:
            violation = lane.laws.judge_state(lane.last, self.caller.books)
            if violation is not None:
                self._report_violation(lane, violation, None, operation)
                break
        self.seconds.laws += perf_counter() - start

    def _report_violation(
        self, lane: _Lane, violation: Violation | None, call: Call | None, operation: Base
    ) -> None:
        if violation is None:
            return
        quantity = f"{violation.pool}.{violation.law}" if violation.pool else violation.law
        difference = Difference(quantity, violation.expected, violation.got)
        if self._breach:
            self._trusted = False
        kind: FindingKind = "hazard" if self._breach else "law"
        self._report(lane, kind, difference, call, operation, self._breach)

    def _report(
        self,
        lane: _Lane,
        kind: FindingKind,
        difference: Difference,
        call: Call | None,
        operation: Base,
        breach: str,
    ) -> None:
        self.findings.append(
            Finding(
                family=self.geometry.family,
                kind=kind,
                quantity=difference.quantity,
                breach=breach,
                index=self.index,
                operation=kind_of(operation),
                method=call.method if call is not None else "state",
                expected=difference.expected,
                got=difference.got,
                target=lane.target.name,
                versions=lane.target.versions,
            )
        )
        self.finished = self.finished or kind != "hazard"

    def _compare_first(self) -> None:
        assert self._reference is not None
        state = self._reference.snapshot()
        for lane in self._lanes:
            difference = compare_snapshots(state, lane.last)
            if difference is not None:
                self._report(lane, "divergence", difference, None, Base(), "")


def run_trace(
    trace: Trace,
    targets: Sequence[Target],
    judging: Judging | None = None,
    *,
    keep_records: bool = False,
) -> Session:
    """Run a whole trace; the session holds the findings, that of the trace's relation last. Raises ``UsageError`` as ``Session`` does."""
    session = Session(
        targets,
        trace.geometry,
        trace.mode,
        trace.callers,
        judging,
        may_break=trace.may_break,
        keep_records=keep_records,
    )
    for operation in trace.operations:
        if session.finished:
            break
        session.step(operation)
    session.findings += relation_findings(trace, targets)
    return session


def relation_findings(trace: Trace, targets: Sequence[Target]) -> list[Finding]:
    """What each target's two runs say of the relation that the trace names, if it names one."""
    # Relations are judged by sessions of their own.
    from oracle.metamorphic import judge_relation

    found = [judge_relation(trace, target) for target in targets] if trace.relation else []
    return [finding for finding in found if finding is not None]


def _next_call(plan: Plan, outcome: Outcome) -> Planned | None:
    """The plan's next call, None at its end. Only the plan's own end counts: any other StopIteration is a fault of ours."""
    try:
        return plan.send(outcome)
    except StopIteration:
        return None


def _with_short_message(outcome: Outcome) -> Outcome:
    if not outcome.message:
        return outcome
    return replace(outcome, message=quote(outcome.message))


def _common_contract(targets: Sequence[Target], geometry: Geometry) -> Contract:
    if not targets:
        raise UsageError("a run needs at least one target")
    contracts: list[Contract] = []
    for target in targets:
        contract = target.contract(geometry.family)
        if contract is None:
            raise UsageError(f"{target.name} does not have the {geometry.family} family")
        if contract.power_of_two_pages and geometry.page_size & (geometry.page_size - 1):
            raise UsageError(
                f"{target.name} takes page sizes that are powers of two, not {geometry.page_size}"
            )
        contracts.append(contract)
    if any(contract != contracts[0] for contract in contracts):
        names = ", ".join(target.name for target in targets)
        raise UsageError(f"{names} follow different contracts, so they cannot run in lockstep")
    return contracts[0]
