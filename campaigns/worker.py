"""The child process in which one target runs: a job comes in on standard input, events go out on standard output.

Guarantees one target, so one SGLang release, in a process; that whatever the target prints does not disturb the events;
that the child ends once it has told its end, whatever threads the target started; and that it ends when its standard input is
closed, so that none outlives the main process. Run as
``python -m campaigns.worker``.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
from pathlib import Path
from time import monotonic, sleep
from typing import BinaryIO

from campaigns.budget import share_examples
from campaigns.leaving import leave, leave_because_of
from campaigns.messages import (
    Broken,
    DeathJob,
    Ended,
    Event,
    ExportJob,
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
from campaigns.wording import one_line
from oracle.errors import KvoracleError, TargetFaultError, UsageError
from oracle.target import Target

SECONDS_TO_FINISH = 60.0
"""How long a child may go on after its standard input was closed: longer than the main process waits for it."""
POLLED = 0.2
ABANDONED = 70
"""The exit code of a child that could not finish in time."""


class Worker:
    """Does one job. ``events`` is where its events go, ``interrupted`` is set when it should come to an end."""

    def __init__(self, events: BinaryIO, interrupted: threading.Event) -> None:
        self._events = events
        self._interrupted = interrupted

    def do(self, job: Job) -> None:
        """Do the job and tell how it ended. An ``Exception`` of kvoracle's own becomes an event too."""
        try:
            self._do(job)
        except TargetFaultError as error:
            self.tell(Broken(str(error), traceback.format_exc(), ours=False))
        except KvoracleError as error:
            self.tell(Refused(str(error)))
        except Exception as error:  # noqa: BLE001 (told to the main process, which says it)
            sentence = f"kvoracle itself failed on {job.where.target}: {one_line(error)}"
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
        if isinstance(job, ReplayJob):
            self._replay(job)
            return
        target = make_target_of(job.where, probed=isinstance(job, FuzzJob) and job.costs)
        keep_journal(job.where)
        if isinstance(job, ExportJob):
            from campaigns.export_worker import export

            self.tell(Started(target.versions, ()))
            self.tell(export(job, target))
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

    def _replay(self, job: ReplayJob) -> None:
        from campaigns.replay_worker import replay, tell_costs
        from targets.lost_device import EndsWithItsDevice

        if job.sanitized:
            from targets.fused.memory import leave_out_guards

            leave_out_guards()
        target = bare_target_of(job.where)
        keep_journal(job.where)
        self.tell(Started(target.versions, (job.trace.geometry.family,), notes_of(target)))
        if not job.costs:
            replay(job, EndsWithItsDevice(target), self.tell)
            return
        from targets.probes.attaching import with_probes

        probed = with_probes(target, job.where.device)
        replay(job, EndsWithItsDevice(probed), self.tell)
        tell_costs(job, probed, self.tell)

    def _fuzz(self, job: FuzzJob, target: Target) -> None:
        from campaigns.family_campaign import FamilyCampaign
        from campaigns.known_replay import replay_known

        families = tuple(family for family in job.families if target.contract(family) is not None)
        if job.asked and families != job.families:
            lacking = next(family for family in job.families if family not in families)
            raise UsageError(f"{job.where.target} does not have the {lacking} family")
        self.tell(Started(target.versions, families, notes_of(target)))
        if job.replays_known:
            replay_known(job.known, target, self.tell)
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


def make_target_of(where: Where, *, probed: bool = False) -> Target:
    """The target under test, which ends this process when its device is lost; ``probed``: with what each call costs.

    Raises ``UsageError``, ``TargetUnavailable``, or ``BlindDetectorError`` where a probe does not work.
    """
    from targets.lost_device import EndsWithItsDevice

    target = bare_target_of(where)
    if probed:
        from targets.probes.attaching import with_probes

        target = with_probes(target, where.device)
    return EndsWithItsDevice(target)


def bare_target_of(where: Where) -> Target:
    """The target under test, which may lose its device and go on. Raises ``UsageError`` or ``TargetUnavailable``."""
    from targets.registry import make_target

    cache = Path(where.cache) if where.cache is not None else None
    return make_target(where.target, device=where.device, cache=cache)


def notes_of(target: Target) -> tuple[str, ...]:
    """What the target assumes, for a person to read: its ``notes``, where it has any."""
    return tuple(getattr(target, "notes", ()))


def keep_journal(where: Where) -> None:
    """From now on each operation is written down before it runs."""
    from campaigns.journal import Journal
    from oracle.lockstep import Session

    Session.journal = Journal(Path(where.journal)).write


def main() -> None:
    """Read one job from standard input, do it, and leave."""
    events = os.fdopen(os.dup(1), "wb")
    # What a release prints must not end up among the events.
    os.dup2(2, 1)
    job = decode_job(sys.stdin.buffer.readline())
    interrupted = threading.Event()
    parent = os.getppid()
    threading.Thread(target=_watch_input, args=(interrupted, parent), daemon=True).start()
    try:
        Worker(events, interrupted).do(job)
    except BaseException as end:  # noqa: BLE001 (a target may raise what it likes: that is how the process ends)
        leave_because_of(end)
    if isinstance(job, ReplayJob) and job.sanitized:
        # The tool looks once more when the interpreter ends by itself.
        return
    # An interpreter would wait for the threads that the target left.
    leave()


def _watch_input(interrupted: threading.Event, parent: int) -> None:
    # A read through sys.stdin would hold its lock when the interpreter ends.
    while os.read(0, 4096):
        pass
    interrupted.set()
    deadline = monotonic() + SECONDS_TO_FINISH
    # Without the main process nobody hears what is still to be told.
    while monotonic() < deadline and os.getppid() == parent:
        sleep(POLLED)
    leave(ABANDONED)


if __name__ == "__main__":
    main()
