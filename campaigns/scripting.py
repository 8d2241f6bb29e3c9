"""The program that shows a finding: its source, made where the trace was run, and what it needs to run.

Guarantees that a finding for which no program can be made is told all the same, with the reason.
"""

from __future__ import annotations

from pathlib import Path

from campaigns.messages import Where
from oracle.errors import KvoracleError, UsageError
from oracle.finding import Finding, signature
from oracle.lockstep import Session
from oracle.target import Target
from oracle.trace import Trace
from targets.sglang.cache import cache_directory, entry_of
from targets.sglang.releases import is_specification, parse


def script_of(trace: Trace, target: Target, finding: Finding, session: Session) -> tuple[str, str]:
    """The source of the script, and why there is none ("" when there is). ``session`` ran the trace on ``target`` and kept its records."""
    # Rendering brings torch along, which only the process that runs the target needs.
    from campaigns.export import render

    name = f"{signature(finding, trace.operations)}.py"
    try:
        check_scriptable(target)
        text = render(
            trace, target.name, finding=finding, session=session, file_name=name, made=target
        )
        return text, ""
    except KvoracleError as error:
        return "", f"no script: {error}"


def check_scriptable(target: Target) -> None:
    """Raise ``UsageError`` when a program could not reach the allocator of ``target``, which was reset before."""
    if not is_specification(target.name) and not hasattr(target, "allocator"):
        raise UsageError(
            f"the target {target.name!r} does not show its allocator (as its attribute 'allocator'), and a program "
            "calls nothing else"
        )


def tree_of(where: Where) -> Path | None:
    """The folder with the release that a script of this target takes as its argument; None when it needs none."""
    if not is_specification(where.target):
        return None
    specification = parse(where.target)
    if specification.release is None:
        return specification.path
    cache = None if where.cache is None else Path(where.cache)
    return entry_of(cache_directory(cache), specification.release)
