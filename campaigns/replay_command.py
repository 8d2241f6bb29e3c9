"""``kvoracle replay``: one saved trace on one or more targets, operation by operation."""

from __future__ import annotations

import queue
import tempfile
from pathlib import Path

import click
import msgspec

from campaigns.child import STALL_SECONDS, Child, Gone, Inbox
from campaigns.deaths import death_finding
from campaigns.interruption import Interruption
from campaigns.journal import read_journal
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
from campaigns.options import (
    NamedPath,
    chosen_targets,
    fail_on_option,
    laws_only_option,
    level_option,
    reference_option,
    target_options,
)
from campaigns.report import difference_table
from campaigns.run_identity import note_lines, versions_line
from campaigns.sanitizer import (
    PROGRAM,
    TOOLS,
    Sanitizer,
    Tool,
    find_sanitizer,
    findings_of,
    read_report,
)
from campaigns.verdict import CLEAN, FINDINGS, INTERRUPTED, USAGE, TargetVerdict
from oracle.errors import UsageError
from oracle.finding import Finding
from oracle.geometry import Level
from oracle.trace import Trace, read_trace


@click.command(short_help="Run a saved trace, operation by operation.")
@click.argument("trace", type=NamedPath(path_type=Path))
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True)
@level_option(None, "How the allocator's invariants speak (default: as the trace says).")
@target_options
@fail_on_option
@laws_only_option
@reference_option
@click.option(
    "--sanitizer",
    type=click.Choice(TOOLS),
    help="Run it under this tool of NVIDIA's compute-sanitizer; what that reports is a finding.",
)
@click.option(
    "--costs",
    is_flag=True,
    help="Look for host syncs and launches in each call; on our own targets those that break a promise are findings.",
)
def replay(
    trace: Path,
    targets: tuple[str, ...],
    level: Level | None,
    device: str,
    cache: Path | None,
    fail_on: str | None,
    laws_only: bool,
    reference: bool,
    sanitizer: Tool | None,
    costs: bool,
) -> int:
    """Run a saved trace and say what came back, one line for each operation.

    An operation that does not apply is marked as skipped. What differs from the prediction, or breaks a law, is shown as a
    table of expected and got. Each target runs in a process of its own, one after the other.

    \b
    Examples:
      kvoracle replay kvoracle-findings/SIGNATURE.json sglang==0.5.23
      kvoracle replay tests/corpus/TRACE.json eager sglang==0.5.22 --level strict
      kvoracle replay tests/corpus/TRACE.json fused --device cuda --sanitizer memcheck

    \b
    Exit codes:
      0    clean (hazards alone are, without --fail-on hazard)
      1    findings
      2    wrong usage, no such target, a file that is no trace, or one whose every operation was skipped
      130  interrupted with nothing found
    """
    chosen = chosen_targets(targets, reference=reference)
    program = find_sanitizer() if sanitizer is not None else ""
    read = read_trace(trace)
    if level is not None:
        read = msgspec.structs.replace(read, mode=msgspec.structs.replace(read.mode, level=level))
    codes = []
    with Interruption() as interruption, tempfile.TemporaryDirectory(prefix="kvoracle-") as folder:
        for number, target in enumerate(chosen):
            if interruption.count:
                break
            where = Where(
                target=target,
                device=device,
                cache=None if cache is None else str(cache),
                journal=str(Path(folder) / f"{number}.journal"),
            )
            job = ReplayJob(
                where=where,
                trace=read,
                laws_only=laws_only,
                sanitized=sanitizer is not None,
                costs=costs,
            )
            watch = None
            if sanitizer is not None:
                watch = Sanitizer(program, sanitizer, str(Path(folder) / f"{number}.report"))
            one = _Replay(job, watch, fail_on_hazard=fail_on == "hazard")
            codes.append(one.run(Path(folder), interruption))
        if interruption.count:
            codes.append(INTERRUPTED)
    return next((code for code in (USAGE, FINDINGS, INTERRUPTED) if code in codes), CLEAN)


