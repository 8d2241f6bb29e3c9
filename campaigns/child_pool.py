"""Many jobs on a few child processes: each job in a child of its own, a given number of children at once.

Guarantees that each job's events are handed over in their order, its ``Gone`` last, and that no child outlives the pool: not when it is
interrupted, and not when a listener raises. A child that says nothing for long is ended.
"""

from __future__ import annotations

import os
import queue
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from campaigns.child import STALL_SECONDS, Child, Gone, Inbox
from campaigns.interruption import Interruption
from campaigns.messages import Event, Job

HEARING_SECONDS = 0.1

MakeJob = Callable[[Path], Job]
"""Makes a job from the file for its journal."""

Hear = Callable[[int, Event | Gone], None]
"""Told the place of a job and what its child said, or that it is gone."""


def cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_jobs(
    makers: Sequence[MakeJob], workers: int, hear: Hear, interruption: Interruption
) -> bool:
    """Run every job, at most ``workers`` at once; False when it was interrupted before the end."""
    waiting = deque(enumerate(makers))
    running: dict[Child, int] = {}
    inbox: Inbox = queue.SimpleQueue()
    with tempfile.TemporaryDirectory(prefix="kvoracle-") as folder:
        try:
            while waiting or running:
                if interruption.count:
                    return False
                while waiting and len(running) < max(1, workers):
                    number, make = waiting.popleft()
                    job = make(Path(folder) / f"{number}.journal")
                    running[Child(job, Path(folder), inbox)] = number
                for child in running:
                    if child.is_silent_for(STALL_SECONDS):
                        child.kill()
                try:
                    child, event = inbox.get(timeout=HEARING_SECONDS)
                except queue.Empty:
                    continue
                number = running[child]
                if isinstance(event, Gone):
                    del running[child]
                hear(number, event)
        finally:
            for child in running:
                child.kill()
    return True
