"""One process's share of the random traces of a run, on ``fused`` and ``eager`` in lockstep with the prediction.

Trace number n of a run is the same whoever runs it: n goes round all page sizes, families and callers, well mixed so that a short run has
some of each, and the seed grows once all of them were had.
"""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Iterator
from time import time

from corpus_tally import Report, Tally
from msgspec import Struct
from random_traces import random_trace

from oracle.geometry import FAMILIES, LEVELS, Mode
from oracle.lockstep import Judging, run_trace
from oracle.trace import Callers, Trace
from targets.eager.target import EagerTarget
from targets.fused import memory
from targets.fused.target import FusedTarget


class Share(Struct, frozen=True, kw_only=True):
    """What to run: every ``of``-th trace from ``number`` on, of those of the seeds from ``first`` on.

    It ends after ``traces`` traces of the whole run or ``calls`` calls of this share, or at the time ``end`` (seconds since the epoch), whichever
    comes first. ``sanitized``: ``fused`` alone, without guards, for a sanitizer that watches this process.
    """

    device: str
    page_sizes: tuple[int, ...]
    callers: tuple[Callers, ...]
    first: int
    number: int
    of: int
    traces: float
    calls: float
    end: float
    sanitized: bool


def run_share(share: Share) -> Report:
    """Run it and say what came of it."""
    targets: list[EagerTarget] = [FusedTarget(share.device)]
    if share.sanitized:
        memory.leave_out_guards()
    else:
        targets.append(EagerTarget("cpu"))
    report = Report({page_size: Tally() for page_size in share.page_sizes}, [])
    calls = 0
    for seed, trace in _traces(share):
        if calls >= share.calls or time() >= share.end:
            break
        page_size, callers = trace.geometry.page_size, trace.callers
        # What the parent quotes should this process end in it.
        name = f"{trace.family}, seed {seed}, page size {page_size}, {callers}"
        print(f"trace {name}", file=sys.stderr)
        session = run_trace(trace, targets, Judging(laws=False), keep_records=True)
        tally = report.tallies[page_size]
        calls += session.steps
        tally.traces += 1
        tally.calls += session.steps
        setattr(tally, callers, getattr(tally, callers) + session.steps)
        # The records are of each target, and these agree where there is no finding.
        for record in (session.records or [])[:: len(targets)]:
            tally.count(record, page_size)
        report.findings += [f"{name}: {finding.sentence()}" for finding in session.findings]
    return report


def _traces(share: Share) -> Iterator[tuple[int, Trace]]:
    kinds = [
        kind
        for kind in itertools.product(FAMILIES, share.callers, share.page_sizes)
        if kind[0] != "token" or kind[2] == 1
    ]
    random.Random(0).shuffle(kinds)
    for number in itertools.count(share.number, share.of):
        if number >= share.traces:
            return
        family, callers, page_size = kinds[number % len(kinds)]
        seed = share.first + number // len(kinds)
        mode = Mode(level=LEVELS[seed % len(LEVELS)], debug=seed % 5 == 4)
        yield seed, random_trace(family, page_size, seed, callers, mode)
