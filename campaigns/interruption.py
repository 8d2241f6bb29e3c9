"""Ctrl-C as something to look at, so that a campaign ends with its report.

Guarantees that SIGINT (and SIGTERM, which ends jobs on build machines) raises nothing while it is watched, but for one who insists
while the report is printed, and that the former handlers are back afterwards.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class Interruption:
    """``count``: how often the person asked to stop. Use as a context manager; outside the main thread it stays 0."""

    def __init__(self) -> None:
        self.count = 0
        self._former: dict[signal.Signals, Any] = {}
        self._most: int | None = None

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._former[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    def report_begins(self) -> None:
        """From now on only the second Ctrl-C raises ``KeyboardInterrupt``: whoever should read the report may have stopped reading."""
        self._most = self.count + 1

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1
        if self._most is not None and self.count > self._most:
            raise KeyboardInterrupt


def ignore_interruptions() -> None:
    """Let Ctrl-C do nothing for what is left of this process: all is said, and the interpreter would print a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
