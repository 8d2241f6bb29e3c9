"""``kvoracle rediscover``: would this have caught the bugs that are known, and does it leave the repaired releases alone?"""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import click

from campaigns.child import Gone
from campaigns.child_pool import cores, run_jobs
from campaigns.interruption import Interruption
from campaigns.known_findings import KnownFindings, read_known
from campaigns.lane import problem_of
from campaigns.messages import Broken, Event, Refused, Searched
from campaigns.options import NamedPath
from campaigns.rediscovery import Baseline, Bookkeeper, Plan, Search, searches
from campaigns.rediscovery_report import as_json, as_markdown, as_text
from campaigns.run_identity import identity_of_code
from campaigns.verdict import CLEAN, FINDINGS, INTERRUPTED, USAGE
from oracle.errors import UsageError

Form = Literal["text", "markdown", "json"]


@click.command(short_help="Look for the known bugs of SGLang on their releases.")
@click.argument("bugs", metavar="[ID]...", nargs=-1)
@click.option("--seeds", type=click.IntRange(1), default=20, show_default=True, help="How often.")
@click.option(
    "--examples",
    type=click.IntRange(1),
    default=300,
    show_default=True,
    help="How many traces each search may take.",
)
@click.option(
    "--least",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="How many traces of each seed are looked at where nothing is to be found.",
)
@click.option("--releases", help="Only these: 0.5.9..0.5.13, or several with commas.")
@click.option("--known", type=NamedPath(path_type=Path), help="The baseline: accepted findings.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
    help="What standard output gets; markdown is docs/rediscovery.md.",
)
@click.option("--jobs", type=click.IntRange(1), help="Processes at once (default: one a core).")
@click.option(
    "--cache",
    type=NamedPath(path_type=Path, file_okay=False),
    help="Where fetched releases are kept (default: KVORACLE_CACHE, else the user's cache).",
)
def rediscover(
    bugs: tuple[str, ...],
    seeds: int,
    examples: int,
    least: int,
    releases: str | None,
    known: Path | None,
    form: Form,
    jobs: int | None,
    cache: Path | None,
) -> int:
    """Look for the bugs of targets/sglang/known_bugs.toml on the releases that have them, and on those that do not.

    Traces are random and come from the ordinary generator; each seed stops at the first trace that shows the bug, which is then
    reduced. Every trace on a good release is checked for findings that look like the bug.

    \b
    Examples:
      kvoracle rediscover partial-free-stale-map --seeds 3
      kvoracle rediscover --known docs/known_findings.toml --format markdown > docs/rediscovery.md

    \b
    Exit codes:
      0    every bug was found with every seed, and legal callers met nothing else
      1    a bug was missed, a false alarm, or a finding of legal callers beyond the baseline
      2    wrong usage, or a release that cannot be had
      130  interrupted
    """
    from targets.sglang.known_bugs import known_bugs
    from targets.sglang.release_range import releases_in
    from targets.sglang.releases import RELEASES

    rows = {bug.id: bug for bug in known_bugs()}
    strange = [name for name in bugs if name not in rows]
    if strange:
        raise UsageError(f"there is no known bug {strange[0]!r}: there are {', '.join(rows)}")
    wanted = [rows[name] for name in dict.fromkeys(bugs)] or list(rows.values())
    skipped = [bug for bug in wanted if bug.skipped]
    plan = Plan(
        bugs=tuple(bug for bug in wanted if not bug.skipped),
        releases=RELEASES if releases is None else releases_in(releases),
        seeds=seeds,
        examples=examples,
        least=least,
        cache=None if cache is None else str(cache),
    )
    baseline: Baseline = KnownFindings(read_known(known)) if known is not None else Baseline()
    for bug in skipped:
        click.echo(f"not looked for: {bug.id}, because {bug.skipped}", err=True)
    keeper = Bookkeeper(plan, baseline, list(rows.values()))
    left, whole = _run(plan, keeper, jobs or cores())
    if form == "json":
        click.echo(as_json(keeper.board), nl=False)
    elif form == "markdown":
        click.echo(as_markdown(keeper.board, plan, skipped, _machine()), nl=False)
    else:
        click.echo(as_text(keeper.board, plan), nl=False)
    if not whole:
        click.echo(f"kvoracle: interrupted with {left} searches left", err=True)
        return INTERRUPTED
    if keeper.board.problems:
        click.echo(f"kvoracle: {keeper.board.problems[0]}", err=True)
        return USAGE
    return CLEAN if keeper.board.is_whole() else FINDINGS


def _run(plan: Plan, keeper: Bookkeeper, workers: int) -> tuple[int, bool]:
    """Run the searches; how many are left, and whether it came to its end."""
    todo = searches(plan)
    left = len(todo)

    def hear(number: int, event: Event | Gone) -> None:
        nonlocal left
        search = todo[number]
        if isinstance(event, Searched):
            keeper.take(search.release, event)
        elif isinstance(event, Refused | Broken):
            keeper.board.problems.append(problem_of(event))
        elif isinstance(event, Gone):
            left -= 1
            if event.how:
                keeper.board.problems.append(
                    f"the process of sglang=={search.release} was ended by {event.how}"
                )
            _say(search, left)

    with Interruption() as interruption:
        whole = run_jobs([search.job for search in todo], workers, hear, interruption)
    return left, whole


def _say(search: Search, left: int) -> None:
    names = ", ".join(search.bugs) or "no bug to find"
    click.echo(f"{search.release} ({names}): done, {left} left", err=True)


def _machine() -> str:
    return (
        f"{identity_of_code()}, torch {version('torch')}, hypothesis {version('hypothesis')}, "
        f"on {os.cpu_count()} processors ({platform.system()} {platform.machine()})"
    )
