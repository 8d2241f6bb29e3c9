"""The scoreboard of a rediscovery, as text, as a Markdown page, and as JSON.

Guarantees that equal scoreboards give equal pages but for the times that they hold, and that what was not found is said as plainly as what was.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from campaigns.rediscovery import Plan, Score, Scoreboard, median
from oracle.finding import signature
from targets.sglang.known_bugs import KnownBug
from targets.sglang.release_range import spell

WIDTH = 132
COLUMNS = (
    "bug",
    "releases",
    "found",
    "examples median, max",
    "seconds median, max",
    "operations median, max",
    "false alarms",
)
_NOTES = (
    "- **found**: searches that met the bug, of one for each seed and bad release. A search is random traces from the ordinary generator, "
    "with the callers of the row, until the bug is met or the examples give out.",
    "- **examples**, **seconds**: traces and processor seconds until the bug was met, reductions left out.",
    "- **operations**: of the reduced trace, which still looks like the bug.",
    "- **false alarms**: findings that look like the bug on releases that do not have it, of all traces looked at there.",
)


def as_text(board: Scoreboard, plan: Plan) -> str:
    """The scoreboard for a terminal: one line for each bug, then what was not found, and one closing sentence."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in COLUMNS:
        table.add_column(name, overflow="fold")
    for bug in plan.bugs:
        table.add_row(*_line(bug, board))
    file = io.StringIO()
    Console(file=file, width=WIDTH, color_system=None, legacy_windows=False).print(table)
    lines = [line.rstrip() for line in file.getvalue().splitlines()]
    lines += ["", *_remarks(board), closing_sentence(board)]
    return "\n".join(lines) + "\n"


def as_markdown(board: Scoreboard, plan: Plan, skipped: Sequence[KnownBug], ran_on: str) -> str:
    """The page ``docs/rediscovery.md``. ``ran_on`` names versions and machine, ``skipped`` the rows that were not looked for."""
    lines = [
        "# Known bugs, found again",
        "",
        "Written by `kvoracle rediscover --format markdown`. Each row of `targets/sglang/known_bugs.toml` is looked for on the "
        f"releases that have it, with {plan.seeds} seeds of at most {plan.examples} examples of 50 steps, and watched for on the releases "
        "that do not.",
        "",
        f"Measured with {ran_on}.",
        "",
        *_markdown_table(COLUMNS, [_line(bug, board) for bug in plan.bugs]),
        "",
        *_NOTES,
        "",
        *[f"Not looked for: **{bug.id}**, because {bug.skipped}." for bug in skipped],
        "",
        closing_sentence(board),
        "",
        "## What did not go as it should",
        "",
        *([f"- {remark}" for remark in _remarks(board)] or ["Nothing."]),
        "",
        "## By release",
        "",
        *_markdown_table(
            ("bug", "release", *COLUMNS[2:6]),
            [(score.bug, score.release, *_figures([score])) for score in board.scores],
        ),
    ]
    return "\n".join(lines) + "\n"


def as_json(board: Scoreboard) -> bytes:
    """The scoreboard as a JSON document with a final newline."""
    document = {
        "bugs": [
            {
                "bug": score.bug,
                "release": score.release,
                "seeds": score.seeds,
                "found": len(score.met),
                "examples": [met.example for met in score.met],
                "seconds": [round(met.seconds, 3) for met in score.met],
                "reducing_seconds": [round(met.reducing_seconds, 3) for met in score.met],
                "operations": [len(met.trace.operations) for met in score.met],
                "signatures": sorted(
                    {signature(met.finding, met.trace.operations) for met in score.met}
                ),
            }
            for score in board.scores
        ],
        "good": [
            {
                "bug": watch.bug,
                "release": watch.release,
                "traces": watch.traces,
                "false_alarms": [alarm.sentence() for alarm in watch.alarms],
            }
            for watch in board.watches
        ],
        "unexplained": [
            {
                "release": one.release,
                "legal": one.legal,
                "seed": one.seed,
                "finding": one.met.finding.sentence(),
                "trace": one.met.trace,
            }
            for one in board.unexplained
        ],
        "problems": board.problems,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def closing_sentence(board: Scoreboard) -> str:
    """The result in one sentence."""
    seeds = sum(score.seeds for score in board.scores)
    met = sum(len(score.met) for score in board.scores)
    alarms = sum(len(watch.alarms) for watch in board.watches)
    lengths = [len(one.trace.operations) for score in board.scores for one in score.met]
    legal = sum(one.legal for one in board.unexplained)
    return (
        f"{met} of {seeds} searches found their bug, reduced to {median(lengths):.0f} operations in the median and "
        f"{max(lengths, default=0)} at most; {alarms} false alarms on the good releases; "
        f"beyond the baseline, {legal} findings of legal callers and {len(board.unexplained) - legal} of hostile ones."
    )


def _line(bug: KnownBug, board: Scoreboard) -> tuple[str, ...]:
    scores = [score for score in board.scores if score.bug == bug.id]
    watches = [watch for watch in board.watches if watch.bug == bug.id]
    alarms = sum(len(watch.alarms) for watch in watches)
    traces = sum(watch.traces for watch in watches)
    watched = f"{alarms} in {traces} traces of {len(watches)} releases" if watches else "-"
    releases = spell(tuple(score.release for score in scores))
    return (bug.id, releases, *_figures(scores), watched)


def _figures(scores: Sequence[Score]) -> tuple[str, ...]:
    met = [one for score in scores for one in score.met]
    seeds = sum(score.seeds for score in scores)
    if not met:
        return (f"0 of {seeds}", "-", "-", "-")
    examples = [one.example for one in met]
    seconds = [one.seconds for one in met]
    lengths = [len(one.trace.operations) for one in met]
    return (
        f"{len(met)} of {seeds}",
        f"{median(examples):.0f}, {max(examples)}",
        f"{median(seconds):.1f}, {max(seconds):.1f}",
        f"{median(lengths):.0f}, {max(lengths)}",
    )


def _remarks(board: Scoreboard) -> list[str]:
    lines = [
        f"{score.bug} was not found on {score.release} with {score.seeds - len(score.met)} of {score.seeds} seeds"
        for score in board.scores
        if len(score.met) < score.seeds
    ]
    lines += [
        f"false alarm for {watch.bug} on {watch.release}: {alarm.sentence()}"
        for watch in board.watches
        for alarm in watch.alarms
    ]
    looks: dict[tuple[str, ...], list[str]] = {}
    for one in board.unexplained:
        finding = one.met.finding
        callers = "legal" if one.legal else "hostile"
        look = (
            callers,
            finding.family,
            finding.kind,
            finding.quantity,
            finding.breach,
            finding.method,
        )
        looks.setdefault(look, []).append(one.release)
    for (callers, family, kind, quantity, breach, method), releases in looks.items():
        after = f" after the caller broke '{breach}'" if breach else ""
        lines.append(
            f"beyond the baseline, {callers} callers, {family}: {kind} {quantity} in {method}{after}, on {spell(tuple(set(releases)))}"
        )
    return lines + board.problems


def _markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    head = "| " + " | ".join(columns) + " |"
    rule = "|" + "---|" * len(columns)
    return [head, rule, *("| " + " | ".join(row) + " |" for row in rows)]
