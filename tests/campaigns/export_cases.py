"""Traces, findings and ways to run what is exported, for the tests of the exporter."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any

from oracle.finding import Finding, FindingKind
from oracle.geometry import Geometry, Mode
from oracle.operations import (
    Alloc,
    Base,
    Drain,
    Extend,
    ExtendTail,
    Free,
    FreeSegment,
    GroupBegin,
    GroupEnd,
    Load,
    Part,
    Release,
    kind_of,
)
from oracle.trace import Trace

ROOT = Path(__file__).parents[2]
LEVELS = ("SGLANG_INVARIANT_CHECK", "SGLANG_DEBUG_MEMORY_POOL")


def hybrid(full: int, swa: int, page_size: int, *, need_sort: bool = False) -> Geometry:
    return Geometry(
        family="hybrid-swa", size=full, size_swa=swa, page_size=page_size, need_sort=need_sort
    )


def trace(geometry: Geometry, *operations: Any, mode: Mode | None = None) -> Trace:
    return Trace(geometry=geometry, callers="mixed", operations=operations, mode=mode or Mode())


UNMAPPED_REPRESENTATIVE = trace(
    hybrid(4096, 4096, 256),
    Alloc(amount=0, unit="pages"),
    Load(amount=0),
    FreeSegment(method="free_swa_segment"),
)
UNALIGNED_TAIL = trace(
    hybrid(32, 32, 4), ExtendTail(amount=8, tail=6, aligned=False), FreeSegment(pages=1)
)
SLOT_ZERO = trace(
    hybrid(8, 8, 1),
    Alloc(amount=4),
    Free(method="free_swa", count=1),
    Free(method="free_swa", count=1),
)
KNOWN_BUGS = {
    "unmapped-representative": UNMAPPED_REPRESENTATIVE,
    "unaligned-tail": UNALIGNED_TAIL,
    "slot-zero-page-size-1": SLOT_ZERO,
}

GROWN = (Alloc(amount=6), Extend(parts=(Part(request=1, amount=3), Part(amount=4))))
"""Two requests, the first of 9 slots with a partial page, the second of 4."""
GROUPED = (*GROWN, GroupBegin(), Free(method="free", request=0, count=3))
DRAINED = (*GROWN, Drain())
PAGED = Geometry(family="paged", size=32, page_size=4)
SEGMENTED = trace(PAGED, Alloc(amount=2, unit="pages"), GroupBegin(), Release(), GroupEnd())


def finding_at(
    subject: Trace,
    kind: FindingKind,
    quantity: str,
    *,
    method: str = "state",
    index: int = -1,
    breach: str = "",
) -> Finding:
    """A finding of that kind at an operation of the trace (the last one)."""
    index = index % len(subject.operations) if subject.operations else -1
    operation: Base = subject.operations[index] if subject.operations else Base()
    return Finding(
        family=subject.family,
        kind=kind,
        quantity=quantity,
        breach=breach,
        index=index,
        operation=kind_of(operation),
        method=method,
        expected="what the contract says",
        got="something else",
        target="eager",
        versions={"torch": "2.x"},
    )


def loaded(source: str) -> Any:
    """The module that an exported file defines. Its ``build`` and ``reproduce`` run at the levels that it asks for, nothing else does."""
    module = ModuleType("exported")
    module.__file__ = "exported.py"
    with _levels({}):
        exec(compile(source, "exported.py", "exec"), module.__dict__)  # noqa: S102
        asked = {name: os.environ[name] for name in LEVELS if name in os.environ}
    for name in ("build", "reproduce"):
        vars(module)[name] = _at(asked, vars(module)[name])
    return module


def _at(levels: dict[str, str], function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def called(*arguments: Any) -> Any:
        with _levels(levels):
            return function(*arguments)

    return called


@contextmanager
def _levels(levels: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.pop(name, None) for name in LEVELS}
    os.environ.update(levels)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def ran(path: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run an exported file in a process of its own, in an empty folder's spirit: this package is on the path only for own targets."""
    return subprocess.run(
        [sys.executable, str(path), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables},
        timeout=120,
    )


def assert_formatted(source: str, path: Path) -> None:
    """ruff's formatter leaves the file as it is, at its own line length and at ours."""
    path.write_text(source)
    for width in ("88", "100"):
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "ruff",
                "format",
                "--isolated",
                "--line-length",
                width,
                "--diff",
                str(path),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"at {width} columns: {done.stdout}{done.stderr}"
