"""Making a trace short that ends the process: each candidate runs in a process forked for it.

Guarantees that a candidate counts only if it ends its process in the same way. Works on a CPU where processes can be forked; elsewhere
the trace stays as it is.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from campaigns.deaths import EARLY_END, death_finding, name_of_end
from campaigns.journal import read_journal
from campaigns.leaving import leave, leave_because_of
from campaigns.messages import DeathJob, Event, Progressed, Reduced, Tally
from campaigns.shortening import NOT_STEADY, reduce_bounded, trace_until
from oracle.finding import Finding, signature
from oracle.lockstep import Judging, run_trace
from oracle.target import Target
from oracle.trace import Trace

SECONDS_FOR_A_CANDIDATE = 20
OPERATIONS_A_SECOND = 500
MOST_SECONDS_FOR_A_CANDIDATE = 150
"""Long traces get longer, but less than a process may say nothing."""
LIVED = b"lived"
"""What the process of a candidate says when the trace did not end it."""
NO_SCRIPT = "no script: it would end like the process, so replay the trace"
NO_FORK = "the trace was not reduced, because it ends the process"


def shorten_death(
    job: DeathJob,
    target: Target,
    tell: Callable[[Event], None],
    interrupted: Callable[[], bool],
) -> None:
    """Tell the death with a shorter trace."""
    trace, finding, remark = trace_until(job.trace, job.finding), job.finding, NO_SCRIPT

    def run(candidate: Trace) -> Sequence[Finding]:
        return _fate(job, target, candidate)

    def show_life() -> None:
        tell(Progressed(job.trace.geometry.family, Tally()))

    if job.where.device != "cpu" or not hasattr(os, "fork"):
        remark = NO_FORK
    elif not run(trace):
        remark = NOT_STEADY
    else:
        trace, finding = reduce_bounded(trace, finding, run, hurry=interrupted, alive=show_life)
    tell(
        Reduced(
            finding=finding,
            trace=trace,
            signature=signature(finding, trace.operations),
            remark=remark,
        )
    )


def _fate(job: DeathJob, target: Target, trace: Trace) -> list[Finding]:
    """The death of a process that runs ``trace``; nothing when it lives or takes too long."""
    told, tells = os.pipe()
    child = os.fork()
    if child == 0:
        _run_and_leave(target, trace, Judging(prediction=not job.laws_only), tells)
    os.close(tells)
    _, status = os.waitpid(child, 0)
    # The target may have ended it with exit code 0, and what the target forked may hold the pipe open.
    os.set_blocking(told, False)
    lived = _read(told) == LIVED
    os.close(told)
    how = name_of_end(os.waitstatus_to_exitcode(status)) or EARLY_END
    ran = read_journal(Path(job.where.journal))
    if lived or how == signal.SIGALRM.name or ran is None:
        return []
    family = trace.geometry.family
    return [death_finding(job.where.target, target.versions, family, ran, how)]


def _read(told: int) -> bytes:
    try:
        return os.read(told, len(LIVED))
    except BlockingIOError:
        return b""


def _run_and_leave(target: Target, trace: Trace, judging: Judging, tells: int) -> NoReturn:
    try:
        # A candidate that hangs is ended by the alarm, whose default is death.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        longer = SECONDS_FOR_A_CANDIDATE + len(trace.operations) // OPERATIONS_A_SECOND
        signal.alarm(min(longer, MOST_SECONDS_FOR_A_CANDIDATE))
        # As in a campaign, an exception is told, and ends nothing.
        with suppress(Exception):
            run_trace(trace, [target], judging)
        os.write(tells, LIVED)
    except BaseException as end:  # noqa: BLE001 (what ended the process of the campaign ends this one alike)
        leave_because_of(end)
    leave()
