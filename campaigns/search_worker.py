"""Looking for known bugs on one release, inside a child process: random traces until each bug was met or the examples gave out.

Guarantees that equal jobs look at equal traces, whatever bugs are looked for, and that a bug counts as met only if its reduced
trace still looks like it. Times are processor seconds, so that a busy machine does not look like a slow search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from time import process_time

from hypothesis.errors import Flaky

from campaigns.budget import STEPS_AN_EXAMPLE, seed_of
from campaigns.messages import Event, Met, Progressed, Searched, SearchGroup, SearchJob, Tally
from campaigns.shortening import reduce_bounded, trace_until
from oracle.finding import Finding
from oracle.lockstep import Session, run_trace
from oracle.target import Target
from oracle.trace import Trace
from strategies.explore import explore
from targets.sglang.known_bugs import KnownBug, known_bugs


def search(
    job: SearchJob,
    target: Target,
    tell: Callable[[Event], None],
    interrupted: Callable[[], bool],
) -> None:
    """Do every seed of every group of ``job``; tells a ``Searched`` for each."""
    rows = {bug.id: bug for bug in known_bugs()}
    for group in job.groups:
        for seed in job.seeds:
            if interrupted():
                return
            bugs = [rows[name] for name in group.bugs]
            tell(_Search(job, group, target, bugs, seed, interrupted, tell).run())


class _Search:
    """One seed: the bugs that are still looked for, and what was met."""

    def __init__(
        self,
        job: SearchJob,
        group: SearchGroup,
        target: Target,
        bugs: list[KnownBug],
        seed: int,
        interrupted: Callable[[], bool],
        tell: Callable[[Event], None],
    ) -> None:
        self._job = job
        self._group = group
        self._target = target
        self._wanted = list(bugs)
        self._seed = seed
        self._interrupted = interrupted
        self._tell = tell
        self._told: set[tuple[str, ...]] = set()
        self._result = Searched(group=group, seed=seed)
        self._reducing = 0.0
        self._start = 0.0

    def run(self) -> Searched:
        """Explore until nothing is wanted any more and at least ``job.least`` examples were looked at."""
        self._start = process_time()
        with suppress(Flaky):
            explore(
                [self._target],
                self._group.family,
                callers=self._group.callers,
                level=self._group.level,
                examples=self._job.examples,
                steps=STEPS_AN_EXAMPLE,
                seed=seed_of(self._seed, (self._group.family, self._group.callers)),
                on_example=self._look_at,
                stop=self._is_over,
            )
        self._result.seconds = self._elapsed()
        return self._result

    def _elapsed(self) -> float:
        """Seconds of exploring, the reductions left out."""
        return process_time() - self._start - self._reducing

    def _is_over(self) -> bool:
        enough = self._result.examples >= self._job.least
        return self._interrupted() or (enough and not self._wanted)

    def _look_at(self, trace: Trace, session: Session) -> None:
        self._result.examples += 1
        self._tell(Progressed(self._group.family, Tally()))
        if not session.findings:
            return
        broken = _broken(session)
        for finding in session.findings:
            self._note(finding, trace, broken)
            for bug in [bug for bug in self._wanted if bug.explains(finding, broken)]:
                self._reduce(bug, finding, trace)

    def _note(self, finding: Finding, trace: Trace, broken: set[str]) -> None:
        """Keep the first finding of each look, so that false alarms and what nobody knows come to light."""
        look = (*finding.cause, finding.method)
        if look not in self._told:
            self._told.add(look)
            self._result.findings.append(
                Met(
                    bug="",
                    finding=finding,
                    trace=trace_until(trace, finding),
                    broken=tuple(sorted(broken)),
                )
            )

    def _reduce(self, bug: KnownBug, finding: Finding, trace: Trace) -> None:
        elapsed, start = self._elapsed(), process_time()

        def run(candidate: Trace) -> Sequence[Finding]:
            session = run_trace(candidate, [self._target], keep_records=True)
            broken = _broken(session)
            return [found for found in session.findings if bug.explains(found, broken)]

        trace = trace_until(trace, finding)
        if not run(trace):
            # It needs what came after the finding, or was not steady: another example will do.
            return
        short, found = reduce_bounded(
            trace,
            finding,
            run,
            hurry=self._interrupted,
            alive=lambda: self._tell(Progressed(self._group.family, Tally())),
        )
        spent = process_time() - start
        self._reducing += spent
        self._wanted.remove(bug)
        self._result.findings.append(
            Met(
                bug=bug.id,
                finding=found,
                trace=short,
                example=self._result.examples,
                seconds=elapsed,
                reducing_seconds=spent,
            )
        )


def _broken(session: Session) -> set[str]:
    return {breach for record in session.records or () for breach in record.breaches}
