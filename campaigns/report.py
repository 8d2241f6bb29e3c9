"""The verdict as text for a person: a table by target and family, the findings, one closing sentence.

Guarantees that equal verdicts give equal text for an equal width; the only figures that are times are in the column that says so.
"""

from __future__ import annotations

import io
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from campaigns.messages import Tally
from campaigns.run_identity import note_lines
from campaigns.saving import NOT_RUN
from campaigns.verdict import FamilyVerdict, SavedFinding, Verdict
from oracle.finding import FINDING_KINDS, Finding

WIDTH = 110
MOST_CALLS = 12
_COLUMNS = ("target", "family", "traces", "steps", "findings", "hazards", "time in the target")
_RIGHT = ("traces", "steps", "hazards", "time in the target")


def render(verdict: Verdict, width: int = WIDTH) -> str:
    """The whole report, with a final newline. ``width`` is how wide the table may be, in columns."""
    parts = [_table(verdict, width)] if any(target.families for target in verdict.targets) else []
    parts += _notes(verdict)
    blocks = [*_findings(verdict), *_hazards(verdict)]
    parts += [_finding(number, block) for number, block in enumerate(blocks, 1)]
    parts += _known(verdict)
    parts.append(closing_sentence(verdict) + "\n")
    return "\n".join(parts)


def difference_table(finding: Finding) -> str:
    """A finding's first difference as a small table, with a final newline."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    broken = f"{finding.kind} after '{finding.breach}'" if finding.breach else finding.kind
    table.add_column(broken, overflow="fold")
    for name in ("expected", "got"):
        table.add_column(name, overflow="fold")
    table.add_row(Text(finding.quantity), Text(finding.expected), Text(finding.got))
    return _plain(table, WIDTH)


def closing_sentence(verdict: Verdict) -> str:
    """The verdict in one sentence."""
    tallies = [family.tally for target in verdict.targets for family in target.families]
    traces, steps = sum(tally.traces for tally in tallies), sum(tally.steps for tally in tallies)
    findings = [found for found in verdict.findings() if not found.is_hazard]
    hazards = len(verdict.findings()) - len(findings)
    checked = f"in {_many(traces, 'trace')} and {_many(steps, 'step')}"
    aged = sum(known.state != "known" for target in verdict.targets for known in target.known)
    if findings:
        text = f"{_many(len(findings), 'finding')} ({_by_kind(findings)})"
        text += f" and {_many(hazards, 'hazard')}" if hazards else ""
        sentence = f"{text} {checked}."
    elif hazards:
        sentence = (
            f"No findings, {_many(hazards, 'hazard')} {checked}: "
            "a caller that breaks the contract corrupts the allocator without a word."
        )
    elif not steps:
        sentence = "Nothing was judged."
    else:
        sentence = f"No new findings {checked}." if aged else f"Clean {checked}."
    if aged:
        sentence += f" {_many(aged, 'known finding')} stale or expired."
    if verdict.problems():
        sentence += f" {_many(sum(bool(target.problem) for target in verdict.targets), 'target')} could not be judged to the end."
    return f"Interrupted. {sentence}" if verdict.interrupted else sentence


def _notes(verdict: Verdict) -> list[str]:
    """What targets assume: a verdict on one that was misread means nothing."""
    lines = [line for target in verdict.targets for line in note_lines(target.target, target.notes)]
    return ["\n".join(lines) + "\n"] if lines else []


def _table(verdict: Verdict, width: int) -> str:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in _COLUMNS:
        table.add_column(name, justify="right" if name in _RIGHT else "left", overflow="fold")
    for target in verdict.targets:
        for family in target.families:
            table.add_row(Text(target.target), family.family, *_figures(family))
    return _plain(table, width)


def _plain(table: Table, width: int) -> str:
    file = io.StringIO()
    Console(file=file, width=width, color_system=None, legacy_windows=False).print(table)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def _figures(family: FamilyVerdict) -> tuple[str, ...]:
    findings = [found for found in family.findings if not found.is_hazard]
    hazards = len(family.findings) - len(findings)
    return (
        str(family.tally.traces),
        str(family.tally.steps),
        _by_kind(findings) or "none",
        str(hazards) if hazards else "none",
        _share(family.tally),
    )


def _share(tally: Tally) -> str:
    if not tally.seconds:
        return "-"
    return f"{tally.target_seconds / tally.seconds:.0%} of {tally.seconds:.1f} s"


_Block = tuple[str, SavedFinding, list[SavedFinding]]
"""A target, a finding that is told in full, and those that are like it."""


def _findings(verdict: Verdict) -> Iterator[_Block]:
    for target in verdict.targets:
        yield from (
            (target.target, found, []) for found in target.findings() if not found.is_hazard
        )


def _hazards(verdict: Verdict) -> Iterator[_Block]:
    """For each error of the caller its shortest hazard, and the others with it: one error shows in many quantities."""
    for target in verdict.targets:
        errors: dict[str, list[SavedFinding]] = {}
        for found in target.findings():
            if found.is_hazard:
                errors.setdefault(found.finding.breach, []).append(found)
        for hazards in errors.values():
            first, *others = sorted(hazards, key=lambda found: found.operations)
            yield target.target, first, others


def _finding(number: int, block: _Block) -> str:
    target, found, others = block
    lines = [f"[{number}] {found.finding.sentence()}"]
    lines += [f"     -  {call}" for call in found.calls[:MOST_CALLS]]
    if len(found.calls) > MOST_CALLS:
        lines.append(f"        and {len(found.calls) - MOST_CALLS} more calls")
    if found.trace_file:
        lines.append(f"    trace   {found.trace_file} ({_many(found.operations, 'operation')})")
    if found.script_file:
        lines.append(f"    script  {found.script_file} ({_shown(found)})")
    if found.trace_file:
        words = ["kvoracle", "replay", found.trace_file, target]
        # Only a probe sees these.
        words += ["--costs"] if found.finding.kind in ("sync", "launches") else []
        lines.append(f"    replay  {shlex.join(words)}")
    if found.remark:
        lines.append(f"    remark  {found.remark}")
    for other in others:
        shown = "reproduced" if other.reproduced else other.remark or "did not reproduce"
        file = other.script_file or other.trace_file or other.signature
        lines.append(f"    also    {file} ({_many(other.operations, 'operation')}, {shown})")
    return "\n".join(lines) + "\n"


_STATES = {
    "stale": "its trace does not show it any more: drop it, or run with --update-known",
    "expired": "its day has come, so it counts as a finding: repair it, or renew the entry",
}


def _known(verdict: Verdict) -> list[str]:
    """What became of known findings: a line for each that is stale or expired, one for all that still hold."""
    lines: list[str] = []
    for target in verdict.targets:
        lines += [
            f"{known.state}: {known.id} on {target.target}: {_STATES[known.state]}"
            for known in target.known
            if known.state in _STATES
        ]
        holding = [known for known in target.known if known.state == "known"]
        if holding:
            met = sum(known.met for known in holding)
            lines.append(
                f"known: {_many(len(holding), 'finding')} on {target.target}, met {_many(met, 'time')}"
            )
    return ["\n".join(lines) + "\n"] if lines else []


def _by_kind(findings: Iterable[SavedFinding]) -> str:
    counts = Counter(found.finding.kind for found in findings)
    return ", ".join(f"{kind} {counts[kind]}" for kind in FINDING_KINDS if counts[kind])


def _shown(found: SavedFinding) -> str:
    if found.reproduced:
        return "reproduced"
    return "could not run" if NOT_RUN in found.remark else "did not reproduce"


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
