"""The child process in which one target runs: a job comes in on standard input, events go out on standard output.

Guarantees one target, so one SGLang release, in a process; that whatever the target prints does not disturb the events;
and that the child ends when its standard input is closed, so that none outlives the main process. Run as
``python -m campaigns.worker``.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
from pathlib import Path
from typing import BinaryIO

from campaigns.budget import share_examples
from campaigns.messages import (
    Broken,
    DeathJob,
    Ended,
    Event,
    FuzzJob,
    Job,
    Refused,
    ReplayJob,
    SearchJob,
    SimulateJob,
    Started,
    Where,
    decode_job,
    encode_line,
)
from oracle.errors import KvoracleError, UsageError
from oracle.target import Target


class Worker:
    """Does one job. ``events`` is where its events go, ``interrupted`` is set when it should come to an end."""

    def __init__(self, events: BinaryIO, interrupted: threading.Event) -> None:
        self._events = events
        self._interrupted = interrupted

    def do(self, job: Job) -> None:
        """Do the job and tell how it ended. An ``Exception`` of kvoracle's own becomes an event too."""
        try:
            self._do(job)
        except KvoracleError as error:
            self.tell(Refused(str(error)))
        except Exception as error:  # noqa: BLE001 (told to the main process, which says it)
            sentence = f"kvoracle itself failed on {job.where.target}: {_one_line(error)}"
            self.tell(Broken(sentence, traceback.format_exc()))
        self.tell(Ended())

    def tell(self, event: Event) -> None:
        """Send an event. The main process being gone is no reason to fail: the child ends soon."""
        try:
            self._events.write(encode_line(event))
            self._events.flush()
        except OSError:
            self._interrupted.set()

    def _do(self, job: Job) -> None:
        target = make_target_of(job.where)
        keep_journal(job.where)
        if isinstance(job, ReplayJob):
            from campaigns.replay_worker import replay

            self.tell(Started(target.versions, (job.trace.geometry.family,)))
            replay(job, target, self.tell)
        elif isinstance(job, DeathJob):
            from campaigns.death_worker import shorten_death

            shorten_death(job, target, self.tell, self._interrupted.is_set)
        elif isinstance(job, SearchJob):
            from campaigns.search_worker import search

            self.tell(Started(target.versions, ()))
            search(job, target, self.tell, self._interrupted.is_set)
        elif isinstance(job, SimulateJob):
            from campaigns.serving_campaign import serve_days

            serve_days(job, target, self.tell, self._interrupted.is_set)
        else:
            self._fuzz(job, target)

    def _fuzz(self, job: FuzzJob, target: Target) -> None:
        from campaigns.family_campaign import FamilyCampaign
        from campaigns.known_replay import replay_known
        from oracle.lockstep import Judging

        families = tuple(family for family in job.families if target.contract(family) is not None)
        if job.asked and families != job.families:
            lacking = next(family for family in job.families if family not in families)
            raise UsageError(f"{job.where.target} does not have the {lacking} family")
        self.tell(Started(target.versions, families))
        if job.replays_known:
            replay_known(job.known, target, Judging(prediction=not job.laws_only), self.tell)
        examples = share_examples(job.examples, len(families)) if job.examples else None
        for number, family in enumerate(families):
            FamilyCampaign(
                job,
                target,
                family,
                seconds=None if job.seconds is None else job.seconds / len(families),
                examples=None if examples is None else examples[number],
                tell=self.tell,
                interrupted=self._interrupted.is_set,
            ).run()


def make_target_of(where: Where) -> Target:
    """The target under test. Raises ``UsageError`` or ``TargetUnavailable``."""
    from targets.registry import make_target

    cache = Path(where.cache) if where.cache is not None else None
    return make_target(where.target, device=where.device, cache=cache)


def keep_journal(where: Where) -> None:
    """From now on each operation is written down before it runs."""
    from campaigns.journal import Journal
    from oracle.lockstep import Session

    Session.journal = Journal(Path(where.journal)).write


def main() -> None:
    """Read one job from standard input, do it, and exit."""
    events = os.fdopen(os.dup(1), "wb")
    # What a release prints must not end up among the events.
    os.dup2(2, 1)
    job = decode_job(sys.stdin.buffer.readline())
    interrupted = threading.Event()
    threading.Thread(target=_watch_input, args=(interrupted,), daemon=True).start()
    Worker(events, interrupted).do(job)


def _watch_input(interrupted: threading.Event) -> None:
    # A read through sys.stdin would hold its lock when the interpreter ends.
    while os.read(0, 4096):
        pass
    interrupted.set()


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


if __name__ == "__main__":
    main()
