"""``kvoracle bisect``: which release brought a fault in, and which one took it out."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click
import msgspec

from campaigns.bisection import ReleaseResult, conclusions, document, lacking, result_of, table
from campaigns.child import Gone
from campaigns.child_pool import MakeJob, cores, run_jobs
from campaigns.deaths import death_finding
from campaigns.interruption import Interruption
from campaigns.lane import problem_of
from campaigns.messages import (
    Broken,
    Discovered,
    Event,
    Refused,
    Replayed,
    ReplayJob,
    Started,
    Where,
)
from campaigns.options import NamedPath, laws_only_option, level_option, target_options
from campaigns.result_cache import ResultCache
from campaigns.verdict import CLEAN, FINDINGS, INTERRUPTED, USAGE
from oracle.finding import Finding
from oracle.geometry import Level
from oracle.trace import Trace, read_trace
from targets.sglang.kernel_choice import chosen_kernels

SKIPPED = "every operation of the trace was skipped"


@click.command(short_help="Find the first release on which a saved trace fails.")
@click.argument("trace", type=NamedPath(path_type=Path))
@click.option("--releases", help="Which: 0.5.14..0.5.20, or several with commas (default: all).")
@level_option(None, "How the allocator's invariants speak (default: as the trace says).")
@click.option("--jobs", type=click.IntRange(1), help="Processes at once (default: one a core).")
@click.option("--fresh", is_flag=True, help="Run every release, also where a result is remembered.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="What standard output gets.",
)
@target_options
@laws_only_option
def bisect(
    trace: Path,
    releases: str | None,
    level: Level | None,
    jobs: int | None,
    fresh: bool,
    form: Literal["text", "json"],
    device: str,
    cache: Path | None,
    laws_only: bool,
) -> int:
    """Run a saved trace on every release, post-releases too, and name the first bad and the first good one.

    Each release runs in a process of its own. A release fails when the trace shows any finding there, hazards included, and is
    unsupported when it lacks a call of the trace or runs none of its operations. Results are remembered in the user's cache.

    \b
    Examples:
      kvoracle bisect kvoracle-findings/SIGNATURE.json
      kvoracle bisect tests/corpus/TRACE.json --releases 0.5.17..0.5.20

    \b
    Exit codes:
      0    no release fails
      1    at least one fails
      2    wrong usage, a file that is no trace, or a release that cannot be had
      130  interrupted
    """
    from targets.sglang.release_range import releases_in
    from targets.sglang.releases import RELEASES

    read = read_trace(trace)
    if level is not None:
        read = msgspec.structs.replace(read, mode=msgspec.structs.replace(read.mode, level=level))
    chosen = RELEASES if releases is None else releases_in(releases)
    one = Bisection(read, chosen, device=device, cache=cache, laws_only=laws_only)
    results = one.run(jobs or cores(), fresh=fresh)
    if form == "json":
        click.echo(document(read, results, interrupted=one.interrupted), nl=False)
    else:
        # Where releases are missing, which one was the first is not known.
        end = (
            [f"Interrupted: {len(results)} of {len(chosen)} releases were run."]
            if one.interrupted
            else conclusions(results)
        )
        click.echo("\n".join([*table(results), "", *end]))
    problems = [result.sentence for result in results if result.status == "problem"]
    for problem in dict.fromkeys(problems):
        click.echo(f"kvoracle: {' '.join(problem.split())}", err=True)
    if one.interrupted:
        return INTERRUPTED
    if problems:
        return USAGE
    return FINDINGS if any(result.status == "fail" for result in results) else CLEAN


class Bisection:
    """One trace on several releases, each in a child. ``interrupted``: not every release was run."""

    def __init__(
        self,
        trace: Trace,
        releases: tuple[str, ...],
        *,
        device: str = "cpu",
        cache: Path | None = None,
        laws_only: bool = False,
    ) -> None:
        self._trace = trace
        self._releases = releases
        self._device = device
        self._cache = cache
        self._laws_only = laws_only
        kernels = chosen_kernels(device)
        self._remembered = ResultCache(trace, device, kernels, str(laws_only))
        self._findings: dict[str, list[Finding]] = {}
        self._versions: dict[str, dict[str, str]] = {}
        self._refusals: dict[str, str] = {}
        self._called: set[str] = set()
        """The releases on which an operation made a call."""
        self._results: dict[str, ReleaseResult] = {}
        self.interrupted = False

    def run(self, workers: int, *, fresh: bool = False) -> list[ReleaseResult]:
        """The results in the order of the releases, those that were not run left out."""
        if not fresh:
            known = [self._remembered.get(release) for release in self._releases]
            self._results = {result.release: result for result in known if result is not None}
        todo = [release for release in self._releases if release not in self._results]
        with Interruption() as interruption:
            self.interrupted = not run_jobs(
                [self._maker(release) for release in todo],
                workers,
                lambda number, event: self._hear(todo[number], event),
                interruption,
            )
        return [self._results[one] for one in self._releases if one in self._results]

    def _maker(self, release: str) -> MakeJob:
        def make(journal: Path) -> ReplayJob:
            where = Where(
                target=f"sglang=={release}",
                device=self._device,
                cache=None if self._cache is None else str(self._cache),
                journal=str(journal),
            )
            return ReplayJob(where=where, trace=self._trace, laws_only=self._laws_only)

        return make

    def _hear(self, release: str, event: Event | Gone) -> None:
        if isinstance(event, Started):
            self._versions[release] = event.versions
        elif isinstance(event, Discovered):
            self._findings.setdefault(release, []).append(event.finding)
        elif isinstance(event, Replayed):
            if event.lines and event.index < len(self._trace.operations):
                self._called.add(release)
        elif isinstance(event, Refused):
            self._refusals[release] = problem_of(event)
        elif isinstance(event, Broken):
            self._refusals[release] = problem_of(event)
            self._versions.pop(release, None)
        elif isinstance(event, Gone):
            result = self._end(release, event)
            self._results[release] = result
            self._remembered.put(result)

    def _end(self, release: str, gone: Gone) -> ReleaseResult:
        findings = self._findings.get(release, [])
        refusal = self._refusals.get(release, "")
        started = release in self._versions
        if (refusal or gone.how) and not started:
            sentence = refusal or f"the process of sglang=={release} was ended by {gone.how}"
            return ReleaseResult(release=release, status="problem", sentence=sentence)
        if gone.how and not refusal:
            family = self._trace.geometry.family
            findings.append(
                death_finding(
                    f"sglang=={release}",
                    self._versions[release],
                    family,
                    self._trace,
                    gone.how,
                    last_words=gone.last_words,
                )
            )
        if not refusal and release not in self._called and self._trace.operations:
            refusal = lacking(release, self._trace) or SKIPPED
        return result_of(release, self._trace, findings, refusal)
