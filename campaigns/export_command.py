"""``kvoracle export``: a saved trace as a program, a test or a bug report that needs no kvoracle."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from campaigns.export import FORMATS, Format, render, run_script
from campaigns.messages import Where
from campaigns.options import level_option
from campaigns.output_folder import write_whole
from campaigns.scripting import tree_of
from oracle.errors import UsageError
from oracle.finding import Finding
from oracle.geometry import Level
from oracle.lockstep import Judging, Session, run_trace
from oracle.target import Target
from oracle.trace import Trace, read_trace

SHOWN = {
    True: "the fault is there",
    False: "the fault does not show",
    None: "the script could not run",
}


@click.command()
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--target", required=True, help="What the program puts under test.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="script",
    show_default=True,
    help="A program, a pytest file, or a bug report with the program in it.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write (default: standard output). A script is run once right after it is written.",
)
@level_option(None, "How the allocator's invariants speak (default: as the trace says).")
@click.option(
    "--cache",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where fetched releases are kept (default: KVORACLE_CACHE, else the user's cache).",
)
def export(
    trace: Path,
    target: str,
    form: Format,
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
    from targets.registry import make_target

    read = read_trace(trace)
    if level is not None:
        read = msgspec.structs.replace(read, mode=msgspec.structs.replace(read.mode, level=level))
    session, finding = _judged(read, make_target(target, cache=cache))
    name = out.name if out is not None else ""
    text = render(read, target, format=form, finding=finding, session=session, file_name=name)
    if out is None:
        click.echo(text, nl=False)
        return 0
    try:
        write_whole(out, text.encode())
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror or error}") from error
    shown = ""
    if form == "script":
        where = Where(target=target, cache=None if cache is None else str(cache), journal="")
        shown = f": {SHOWN[run_script(out, argument=tree_of(where))]}"
    click.echo(f"{out}{shown}")
    return 0


def _judged(trace: Trace, target: Target) -> tuple[Session, Finding | None]:
    """The session to export and its finding: the first that is no hazard, else the first, of the prediction or the laws."""
    session = run_trace(trace, [target], keep_records=True)
    if not session.findings:
        lawful = run_trace(trace, [target], Judging(prediction=False), keep_records=True)
        session = lawful if lawful.findings else session
    found = sorted(session.findings, key=lambda finding: finding.kind == "hazard")
    return session, found[0] if found else None
