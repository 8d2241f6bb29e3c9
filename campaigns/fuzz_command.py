"""``kvoracle fuzz``: random operation sequences against a budget, and a verdict."""

from __future__ import annotations

import secrets
import shutil
import sys
from pathlib import Path
from typing import Literal

import click

from campaigns.campaign_options import CampaignOptions
from campaigns.fuzz_options import FuzzOptions, check_budget
from campaigns.fuzz_run import FuzzRun
from campaigns.interruption import Interruption
from campaigns.known_findings import known_file
from campaigns.known_update import update_known as update_file
from campaigns.options import (
    LARGEST_SEED,
    NamedPath,
    chosen_targets,
    fail_on_option,
    known_options,
    laws_only_option,
    level_option,
    reference_option,
    target_options,
)
from campaigns.progress import Progress
from campaigns.report import WIDTH, render
from campaigns.run_identity import first_line
from campaigns.verdict import CLEAN, FINDINGS, Verdict
from oracle.errors import UsageError
from oracle.geometry import ALL_FAMILIES, FAMILIES, Family, Level
from oracle.trace import CALLERS, Callers

ALL = "all"
"""What stands for every family; a target that lacks one is not asked for it."""


@click.command()
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True)
@click.option(
    "--family",
    "families",
    multiple=True,
    type=click.Choice([*ALL_FAMILIES, ALL]),
    help="A kind of allocator; may be repeated (default: token, paged and hybrid-swa; all: each that a target has).",
)
@click.option(
    "--callers",
    type=click.Choice(CALLERS),
    default="mixed",
    show_default=True,
    help="Whether callers keep the contract (legal), break it (hostile), or each in turn.",
)
@level_option("off", "How the allocator's own invariants speak.")
@click.option(
    "--debug/--no-debug",
    default=None,
    help="The allocator's memory-pool debug mode (default: drawn for each trace).",
)
@click.option("--seconds", type=float, help="How long to fuzz in all (default: 60).")
@click.option("--examples", type=int, help="How many traces in all; makes the run repeatable.")
@click.option(
    "--seed",
    type=click.IntRange(0, LARGEST_SEED),
    help="Where randomness starts (default: a new one, printed).",
)
@target_options
@click.option(
    "--out",
    type=NamedPath(path_type=Path),
    default=Path("kvoracle-findings"),
    show_default=True,
    help="Where findings are saved.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="What standard output gets: a report, or one JSON document.",
)
@known_options
@click.option(
    "--metamorphic",
    is_flag=True,
    help="Also run parts of each clean legal trace a second time in another way that must come to the same (any family).",
)
@click.option(
    "--costs",
    is_flag=True,
    help="Also look for host syncs and launches in each call; on our own targets those that break a promise are findings.",
)
@fail_on_option
@laws_only_option
@reference_option
def fuzz(
    targets: tuple[str, ...],
    families: tuple[Family | Literal["all"], ...],
    callers: Callers,
    level: Level,
    debug: bool | None,
    seconds: float | None,
    examples: int | None,
    seed: int | None,
    device: str,
    cache: Path | None,
    out: Path,
    form: Literal["text", "json"],
    known: Path | None,
    update_known: bool,
    metamorphic: bool,
    costs: bool,
    fail_on: str | None,
    laws_only: bool,
    reference: bool,
) -> int:
    """Judge allocators under random operation sequences.

    Every call of every sequence is compared, bit for bit, with what the contract predicts, and checked against laws that know
    no contract. Each finding is reduced to a short trace and saved under --out as SIGNATURE.json, with a program
    SIGNATURE.py that shows it without kvoracle; with several targets there is a folder for each. A hazard is what a
    caller's error silently corrupted: it is reported, and fails the run with --fail-on hazard only.

    The budget is shared evenly among targets and families. Each target runs in a process of its own.

    \b
    Examples:
      kvoracle fuzz sglang==0.5.23 --callers legal --seconds 60
      kvoracle fuzz sglang@~/sglang --family hybrid-swa --callers hostile
      kvoracle fuzz sglang==0.5.17 --callers legal --known docs/known_findings.toml
      kvoracle fuzz eager sglang==0.5.22 --examples 300 --seed 7 --format json
      kvoracle fuzz sglang==0.5.23 --callers legal --metamorphic --laws-only
      kvoracle fuzz eager fused --family unified-swa --callers legal --costs
      kvoracle fuzz sglang==0.5.23 --family all --known docs/known_findings.toml --seconds 600

    \b
    Exit codes:
      0    clean (hazards alone are)
      1    findings, or known findings that are stale or expired
      2    wrong usage, or a target that cannot be had; the others' findings are still saved
      130  interrupted with nothing found; Ctrl-C still reports and saves, a second one at once
    """
    seconds, examples = check_budget(seconds, examples)
    options = FuzzOptions(
        targets=chosen_targets(targets, reference=reference),
        families=_chosen(families),
        asked=bool(families) and ALL not in families,
        callers=callers,
        level=level,
        debug=debug,
        laws_only=laws_only,
        seconds=seconds,
        examples=examples,
        seed=secrets.randbits(32) if seed is None else seed,
        device=device,
        out=out,
        cache=cache,
        fail_on_hazard=fail_on == "hazard",
        known=known_file(known, update=update_known),
        metamorphic=metamorphic,
        costs=costs,
    )
    if "" in options.targets:
        raise UsageError("a target has no name: 'kvoracle targets' lists the known ones")
    return run_and_show(options, form, update_known=update_known)


def run_and_show(
    options: CampaignOptions, form: Literal["text", "json"], *, update_known: bool
) -> int:
    """Run a campaign, print its verdict, write the file of known findings anew if that is wanted, and return the exit code."""
    with Interruption() as interruption:
        with Progress(first_line(options), talks=form == "text") as progress:
            verdict = FuzzRun(options, progress, interruption).run()
        interruption.report_begins()
        code = show_verdict(verdict, form)
        known = options.known
        if known is not None and not any(map(options.known_on, options.targets)):
            named = " or ".join(options.targets)
            click.echo(f"known: {known.path} has no entry for {named}", err=True)
        if update_known and options.known is not None and code in (CLEAN, FINDINGS):
            click.echo(update_file(options.known, verdict), err=True)
            return FINDINGS if verdict.has_expired() else CLEAN
        return code


def _chosen(named: tuple[Family | Literal["all"], ...]) -> tuple[Family, ...]:
    if not named:
        return FAMILIES
    chosen = (family for name in named for family in (ALL_FAMILIES if name == "all" else (name,)))
    return tuple(dict.fromkeys(chosen))


def show_verdict(verdict: Verdict, form: Literal["text", "json"]) -> int:
    """Print the verdict in its form and return the exit code."""
    for problem in verdict.problems():
        click.echo(f"kvoracle: {' '.join(problem.split())}", err=True)
    judged = any(target.families for target in verdict.targets)
    if form == "json":
        click.echo(verdict.document(), nl=False)
    elif judged or not verdict.problems():
        # A program that was started without a standard output has None for it.
        on_terminal = sys.stdout is not None and sys.stdout.isatty()
        width = shutil.get_terminal_size((WIDTH, 0)).columns if on_terminal else WIDTH
        click.echo(render(verdict, width), nl=False)
    return verdict.exit_code()
