"""A step of decoding: one token for each request, or a draft that is allocated ahead and partly accepted."""

from __future__ import annotations

from oracle import operations as op
from strategies.serving.frees import release, roll_back
from strategies.serving.job import Job
from strategies.serving.pressure import make_room, retract
from strategies.serving.state import State, Steps

MOST_IN_A_CALL = 16


def decode(state: State) -> Steps:
    """Every request whose prompt is there makes its step, after requests were retracted for whom there is no room."""
    if state.workload.optimistic:
        yield from _allocate(state)
    if any(_wanted(job) for job in _ready(state)):
        yield from _find_room(state)
        yield from _allocate(state)
    for job in _ready(state):
        _accept(job, state.draw.between(1, job.draft) if job.draft else 1)
        if job.gives_back:
            yield from roll_back(state, job)
        if job.output <= 0:
            state.running.remove(job)
            state.finished.append(job)


def _ready(state: State) -> list[Job]:
    """The requests whose prompt is there."""
    return [job for job in state.running if job.is_prefilled and job.row is not None]


def _allocate(state: State) -> Steps:
    """Slots for everybody who has none left over; whoever is refused still has none."""
    ready = _ready(state)
    plain = [job for job in ready if not job.draft and _wanted(job)]
    yield from _decode_plain(state, plain)
    yield from _allocate_ahead(state, [job for job in ready if job.draft])


def _accept(job: Job, tokens: int) -> None:
    """As many tokens are settled, if the row has the slots for them."""
    settled = min(tokens, job.length - job.committed)
    job.committed += settled
    job.prompt = job.committed
    job.output -= settled


def _wanted(job: Job) -> int:
    """How many slots the row needs beyond those that it has."""
    return max(0, job.committed + max(1, job.draft) - job.length)


def _find_room(state: State) -> Steps:
    """Evict, then retract the youngest, until the step fits; the last one left that does not fit is ended."""
    while True:
        pages = sum(state.new_pages(job.length, _wanted(job)) for job in _ready(state))
        yield from make_room(state, pages)
        if state.fits(pages):
            return
        if len(state.running) > 1:
            yield from retract(state, state.running[-1])
            continue
        job = state.running.pop()
        if job.row is not None:
            yield from release(state, job.row)


def _decode_plain(state: State, jobs: list[Job]) -> Steps:
    """``alloc_decode`` names requests that are neighbours in age, so the batch is cut where another row lies between."""
    rows = {id(job.row) for job in jobs}
    run: list[int] = []
    newest_first = reversed(state.books.requests)
    runs: list[list[int]] = []
    for index, row in enumerate(newest_first):
        if id(row) in rows and len(run) < MOST_IN_A_CALL:
            run.append(index)
            continue
        if run:
            runs.append(run)
        run = [index] if id(row) in rows else []
    if run:
        runs.append(run)
    for run in runs:
        yield op.Decode(request=run[0], count=len(run) - 1)


def _allocate_ahead(state: State, jobs: list[Job]) -> Steps:
    """Slots for the drafts, in one ``alloc_extend``, for those rows that do not have enough left over."""
    parts = [
        op.Part(request=1 + state.index(job.row), amount=min(_wanted(job), state.lengths.chunk))
        for job in jobs
        if job.row is not None and _wanted(job)
    ]
    for start in range(0, len(parts), MOST_IN_A_CALL):
        yield op.Extend(parts=tuple(parts[start : start + MOST_IN_A_CALL]))
