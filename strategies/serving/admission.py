"""Arrivals and prefill: prefix hits, loads from outside, tail preallocation, and prompts in chunks and batches."""

from __future__ import annotations

from oracle import operations as op
from strategies.serving.frees import release
from strategies.serving.job import Cached, Job
from strategies.serving.pressure import make_room
from strategies.serving.state import State, Steps

MOST_IN_A_BATCH = 4
LONGEST_PROMPT_BLOCKS = 12
QUIET, BUSY = 0.1, 0.6
"""Arrivals for each step of the scheduler, at night and at noon."""
NIGHT, NOON = 120, 60
"""How many steps each lasts: at night the server catches up and has idle moments."""


def arrive(state: State, step: int) -> None:
    """New requests come in: few and many of them in turn."""
    rate = QUIET if step % (NIGHT + NOON) < NIGHT else BUSY
    if state.to_come and state.draw.chance(rate):
        state.to_come -= 1
        state.waiting.append(new_job(state))


def new_job(state: State) -> Job:
    """A request as the workload has them: every second prompt ends near a page boundary."""
    draw, work, block = state.draw, state.workload, state.lengths.block
    blocks = draw.between(1, 4) if draw.chance(0.8) else draw.between(5, LONGEST_PROMPT_BLOCKS)
    prompt = blocks * block - (draw.below(8) if draw.chance(0.5) else draw.below(block))
    # Some prompts are asked for much more often than others.
    family = min(draw.below(work.prompts), draw.below(work.prompts))
    kind = draw.below(1000) / 1000
    return Job(
        prompt=max(1, prompt),
        output=draw.between(2, work.longest_output),
        family=family,
        shared=(1 + family % 5) * block + family % 3,
        draft=draw.between(2, work.longest_draft) if draw.chance(work.speculative) else 0,
        gives_back=draw.chance(0.5),
        loaded=state.hybrid and kind < work.loaded,
        remote=state.hybrid
        and state.page_size > 1
        and work.loaded <= kind < work.loaded + work.remote,
    )


def admit(state: State) -> Steps:
    """One step of prefill: running prompts get their next chunks, waiting requests join as long as they fit."""
    yield from _begin_waiting(state)
    batch = [job for job in state.running if not job.is_prefilled][:MOST_IN_A_BATCH]
    growth = {job: min(job.prompt - job.committed, state.lengths.chunk) for job in batch}
    if batch and state.workload.optimistic:
        before = {job: job.length for job in batch}
        yield from _extend(state, batch, growth)
        batch = [job for job in batch if job.length == before[job]]
        if not batch:
            return
    while batch:
        pages = sum(state.new_pages(job.length, growth[job]) for job in batch)
        yield from make_room(state, pages)
        if state.fits(pages):
            break
        batch.pop()
    if batch:
        yield from _extend(state, batch, growth)
    elif state.running and all(not job.is_prefilled for job in state.running):
        # Prompts wait for each other's pages, and nothing that runs will give any back.
        yield from _give_up_youngest(state)


def _begin_waiting(state: State) -> Steps:
    """Waiting requests whose prompt fits beside what runs become running ones, with what the cache or the outside has of them."""
    while state.waiting and len(state.running) < state.workload.most_running:
        job = state.waiting[0]
        beside = sum(not other.is_prefilled for other in state.running)
        if beside >= MOST_IN_A_BATCH:
            return
        wanted = state.pages(job.prompt) + 1
        if not state.workload.optimistic:
            if state.running and not state.fits(wanted - state.cached_pages()):
                return
            yield from make_room(state, wanted)
            if state.running and not state.fits(wanted):
                return
        state.waiting.popleft()
        state.running.append(job)
        fits = state.fits(state.pages(job.prompt))
        if job.remote and fits and job.prompt <= state.lengths.chunk:
            yield from _preallocate_tail(state, job)
        elif job.loaded:
            yield from _load(state, job)
        elif state.workload.sharing:
            yield from _hit_prefix(state, job)


def _extend(state: State, batch: list[Job], growth: dict[Job, int]) -> Steps:
    new = [job for job in batch if job.row is None]
    before = len(state.books.requests)
    yield op.Extend(
        parts=tuple(
            op.Part(request=0 if job.row is None else 1 + state.index(job.row), amount=growth[job])
            for job in batch
        )
    )
    rows = state.books.requests[before:]
    if len(rows) == len(new):
        for job, row in zip(new, rows, strict=True):
            job.row = row
    for job in batch:
        job.committed = min(job.prompt, job.length)


def _hit_prefix(state: State, job: Job) -> Steps:
    """The longest cached row of the same family is shared, at most up to the page before the prompt's last token."""
    entry = _longest(state, job.family)
    if entry is None:
        return
    size = state.page_size
    pages = min(entry.usable, job.shared, job.prompt - 1) // size
    if pages < 1 or not state.is_live(entry.row) or not entry.row.gone.isdisjoint(range(pages)):
        return
    yield from _load_back(state, entry, pages)
    before = len(state.books.requests)
    yield op.Fork(request=state.index(entry.row), pages=pages - 1)
    if len(state.books.requests) == before + 1:
        job.row = state.books.requests[-1]
        job.committed = job.hit = job.length
        # A hit makes an entry young again.
        state.cached.remove(entry)
        state.cached.append(entry)


def _load_back(state: State, entry: Cached, pages: int) -> Steps:
    """A hit on a tombstone gets the peers of its window back (§11.6, load from the host)."""
    window = range(max(0, pages - state.pages(state.lengths.window)), pages)
    if not state.hybrid or not window or not state.tombstoned(entry.row, window):
        return
    if state.fits(0, len(window)):
        yield op.Recover(request=state.index(entry.row), page=window.start, pages=len(window) - 1)


def _longest(state: State, family: int) -> Cached | None:
    entries = [entry for entry in state.cached if entry.family == family and entry.usable]
    return max(entries, key=lambda entry: entry.usable, default=None)


def _load(state: State, job: Job) -> Steps:
    """A prefix comes from outside: FULL slots with no peers, and new peers for its last pages (§6.4 direct calls, §11.6)."""
    pages = min((job.prompt - 1) // state.page_size, state.lengths.chunk // state.page_size)
    if pages < 1 or not state.fits(pages):
        return
    before = len(state.books.requests)
    yield op.Load(amount=pages - 1, unit="pages")
    if len(state.books.requests) == before:
        return
    job.row = state.books.requests[-1]
    job.committed = job.length
    back = min(pages, state.pages(state.lengths.window))
    if state.caller.has("set_full_to_swa_mapping") and state.draw.chance(0.7):
        yield op.Recover(request=0, page=pages - back, pages=back - 1)


def _preallocate_tail(state: State, job: Job) -> Steps:
    """The prompt was computed elsewhere: all of its FULL slots, and peers from the page on in which its window begins (§11.5)."""
    start = max(0, job.prompt - state.lengths.window) // state.page_size * state.page_size
    before = len(state.books.requests)
    yield op.ExtendTail(amount=job.prompt, unit="tokens", tail=job.prompt - start)
    if len(state.books.requests) > before:
        job.row = state.books.requests[-1]
        job.committed, job.evicted = job.length, start


def _give_up_youngest(state: State) -> Steps:
    """The youngest request is refused for good when it is alone, and waits again when it is not."""
    job = state.running.pop()
    if job.row is not None:
        yield from release(state, job.row)
    if state.running:
        job.row, job.committed, job.hit, job.evicted = None, 0, 0, 0
        state.waiting.append(job)
