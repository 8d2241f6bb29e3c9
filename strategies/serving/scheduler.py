"""The scheduler's loop: a day of traffic as a stream of operations.

Guarantees that the stream ends, that a seed and equal answers give equal operations, that every operation keeps the caller's part
of the contract, and that it knows of the allocator only what the caller's books and its public available sizes say.
"""

from __future__ import annotations

from oracle import operations as op
from oracle.caller import Caller
from strategies.serving.admission import admit, arrive
from strategies.serving.decoding import decode
from strategies.serving.draw import Draw
from strategies.serving.finishing import finish
from strategies.serving.frees import evict_windows
from strategies.serving.state import State, Steps
from strategies.serving.workload import Workload

STEPS_FOR_A_REQUEST = 500
"""No day takes more steps than this for each of its requests: a scheduler that does not get on must not run for ever."""

FLUSHES = 0.05
"""How likely a step that finds nothing to do flushes the cache."""


def serve(caller: Caller, workload: Workload, seed: int) -> Steps:
    """The operations of a day, ``Drain`` last. Each must have been performed by ``caller`` before the next is asked for,
    and its available sizes must be those after it.
    """
    state = State(caller, workload, Draw(seed))
    for step in range(STEPS_FOR_A_REQUEST * (workload.requests + 1)):
        arrive(state, step)
        yield from admit(state)
        yield from evict_windows(state)
        yield from decode(state)
        yield from finish(state)
        yield from _look_around(state)
        if state.is_idle:
            yield from _rest(state)
            if not state.to_come:
                break
    yield op.Drain()


def _look_around(state: State) -> Steps:
    """Now and then somebody looks peers up, as each forward pass does."""
    if state.hybrid and state.running and state.draw.chance(0.1):
        job = state.draw.pick(state.running)
        if job.row is not None and state.is_live(job.row):
            first = max(0, job.length - state.lengths.window)
            yield op.Translate(
                request=state.index(job.row), first=first, count=job.length - first - 1
            )


def _rest(state: State) -> Steps:
    """When nothing is left to do, a server may be told to flush its cache."""
    if state.cached and state.draw.chance(FLUSHES):
        state.cached.clear()
        yield op.Clear()
