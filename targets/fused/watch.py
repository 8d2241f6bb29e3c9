"""Evaluates the invariants from what kernels report (contract_paged_swa §2).

Guarantees the levels and buckets of the torch allocators' signals. Where checks are exact the report is read before the host goes
on, and the kernel has left everything as it was when the level asserts; otherwise an assert is asynchronous.
"""

from __future__ import annotations

import torch

from targets.eager.signals import Invariant, Level, Signals, current_level
from targets.fused.workspace import Workspace


class Watch:
    """How one call evaluates one invariant.

    ``watched``: the kernel has to count. ``stop``: it must change nothing at a hit. Raises ValueError for a level out of range.
    """

    __slots__ = ("_asserting", "_exact", "_invariant", "_level", "_signals", "stop", "watched")

    def __init__(self, signals: Signals, invariant: Invariant, *, exact: bool) -> None:
        self._signals = signals
        self._invariant = invariant
        self._exact = exact
        self._level = current_level()
        self._asserting = self._level >= invariant.bucket.value
        self.watched = self._level is not Level.OFF or signals.observer is not None
        self.stop = exact and self._asserting

    def judge(self, workspace: Workspace, position: int, message: str) -> None:
        """Read what the kernel counted at ``position`` of the report and speak as the level says.

        Raises RuntimeError ``invariant-check FAILED [name]: ...`` at a hit when the level asserts and checks are exact.
        """
        if not self.watched:
            return
        if self._asserting and not self._exact and self._signals.observer is None:
            torch._assert_async(workspace.report[position] == 0, self._failure(message))
            return
        self.found(workspace.read()[position], message)

    def found(self, false_elements: int, message: str) -> None:
        """Speak about ``false_elements``, which were read already."""
        signals, invariant = self._signals, self._invariant
        if not self.watched:
            return
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
