"""Replaying the traces of known findings at the start of a campaign's child, so that a repaired one is noticed in every run.

Guarantees that whether an entry still holds depends on its own trace alone, never on what the campaign happens to draw, nor on who
judges it: prediction and laws both look at these traces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from campaigns.messages import Event, KnownEntry, KnownReplayed, KnownState
from oracle.errors import UsageError
from oracle.finding import Finding, signature
from oracle.lockstep import run_trace
from oracle.target import Target


def replay_known(
    entries: Iterable[KnownEntry], target: Target, tell: Callable[[Event], None]
) -> None:
    """Tell for each entry whether its trace still shows its finding. What would end the process is not run, and counts as known."""
    for entry in entries:
        state: KnownState = "known"
        if not entry.ends_process:
            shown = _shows(entry, target)
            state = ("expired" if entry.expired else "known") if shown else "stale"
        elif entry.expired:
            state = "expired"
        tell(KnownReplayed(entry.id, state))


def entry_for(entries: Iterable[KnownEntry], finding: Finding, name: str = "") -> KnownEntry | None:
    """The entry that accepts ``finding`` (``name``: its signature, once it is reduced); None when none does."""
    for entry in entries:
        if not entry.expired and entry.accepts(finding, name):
            return entry
    return None


def _shows(entry: KnownEntry, target: Target) -> bool:
    try:
        session = run_trace(entry.trace, [target])
    except UsageError:
        # This target cannot run the trace at all: so it does not show the finding.
        return False
    return any(
        entry.accepts(found, signature(found, entry.trace.operations[: found.index + 1]))
        for found in session.findings
    )
