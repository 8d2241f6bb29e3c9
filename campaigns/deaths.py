"""What the end of a process means: its name, and the finding that it is.

Guarantees that ends which a person would call the same have the same name, so that they are one finding.
"""

from __future__ import annotations

import signal

from oracle.finding import Finding
from oracle.geometry import Family
from oracle.operations import kind_of
from oracle.trace import Trace
from targets.lost_device import NAME_BY_EXIT_CODE

EARLY_END = "an early end"
"""The name of an end with exit code 0 before all was done."""


def name_of_end(code: int) -> str:
    """``SIGSEGV``, ``exit code 3`` or ``illegal memory access`` for the exit code of a process (negative: a signal); "" for 0."""
    if code in NAME_BY_EXIT_CODE:
        return NAME_BY_EXIT_CODE[code]
    if code >= 0:
        return f"exit code {code}" if code else ""
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def death_finding(
    target: str,
    versions: dict[str, str],
    family: Family,
    trace: Trace,
    how: str,
    *,
    last_words: str = "",
    hangs: bool = False,
) -> Finding:
    """The finding that a process's end is. ``trace`` is what its journal holds, ``how`` the name of the end."""
    last = trace.operations[-1] if trace.operations else None
    got = f"it was ended by {how}"
    if hangs:
        got = "it said nothing for minutes and was ended"
    elif last_words:
        got += f" ({last_words})"
    return Finding(
        family=family,
        kind="hang" if hangs else "crash",
        quantity="process" if hangs else f"process {how}",
        index=max(0, len(trace.operations) - 1),
        operation="start" if last is None else kind_of(last),
        method="process",
        expected="the process goes on",
        got=got,
        target=target,
        versions=versions,
    )
