"""A campaign as its main process runs it: a child for each target, their findings saved, the verdict at the end.

Guarantees that a child that dies or stalls is a finding and that another child goes on with the target, that what a child
found before is saved, and that an interruption ends with a verdict too.
"""

from __future__ import annotations

import queue
import tempfile
from collections import deque
from collections.abc import Callable
from itertools import count
from pathlib import Path
from time import monotonic

from campaigns.campaign_options import CampaignOptions
from campaigns.child import STALL_SECONDS, Child, Gone, Inbox
from campaigns.interruption import Interruption
from campaigns.lane import Lane
from campaigns.messages import Broken, Event, Job, Refused, Started
from campaigns.output_folder import OutputFolder
from campaigns.saving import Saver
from campaigns.verdict import TargetVerdict, Verdict

SECONDS_AFTER_INTERRUPTION = 30.0
"""How long an interrupted campaign waits for its children to finish and its scripts to run."""
HEARING_SECONDS = 0.1


class Listener:
    """What is told how a campaign goes on. Does nothing itself; the progress display and the log derive from it."""

    def started(self, target: TargetVerdict) -> None:
        """A target was made."""

    def heard(self, target: TargetVerdict, event: Event) -> None:
        """A target's child said something."""

    def waiting(self, scripts: int) -> None:
        """All children are done, and ``scripts`` scripts still run."""


class FuzzRun:
    """One campaign. ``run`` does it and gives the verdict. Raises ``UsageError`` when the folder cannot be written."""

    def __init__(
        self, options: CampaignOptions, listener: Listener, interruption: Interruption
    ) -> None:
        self._options = options
        self._listener = listener
        self._interruption = interruption
        self._folder = OutputFolder(options.out, options.targets)
        self._saver = Saver(self._folder, options.origin)
        self._inbox: Inbox = queue.SimpleQueue()
        self._lanes: dict[Child, Lane] = {}
        self._stopping_since: float | None = None

    def run(self) -> Verdict:
        """Judge every target and return the verdict; the targets stand in the order in which they were named."""
        lanes = [
            Lane(
                TargetVerdict(target, {}, []),
                shares,
                self._saver,
                self._options.known_on(target),
            )
            for target, shares in zip(self._options.targets, self._options.shares(), strict=True)
        ]
        with tempfile.TemporaryDirectory(prefix="kvoracle-") as journals:
            try:
                self._run_lanes(lanes, Path(journals))
            finally:
                for child in list(self._lanes):
                    child.kill()
        self._wait_for_scripts()
        self._folder.leave()
        return Verdict(
            [lane.verdict for lane in lanes],
            fail_on_hazard=self._options.fail_on_hazard,
            interrupted=self._interruption.count > 0,
        )

    def _run_lanes(self, lanes: list[Lane], journals: Path) -> None:
        waiting = deque(enumerate(lanes))
        ordinal = count()
        while waiting or self._lanes:
            while waiting and len(self._lanes) < self._options.workers and not self._is_stopping():
                number, lane = waiting.popleft()
                job = self._job(f"{number}-{next(ordinal)}", lane, journals)
                self._lanes[Child(job, journals, self._inbox)] = lane
            if self._is_stopping():
                waiting.clear()
            self._hear(lambda number, lane: waiting.appendleft((number, lane)), lanes)

    def _job(self, name: str, lane: Lane, journals: Path) -> Job:
        options = self._options
        where = options.where(lane.verdict.target, journals / f"{name}.journal")
        death = lane.death_job(where, laws_only=options.laws_only)
        if death is not None:
            return death
        share = lane.take_up()
        return options.job(
            lane.to_do,
            where,
            share,
            known=lane.known,
            replays_known=not lane.verdict.known,
            attempt=lane.attempt,
        )

    def _hear(self, again: Callable[[int, Lane], None], lanes: list[Lane]) -> None:
        self._end_stalled()
        try:
            child, event = self._inbox.get(timeout=HEARING_SECONDS)
        except queue.Empty:
            return
        lane = self._lanes.get(child)
        if lane is None:
            return
        if isinstance(event, Gone):
            del self._lanes[child]
            lane.child_is_gone(child.job, event)
            if self._is_stopping() or not lane.has_job():
                lane.save_deaths(child.job.where)
            else:
                again(lanes.index(lane), lane)
            return
        lane.hear(child.job, event)
        if isinstance(event, Started):
            self._listener.started(lane.verdict)
        if not isinstance(event, (Refused, Broken)):
            self._listener.heard(lane.verdict, event)

    def _end_stalled(self) -> None:
        for child, lane in self._lanes.items():
            if lane.is_running and not lane.hangs and child.is_silent_for(STALL_SECONDS):
                lane.hangs = True
                child.kill()

    def _is_stopping(self) -> bool:
        """Whether the campaign was interrupted; asks the children to stop the first time, ends them when it takes too long."""
        if not self._interruption.count:
            return False
        if self._stopping_since is None:
            self._stopping_since = monotonic()
            for child in self._lanes:
                child.ask_to_stop()
        patience = monotonic() - self._stopping_since < SECONDS_AFTER_INTERRUPTION
        if self._interruption.count > 1 or not patience:
            for child, lane in self._lanes.items():
                lane.was_ended = True
                child.kill()
        return True

    def _wait_for_scripts(self) -> None:
        start = monotonic()
        while scripts := self._saver.running(HEARING_SECONDS):
            self._listener.waiting(scripts)
            late = monotonic() - start > SECONDS_AFTER_INTERRUPTION
            if self._interruption.count > 1 or (self._interruption.count and late):
                break
        self._saver.close()
