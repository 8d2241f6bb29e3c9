"""Options that several commands share, with one meaning and one help text."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from oracle.errors import UsageError
from oracle.geometry import LEVELS

LARGEST_SEED = 2**64 - 1
FUSED, REFERENCE = "fused", "fused:reference"

Function = TypeVar("Function", bound=Callable[..., object])


class NamedPath(click.Path):
    """A path that has a name: an empty one, say of a variable that is not set, would mean the folder where the person stands."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """The path. Fails when it is empty."""
        if not os.fspath(value):
            self.fail("it is empty, so it names no file and no folder", param, ctx)
        return super().convert(value, param, ctx)


def target_options(command: Function) -> Function:
    """``--device`` and ``--cache``: where a target runs and where releases lie."""
    command = click.option(
        "--device",
        type=click.Choice(["cpu", "cuda"]),
        default="cpu",
        show_default=True,
        help="Where the allocators' tensors live.",
    )(command)
    return click.option(
        "--cache",
        type=NamedPath(path_type=Path, file_okay=False),
        help="Where fetched releases are kept (default: KVORACLE_CACHE, else the user's cache).",
    )(command)


def reference_option(command: Function) -> Function:
    """``--reference``: the torch path of ``fused``."""
    return click.option(
        "--reference",
        is_flag=True,
        help="Run the torch path of the target 'fused' in place of its kernels.",
    )(command)


def chosen_targets(targets: Sequence[str], *, reference: bool) -> list[str]:
    """The targets, each once; with ``reference``, ``fused`` by its torch path. Raises ``UsageError`` when it is not among them."""
    if not reference:
        return list(dict.fromkeys(targets))
    if not {FUSED, REFERENCE} & set(targets):
        raise UsageError(
            f"--reference is about the target {FUSED!r}, which is not among {', '.join(targets)}"
        )
    return list(dict.fromkeys(REFERENCE if target == FUSED else target for target in targets))


def laws_only_option(command: Function) -> Function:
    """``--laws-only``: judge without the prediction."""
    return click.option(
        "--laws-only",
        is_flag=True,
        help="Judge by the laws alone, without the prediction of every result and state.",
    )(command)


def level_option(default: str | None, text: str) -> Callable[[Function], Function]:
    """``--level``: how the allocator's invariants speak."""
    return click.option(
        "--level",
        type=click.Choice(LEVELS),
        default=default,
        show_default=default is not None,
        help=text,
    )


def fail_on_option(command: Function) -> Function:
    """``--fail-on hazard``: hazards count as findings."""
    return click.option(
        "--fail-on",
        type=click.Choice(["hazard"]),
        help="Leave with exit code 1 for hazards too.",
    )(command)


def known_options(command: Function) -> Function:
    """``--known`` and ``--update-known``: findings that are accepted."""
    command = click.option(
        "--update-known",
        is_flag=True,
        help="Write the file anew: without what is stale, with what was found.",
    )(command)
    return click.option(
        "--known",
        type=NamedPath(path_type=Path),
        help="A file of accepted findings; one whose trace does not show it any more fails the run.",
    )(command)
