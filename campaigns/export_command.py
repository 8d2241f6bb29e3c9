"""``kvoracle export``: a saved trace as a program, a test or a bug report that needs no kvoracle."""

from __future__ import annotations

from pathlib import Path

import click
from msgspec.structs import replace

from campaigns.child import Gone
from campaigns.child_pool import run_jobs
from campaigns.export_run import run_script
from campaigns.interruption import Interruption
from campaigns.lane import problem_of
from campaigns.messages import (
    EXPORT_FORMATS,
    Broken,
    Event,
    Exported,
    ExportFormat,
    ExportJob,
    Refused,
    Where,
)
from campaigns.options import NamedPath, level_option
from campaigns.output_folder import write_whole
from campaigns.scripting import tree_of
from oracle.errors import UsageError
from oracle.geometry import Level
from oracle.trace import read_trace

SHOWN = {
    True: "the fault is there",
    False: "the fault does not show",
    None: "the script could not run",
}


@click.command(short_help="Make a program of a saved trace that needs no kvoracle.")
@click.argument("trace", type=NamedPath(path_type=Path))
@click.option("--target", required=True, help="What the program puts under test.")
@click.option(
    "--format",
    "form",
    type=click.Choice(EXPORT_FORMATS),
    default="script",
    show_default=True,
    help="A program, a pytest file, or a bug report with the program in it.",
)
@click.option(
    "--out",
    type=NamedPath(path_type=Path, dir_okay=False),
    help="The file to write (default: standard output). A script is run once right after it is written.",
)
@level_option(None, "How the allocator's invariants speak (default: as the trace says).")
@click.option(
    "--cache",
    type=NamedPath(path_type=Path, file_okay=False),
    help="Where fetched releases are kept (default: KVORACLE_CACHE, else the user's cache).",
)
def export(
    trace: Path,
    target: str,
    form: ExportFormat,
    out: Path | None,
    level: Level | None,
    cache: Path | None,
) -> int:
    """Make a program of a saved trace, which runs with torch and the target alone.

    The program prints what the contract expects and what the allocator did. It exits with 1 while the fault is there, with 0
    when it is fixed and with 2 when it cannot run. It takes the folder of an unpacked SGLang wheel or a checkout as
    its argument; without one it uses the installed release, or the fetched one.

    \b
    Examples:
      kvoracle export kvoracle-findings/SIGNATURE.json --target sglang==0.5.23 --out fault.py
      kvoracle export kvoracle-findings/SIGNATURE.json --target eager --format pytest > test_fault.py

    Exit codes: 0 when it was made (whatever it shows), 2 when it cannot be made.
    """
    read = read_trace(trace)
    if level is not None:
        read = replace(read, mode=replace(read.mode, level=level))
    where = Where(target=target, cache=None if cache is None else str(cache), journal="")
    name = out.name if out is not None else ""
    text = _exported(ExportJob(where=where, trace=read, form=form, file_name=name))
    if out is None:
        click.echo(text, nl=False)
        return 0
    try:
        write_whole(out, text.encode())
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror or error}") from error
    shown = ""
    if form == "script":
        shown = f": {SHOWN[run_script(out, argument=tree_of(where))]}"
    click.echo(f"{out}{shown}")
    return 0


def _exported(job: ExportJob) -> str:
    """The text, made in a child. Raises ``UsageError`` with the reason when there is none, ``click.Abort`` when it was interrupted."""
    heard: list[Event | Gone] = []
    with Interruption() as interruption:
        done = run_jobs(
            [lambda journal: replace(job, where=replace(job.where, journal=str(journal)))],
            1,
            lambda _, event: heard.append(event),
            interruption,
        )
    if not done:
        raise click.Abort
    for event in heard:
        if isinstance(event, Exported):
            return event.text
        if isinstance(event, Refused | Broken):
            raise UsageError(problem_of(event))
    (gone,) = [event for event in heard if isinstance(event, Gone)]
    raise UsageError(
        f"the process of {job.where.target} was ended by {gone.how or 'itself'}, so there is no program to make: "
        f"'kvoracle replay' says at which operation"
    )
