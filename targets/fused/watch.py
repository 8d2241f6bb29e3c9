"""Evaluates the invariants from what kernels report (contract_paged_swa §2).

Guarantees the levels and buckets of the torch allocators' signals. Where checks are exact the report is read before the host goes
on, and the kernel has left everything as it was when the level asserts; otherwise an assert is asynchronous.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import torch

from targets.eager.signals import INVARIANT_CHECK, Invariant, Level, Signals, current_level
from targets.fused.workspace import Workspace

# ``os.environ`` translates name and value at each look, which costs a twentieth of a call. Where Python has no table
# under it the long way is taken.
_variables: Mapping[object, object] = getattr(os.environ, "_data", {})
_NAME, _ZERO = os.environ.encodekey(INVARIANT_CHECK), os.environ.encodevalue("0")


def watch_for(signals: Signals, invariant: Invariant, *, exact: bool) -> Watch | None:
    """How the call that asks evaluates ``invariant``; None when nobody would hear of it.

    Raises ValueError when the level is out of range.
    """
    if signals.observer is None and levels_are_off():
        return None
    return Watch(signals, invariant, current_level(), exact=exact)


def levels_are_off() -> bool:
    """Whether the level is off. Raises ValueError when it is out of range."""
    return _variables.get(_NAME) == _ZERO or current_level() is Level.OFF


class Watch:
    """How one call evaluates one invariant at ``level``. ``stop``: the kernel must change nothing at a hit."""

    def __init__(
        self, signals: Signals, invariant: Invariant, level: Level, *, exact: bool
    ) -> None:
        self._signals = signals
        self._invariant = invariant
        self._exact = exact
        self._level = level
        self._asserting = level >= invariant.bucket.value
        self.stop = exact and self._asserting

    def judge(self, workspace: Workspace, position: int, message: str) -> None:
        """Read what the kernel counted at ``position`` of the report and speak as the level says.

        Raises RuntimeError ``invariant-check FAILED [name]: ...`` at a hit when the level asserts and checks are exact.
        """
        if self._asserting and not self._exact and self._signals.observer is None:
            torch._assert_async(workspace.report.tensor[position] == 0, self._failure(message))
            return
        self.found(workspace.read()[position], message)

    def found(self, false_elements: int, message: str) -> None:
        """Speak about ``false_elements``, which were read already."""
        signals, invariant = self._signals, self._invariant
        if signals.observer is not None:
            signals.observer.evaluated(invariant.name, false_elements)
        if self._asserting:
            if false_elements:
                raise RuntimeError(self._failure(message))
        elif self._level is not Level.OFF:
            signals._count(invariant, false_elements, message)

    def _failure(self, message: str) -> str:
        return (
            f"invariant-check FAILED [{self._invariant.name}]: {self._invariant.promise}: {message}"
        )