class _Replay:
    """The replay on one target: prints as it goes."""

    def __init__(
        self, job: ReplayJob, sanitizer: Sanitizer | None, *, fail_on_hazard: bool
    ) -> None:
        self._job = job
        self._sanitizer = sanitizer
        # Under a sanitizer everything takes many times as long.
        self._patience = STALL_SECONDS * (5 if sanitizer is not None else 1)
        self._fail_on_hazard = fail_on_hazard
        self._verdict = TargetVerdict(job.where.target, {}, [])
        self._findings: list[Finding] = []
        self._started = False
        self._calls = 0

    def run(self, folder: Path, interruption: Interruption) -> int:
        """Run it to the end and return the exit code."""
        inbox: Inbox = queue.SimpleQueue()
        child = Child(self._job, folder, inbox, self._sanitizer)
        while True:
            if interruption.count:
                child.kill()
            hangs = child.is_silent_for(self._patience)
            if hangs:
                child.kill()
            try:
                _, event = inbox.get(timeout=0.1)
            except queue.Empty:
                continue
            if isinstance(event, Gone):
                break
            self._hear(event)
        if interruption.count:
            # How the process ended says nothing then.
            self._close(f"interrupted, {self._counts()}")
        else:
            self._end(event, hangs=hangs)
        return self._exit_code(interrupted=interruption.count > 0)

    def _hear(self, event: Event) -> None:
        if isinstance(event, Started):
            self._started = True
            self._verdict.versions = event.versions
            click.echo(versions_line(self._verdict.target, event.versions))
            for line in note_lines(self._verdict.target, event.notes):
                click.echo(line, err=True)
        elif isinstance(event, Replayed):
            if event.index < len(self._job.trace.operations):
                self._calls += len(event.lines)
            self._show(event)
        elif isinstance(event, Discovered):
            self._findings.append(event.finding)
            click.echo(difference_table(event.finding), nl=False)
        elif isinstance(event, Refused | Broken):
            self._verdict.problem = problem_of(event)

    def _show(self, event: Replayed) -> None:
        head = f"{event.index:4}  {event.operation:15}"
        if not event.lines:
            click.echo(f"{head}  {event.status}")
        click.echo("".join(f"{head}  {line}\n" for line in event.lines[:1]), nl=False)
        click.echo("".join(f"{'':21}  {line}\n" for line in event.lines[1:]), nl=False)

    def _end(self, gone: Gone, *, hangs: bool) -> None:
        if gone.how and not self._started and not self._verdict.problem:
            self._verdict.problem = f"the process of {self._verdict.target} was ended by {gone.how} while the target was made"
        ran = read_journal(Path(self._job.where.journal)) or self._job.trace
        # What a sanitizer reports also explains why a process ended.
        if not self._verdict.problem and (hangs or not self._tell_report(ran)) and gone.how:
            self._tell_death(gone, ran, hangs=hangs)
        found = self._verdict.problem or self._findings
        if not found and not self._calls and self._job.trace.operations:
            self._verdict.problem = f"nothing was judged on {self._verdict.target}: every operation of the trace was skipped"
        self._close(self._counts() if self._findings else "clean")

    def _tell_report(self, ran: Trace) -> bool:
        """Tell what the sanitizer reported; whether it was anything."""
        if self._sanitizer is None:
            return False
        try:
            errors = read_report(Path(self._sanitizer.log))
        except UsageError as problem:
            self._verdict.problem = str(problem)
            return True
        tool, verdict = self._sanitizer.tool, self._verdict
        for finding in findings_of(errors, tool, verdict.target, verdict.versions, ran):
            self._findings.append(finding)
            click.echo(difference_table(finding), nl=False)
        click.echo(f"{PROGRAM} {tool}: {len(errors)} different errors")
        return bool(errors)

    def _tell_death(self, gone: Gone, ran: Trace, *, hangs: bool) -> None:
        finding = death_finding(
            self._verdict.target,
            self._verdict.versions,
            ran.geometry.family,
            ran,
            gone.how,
            last_words=gone.last_words,
            hangs=hangs,
        )
        self._findings.append(finding)
        click.echo(f"{finding.index:4}  {finding.operation:15}  its process ended")
        click.echo(difference_table(finding), nl=False)

    def _close(self, result: str) -> None:
        if self._verdict.problem:
            click.echo(f"kvoracle: {' '.join(self._verdict.problem.split())}", err=True)
        else:
            click.echo(f"{self._verdict.target}: {result}.")

    def _counts(self) -> str:
        hazards = sum(finding.kind == "hazard" for finding in self._findings)
        return f"findings {len(self._findings) - hazards}, hazards {hazards}"

    def _exit_code(self, *, interrupted: bool) -> int:
        if self._verdict.problem:
            return USAGE
        failing = [
            finding
            for finding in self._findings
            if self._fail_on_hazard or finding.kind != "hazard"
        ]
        if failing:
            return FINDINGS
        return INTERRUPTED if interrupted else CLEAN
