"""Running a child under NVIDIA's compute-sanitizer, and what its report says, as findings.

Guarantees that equal errors of one kernel are one finding, that a report which says nothing of a run is a problem and no clean bill, and
that the sanitizer sees every buffer as an allocation of its own. What it sees is what the tool sees: ``memcheck`` accesses outside
allocations, ``racecheck`` races in shared memory, ``initcheck`` reads of what nobody wrote.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct

from oracle.errors import UsageError
from oracle.finding import Finding
from oracle.operations import kind_of
from oracle.trace import Trace

Tool = Literal["memcheck", "racecheck", "initcheck"]
TOOLS: tuple[Tool, ...] = get_args(Tool)
PROGRAM = "compute-sanitizer"
_HOMES = ("CUDA_HOME", "CUDA_PATH")

_LINE = re.compile(r"^=========( +)(\S.*)$")
_SUMMARY = re.compile(r"^(ERROR|RACECHECK) SUMMARY: ")
_NO_ERROR = ("COMPUTE-SANITIZER", "Target application returned an error")
_PLACE = re.compile(
    r"\bat (?P<kernel>[^\s+(]+)(\([^)]*\))?(\+0x[0-9a-f]+)?( in (?P<place>\S+?:\d+))?"
)
_COPY = re.compile(r"\bon access by (?P<copy>\w+)")
_BACKTRACE = "Saved host backtrace"


class SanitizerError(Struct, frozen=True):
    """One kind of error: what it is, in which kernel (or copy) and on which line ("" if the report does not say), and how often it was reported.

    ``detail`` is what the report said of it the first time, in one line.
    """

    what: str
    kernel: str
    place: str
    detail: str
    count: int = 1


class Sanitizer(Struct, frozen=True):
    """The program at ``program`` with ``tool``, which writes its report to ``log``."""

    program: str
    tool: Tool
    log: str

    def command(self) -> tuple[str, ...]:
        """What stands in front of the command that it is to watch."""
        options: tuple[str, ...] = ("--tool", self.tool, "--log-file", self.log)
        # And not the compilers that Triton starts.
        options += ("--target-processes", "application-only")
        if self.tool == "memcheck":
            # Torch asks the driver of addresses that it does not know, as it may.
            options += ("--report-api-errors", "no")
        return (self.program, *options)

    def environment(self) -> dict[str, str]:
        """What the watched process needs: with torch's own cache, most of its memory would be one allocation."""
        return {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}


def find_sanitizer() -> str:
    """The program on PATH or in the CUDA toolkit's folder. Raises ``UsageError`` where there is none."""
    folders = [Path(os.environ[home]) / "bin" for home in _HOMES if os.environ.get(home)]
    found = shutil.which(PROGRAM)
    for folder in folders:
        found = found or shutil.which(PROGRAM, path=str(folder))
    if found is None:
        raise UsageError(
            f"--sanitizer needs {PROGRAM} of the CUDA toolkit, which is neither on PATH nor in CUDA_HOME/bin"
        )
    return found


def read_report(log: Path) -> list[SanitizerError]:
    """The errors of a report, each kind once, in their order. Raises ``UsageError`` when it does not say that it saw a run to the end."""
    try:
        text = log.read_text(errors="replace")
    except OSError:
        text = ""
    records = list(_records(text))
    if not any(_SUMMARY.match(lines[0]) for lines in records):
        said = records[-1][0] if records else "nothing"
        raise UsageError(
            f"{PROGRAM} made no report ({said}): the target has to launch kernels on a GPU, so add --device cuda"
        )
    errors: dict[tuple[str, str, str], SanitizerError] = {}
    for lines in records:
        if _SUMMARY.match(lines[0]) or lines[0].startswith(_NO_ERROR):
            continue
        error = _error(lines)
        key = (error.what, error.kernel, error.place)
        count = errors[key].count + 1 if key in errors else 1
        errors[key] = SanitizerError(*key, detail=errors.get(key, error).detail, count=count)
    return list(errors.values())


def findings_of(
    errors: Sequence[SanitizerError], tool: Tool, target: str, versions: dict[str, str], ran: Trace
) -> list[Finding]:
    """The errors as findings on ``ran``, the trace that was replayed as far as it came: they are told at its last operation."""
    last = ran.operations[-1] if ran.operations else None
    return [
        Finding(
            family=ran.geometry.family,
            kind="memory",
            quantity=f"{tool}: {error.what}",
            index=max(0, len(ran.operations) - 1),
            operation="start" if last is None else kind_of(last),
            method=error.kernel or "kernel",
            expected="no error",
            got=f"{error.detail} ({error.count} times)" if error.count > 1 else error.detail,
            target=target,
            versions=versions,
        )
        for error in errors
    ]


def _records(text: str) -> Iterator[list[str]]:
    """What the report says, record by record: a headline and the lines that are indented below it."""
    record: list[str] = []
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        if len(match.group(1)) == 1:
            if record:
                yield record
            record = []
        record.append(match.group(2).strip())
    if record:
        yield record


def _error(lines: list[str]) -> SanitizerError:
    own = list(takewhile(lambda line: not line.startswith(_BACKTRACE), lines))
    # A copy between host and device is told by addresses, which differ each time.
    copy = next(filter(None, (_COPY.search(line) for line in own)), None)
    found = next(filter(None, (_PLACE.search(line) for line in own)), None)
    if copy is not None:
        kernel, place = copy["copy"], ""
    else:
        kernel, place = (found["kernel"], found["place"] or "") if found is not None else ("", "")
    headline = own[0].removeprefix("Error: ").removeprefix("Warning: ")
    # Where a race is told, the headline goes on to its place.
    what = headline.split(" at ")[0].rstrip(".:")
    return SanitizerError(what, kernel, place, "; ".join(own))
