"""Days of simulated traffic on one target, inside a child process.

Guarantees that every operation is a sign of life, that a finding is told as it is met, before its trace is reduced, and that equal
jobs tell equal things but for times unless they are interrupted.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from campaigns.known_replay import entry_for, replay_known
from campaigns.messages import (
    Day,
    Discovered,
    Event,
    FamilyEnded,
    KnownMet,
    Progressed,
    SimulateJob,
    Started,
    Tally,
)
from campaigns.shortening import Shortener, trace_until
from oracle.errors import KvoracleError, UsageError
from oracle.geometry import Family, Mode
from oracle.lockstep import Judging, Session
from oracle.operations import Base
from oracle.target import Target
from oracle.trace import Trace
from strategies.serving.scheduler import serve

SECONDS_BETWEEN_SIGNS = 0.25
SECONDS_OF_GRACE = 10.0
"""How long a trace is still reduced after the campaign was interrupted."""


def serve_days(
    job: SimulateJob,
    target: Target,
    tell: Callable[[Event], None],
    interrupted: Callable[[], bool],
) -> None:
    """Do the job and tell what happens. Raises ``UsageError`` when the target does not have a family or a geometry."""
    families = tuple(dict.fromkeys(day.geometry.family for day in job.days))
    for family in families:
        if target.contract(family) is None:
            raise UsageError(f"{job.where.target} does not have the {family} family")
    tell(Started(target.versions, families))
    if job.replays_known:
        replay_known(job.known, target, tell)
    for family in families:
        days = [day for day in job.days if day.geometry.family == family]
        _FamilyDays(job, target, family, tell, interrupted).run(days)


class _FamilyDays:
    """The days of one family."""

    def __init__(
        self,
        job: SimulateJob,
        target: Target,
        family: Family,
        tell: Callable[[Event], None],
        interrupted: Callable[[], bool],
    ) -> None:
        self._mode = Mode(level=job.level)
        self._known = job.known
        self._target = target
        self._family = family
        self._tell = tell
        self._interrupted = interrupted
        self._judging = Judging(prediction=not job.laws_only)
        self._tally = Tally()
        self._told = 0.0
        self._late = float("inf")
        self._shortener = Shortener(
            target, self._judging, hurry=self._must_hurry, alive=self._show_life
        )

    def run(self, days: list[Day]) -> None:
        """Serve the days one after the other; what a day shows is reduced at its end."""
        journal = Session.journal

        def write_and_live(session: Session, operation: Base) -> None:
            if journal is not None:
                journal(session, operation)
            self._show_life()

        Session.journal = write_and_live
        try:
            for day in days:
                if not self._interrupted():
                    self._serve(day)
        finally:
            Session.journal = journal
        self._tell(FamilyEnded(self._family, self._tally))

    def _serve(self, day: Day) -> None:
        start = monotonic()
        session = Session([self._target], day.geometry, self._mode, "legal", self._judging)
        operations: list[Base] = []
        steps = self._tally.steps
        for operation in serve(session.caller, day.workload, day.seed):
            operations.append(operation)
            session.step(operation)
            self._tally.steps = steps + session.steps
            if session.finished or self._interrupted():
                break
        if session.undefined:
            raise KvoracleError(
                f"the day of {self._family} ended early, because the contract says nothing of what came: {session.undefined}"
            )
        self._tally.traces += not self._interrupted()
        self._tally.target_seconds += session.seconds.target
        self._tally.seconds += monotonic() - start
        trace = Trace(
            geometry=day.geometry,
            mode=self._mode,
            callers="legal",
            operations=tuple(operations),  # type: ignore[arg-type]
        )
        for finding in session.findings:
            entry = entry_for(self._known, finding)
            if entry is not None:
                self._tell(KnownMet(entry.id))
            elif self._shortener.wants(finding, trace):
                until = trace_until(trace, finding)
                self._tell(Discovered(finding, until))
                for reduced in self._shortener.shorten(finding, until):
                    self._tell(reduced)

    def _show_life(self) -> None:
        now = monotonic()
        if now - self._told >= SECONDS_BETWEEN_SIGNS:
            self._told = now
            self._tell(Progressed(self._family, self._tally))

    def _must_hurry(self) -> bool:
        if not self._interrupted():
            return False
        if self._late == float("inf"):
            self._late = monotonic() + SECONDS_OF_GRACE
        return monotonic() >= self._late
