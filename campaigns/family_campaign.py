"""One family of one target, fuzzed against its share of the budget, inside a child process.

Guarantees that a finding is told as it is met, before its trace is reduced, and that with a number of examples (and no
interruption) equal jobs tell equal things but for times.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from time import monotonic

from hypothesis.errors import Flaky

from campaigns.budget import EXAMPLES_A_ROUND, STEPS_AN_EXAMPLE, seed_of
from campaigns.known_replay import entry_for
from campaigns.messages import (
    Discovered,
    Event,
    FamilyEnded,
    FuzzJob,
    KnownMet,
    Progressed,
    Tally,
)
from campaigns.shortening import Shortener
from oracle.finding import Finding
from oracle.geometry import Family
from oracle.lockstep import Judging, Session
from oracle.metamorphic import judge_relation, related_traces
from oracle.target import Target
from oracle.trace import Trace
from strategies.explore import explore

SECONDS_BETWEEN_SIGNS = 0.25
SECONDS_OF_GRACE = 10.0
"""How long a campaign still reduces after its time is up or it was interrupted."""


class FamilyCampaign:
    """The campaign of ``family``: ``examples`` traces, or as many as fit into ``seconds``, until ``interrupted()``."""

    def __init__(
        self,
        job: FuzzJob,
        target: Target,
        family: Family,
        *,
        seconds: float | None,
        examples: int | None,
        tell: Callable[[Event], None],
        interrupted: Callable[[], bool],
    ) -> None:
        self._job = job
        self._target = target
        self._family = family
        self._seconds = seconds
        self._examples = examples
        self._tell = tell
        self._interrupted = interrupted
        self._judging = Judging(prediction=not job.laws_only)
        self._tally = Tally()
        self._met: list[tuple[Finding, Trace]] = []
        self._told = 0.0
        self._end = monotonic() + (seconds if seconds is not None else float("inf"))
        self._late = float("inf")
        self._shortener = Shortener(
            target, self._judging, hurry=self._must_hurry, alive=self._show_life
        )

    def run(self) -> None:
        """Explore in rounds, reducing after each what it met; tells everything that it finds."""
        number = 0
        again = (self._job.attempt,) if self._job.attempt else ()
        while not self._is_over() and (examples := self._examples_of_round()):
            before = self._tally.traces
            start = monotonic()
            # A target that answers differently the second time ends the round, not the campaign.
            with suppress(Flaky):
                self._explore(examples, seed_of(self._job.seed, (self._family, number, *again)))
            self._tally.seconds += monotonic() - start
            self._shorten_met()
            number += 1
            if self._tally.traces == before:
                break
        self._tell(FamilyEnded(self._family, self._tally))

    def _examples_of_round(self) -> int:
        if self._examples is None:
            return EXAMPLES_A_ROUND
        return min(EXAMPLES_A_ROUND, self._examples - self._tally.traces)

    def _explore(self, examples: int, seed: int) -> None:
        explore(
            [self._target],
            self._family,
            callers=self._job.callers,
            level=self._job.level,
            debug=self._job.debug,
            examples=examples,
            steps=STEPS_AN_EXAMPLE,
            seed=seed,
            judging=self._judging,
            on_example=self._look_at,
            stop=self._is_over,
        )

    def _look_at(self, trace: Trace, session: Session) -> None:
        self._tally.traces += 1
        self._tally.steps += session.steps
        self._tally.target_seconds += session.seconds.target
        for finding in session.findings:
            self._meet(finding, trace)
        if self._job.metamorphic and not session.findings:
            self._judge_relations(trace, session)
        self._show_life()

    def _judge_relations(self, trace: Trace, session: Session) -> None:
        for related in related_traces(trace, session.records or ()):
            finding = judge_relation(related, self._target)
            if finding is not None:
                self._meet(finding, related)

    def _meet(self, finding: Finding, trace: Trace) -> None:
        entry = entry_for(self._job.known, finding)
        if entry is not None:
            self._tell(KnownMet(entry.id))
            return
        causes = [met.cause for met, _ in self._met]
        if finding.cause not in causes and self._shortener.wants(finding, trace):
            self._met.append((finding, trace))
            self._tell(Discovered(finding, trace))

    def _shorten_met(self) -> None:
        for finding, trace in self._met:
            for reduced in self._shortener.shorten(finding, trace):
                self._tell(reduced)
        self._met.clear()

    def _show_life(self) -> None:
        now = monotonic()
        if now - self._told >= SECONDS_BETWEEN_SIGNS:
            self._told = now
            self._tell(Progressed(self._family, self._tally))

    def _is_over(self) -> bool:
        return monotonic() >= self._end or self._interrupted()

    def _must_hurry(self) -> bool:
        if not self._is_over():
            return False
        if self._late == float("inf"):
            self._late = monotonic() + SECONDS_OF_GRACE
        return monotonic() >= self._late
