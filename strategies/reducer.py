"""The reducer: makes a failing trace short and plain while it keeps showing the same finding.

Guarantees that the result shows a finding of the same cause, that no single operation and no pair can be deleted from
it (unless the runs gave out), and that equal inputs give equal results. Knows nothing of targets: ``run`` judges a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from oracle.finding import Finding
from oracle.trace import Trace
from strategies.reducing import arguments, deletion, geometry, long_traces, replacement
from strategies.reducing.search import Cause, Search

MOST_RUNS = 600
MOST_OPERATIONS = 60_000
MOST_TIMES_THE_TRACE = 3
"""All runs together have at most ``MOST_OPERATIONS`` operations, and those of a long trace this many times over."""


class Reduction(Struct, frozen=True):
    """A reduced trace, the finding that it shows, and how many traces were run to get there."""

    trace: Trace
    finding: Finding
    runs: int


def reduce_trace(
    trace: Trace,
    run: Callable[[Trace], Sequence[Finding]],
    cause: Cause,
    *,
    most_runs: int = MOST_RUNS,
    shown: Finding | None = None,
) -> Reduction:
    """Reduce ``trace``, which shows a finding of ``cause``. Raises ValueError when it does not.

    ``run`` gives the findings of a trace; it is called at most ``most_runs`` times and never twice on equal traces.
    Whatever it raises goes through. ``shown``: the finding that the trace is known to show, which saves the run that asks.
    """
    most_operations = MOST_OPERATIONS + MOST_TIMES_THE_TRACE * len(trace.operations)
    search = Search(run, cause, most_runs, most_operations)
    if shown is not None:
        search.start_from(trace, shown)
    elif not search.accepts(trace):
        raise ValueError(f"the trace shows no finding of cause {cause}")
    geometry.narrow_breaches(search)
    long_traces.shorten_long(search)
    long_traces.shorten_middling(search)
    while True:
        before = _bytes_of(search.best)
        deletion.delete_runs(search)
        deletion.delete_pairs(search)
        if len(search.operations) > long_traces.LONG:
            return Reduction(search.best, search.finding, search.runs)
        geometry.simplify_mode(search)
        geometry.shrink_geometry(search)
        arguments.simplify_arguments(search)
        replacement.shorten_by_replacing(search)
        if search.is_spent or _bytes_of(search.best) == before:
            geometry.widen_breaches(search)
            return Reduction(search.best, search.finding, search.runs)


def _bytes_of(trace: Trace) -> bytes:
    return msgspec.json.encode(trace)
