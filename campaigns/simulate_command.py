"""``kvoracle simulate``: days of serving traffic on allocators, and a verdict."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Literal

import click

from campaigns.fuzz_command import run_and_show
from campaigns.known_findings import known_file
from campaigns.options import (
    LARGEST_SEED,
    known_options,
    laws_only_option,
    level_option,
    target_options,
)
from campaigns.simulate_options import SimulateOptions
from oracle.errors import UsageError
from oracle.geometry import FAMILIES, LARGEST_PAGE_SIZE, LARGEST_SIZE, Family, Level

MOST_REQUESTS = 100_000


@click.command(short_help="Serve days of simulated traffic, every call judged.")
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True)
@click.option(
    "--family",
    "families",
    multiple=True,
    type=click.Choice(FAMILIES),
    help="A kind of allocator; may be repeated (default: hybrid-swa).",
)
@click.option(
    "--requests",
    type=click.IntRange(1, MOST_REQUESTS),
    default=1000,
    show_default=True,
    help="How many requests a day brings.",
)
@click.option(
    "--page-size",
    "page_sizes",
    multiple=True,
    type=click.IntRange(1, LARGEST_PAGE_SIZE),
    help="Slots on a page; may be repeated (default: a day each for 1, 64 and 256).",
)
@click.option(
    "--sharing/--no-sharing",
    default=None,
    help="Whether finished rows stay cached and prefixes are shared (default: a day each).",
)
@click.option(
    "--size",
    type=click.IntRange(1, LARGEST_SIZE),
    help="Slots of the FULL (or only) pool (default: so few that requests are retracted now and then).",
)
@click.option(
    "--size-swa",
    type=click.IntRange(1, LARGEST_SIZE),
    help="Slots of a hybrid allocator's SWA pool (default: fewer than --size).",
)
@click.option(
    "--need-sort/--no-need-sort",
    default=False,
    show_default=True,
    help="Whether the allocator stages what is freed and keeps its free list sorted.",
)
@click.option(
    "--optimistic",
    is_flag=True,
    help="Ask the allocator first and make room when it refuses, instead of the other way round.",
)
@level_option("off", "How the allocator's own invariants speak.")
@click.option(
    "--seed",
    type=click.IntRange(0, LARGEST_SEED),
    help="Where randomness starts (default: a new one, printed).",
)
@target_options
@click.option(
    "--out",
    type=click.Path(path_type=Path),
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
@laws_only_option
def simulate(
    targets: tuple[str, ...],
    families: tuple[Family, ...],
    requests: int,
    page_sizes: tuple[int, ...],
    sharing: bool | None,
    size: int | None,
    size_swa: int | None,
    need_sort: bool,
    optimistic: bool,
    level: Level,
    seed: int | None,
    device: str,
    cache: Path | None,
    out: Path,
    form: Literal["text", "json"],
    known: Path | None,
    update_known: bool,
    laws_only: bool,
) -> int:
    """Serve days of simulated traffic from allocators and judge every call.

    A seeded scheduler does what a serving engine does to its allocator: requests arrive in waves, hit shared prefixes or are
    loaded from outside, are prefilled in chunks and batches, decode one by one or speculatively with rollback, lose what leaves
    their window in one group a step, are retracted and evicted from the cache under pressure, and finish. It keeps the contract, so
    whatever is found is a fault of the allocator; at the end everything must have come back. The first finding ends its day, known or
    not; the trace of one that is not is cut, reduced and saved as by 'kvoracle fuzz'.

    \b
    Examples:
      kvoracle simulate sglang==0.5.23
      kvoracle simulate sglang@~/sglang --page-size 64 --sharing --requests 5000 --seed 7
      kvoracle simulate eager fused --family token --family paged --requests 200
      kvoracle simulate sglang==0.5.20 --optimistic --known docs/known_findings.toml

    \b
    Exit codes:
      0    clean, or nothing but known findings
      1    findings, or known findings that are stale or expired
      2    wrong usage, or a target that cannot be had; the others' findings are still saved
      130  interrupted with nothing found; Ctrl-C still reports and saves, a second one at once
    """
    options = SimulateOptions(
        targets=list(dict.fromkeys(targets)),
        families=tuple(dict.fromkeys(families)) or ("hybrid-swa",),
        page_sizes=tuple(dict.fromkeys(page_sizes)) or None,
        sharing=sharing,
        requests=requests,
        size=size,
        size_swa=size_swa,
        need_sort=need_sort,
        optimistic=optimistic,
        level=level,
        laws_only=laws_only,
        seed=secrets.randbits(32) if seed is None else seed,
        device=device,
        out=out,
        cache=cache,
        known=known_file(known, update=update_known),
    )
    if "" in options.targets:
        raise UsageError("a target has no name: 'kvoracle targets' lists the known ones")
    # Said here, before anything runs, rather than by a child.
    list(options.days())
    return run_and_show(options, form, update_known=update_known)
