"""``kvoracle fetch``: a release's importable files into a folder, for a machine that reaches no package index."""

from __future__ import annotations

from pathlib import Path

import click

from campaigns.options import NamedPath
from oracle.errors import UsageError


@click.command(short_help="Write the files of a release that its allocators need.")
@click.argument("target")
@click.option(
    "--into",
    type=NamedPath(path_type=Path, file_okay=False),
    required=True,
    help="The folder; it becomes a cache for --cache or KVORACLE_CACHE.",
)
@click.option(
    "--cache",
    type=NamedPath(path_type=Path, file_okay=False),
    help="Where fetched releases are kept (default: KVORACLE_CACHE, else the user's cache).",
)
def fetch(target: str, into: Path, cache: Path | None) -> None:
    """Write just the files of an SGLang release that its allocators need, about a megabyte.

    Carry the folder to a machine that reaches no package index, and name it there with --cache or KVORACLE_CACHE.

    \b
    Example:
      kvoracle fetch sglang==0.5.23 --into releases
      KVORACLE_CACHE=releases kvoracle fuzz sglang==0.5.23
    """
    from targets.sglang.fetch import write_minimal
    from targets.sglang.releases import is_specification, parse

    release = parse(target).release if is_specification(target) else None
    if release is None:
        raise UsageError(f"{target} is not a release: write sglang==X, say sglang==0.5.23")
    click.echo(write_minimal(release, into, cache))
