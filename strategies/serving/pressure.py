"""What the scheduler does when the pools are short: it evicts from the prefix cache, then retracts requests."""

from __future__ import annotations

from oracle import operations as op
from strategies.serving.frees import free_pages, release
from strategies.serving.job import Cached, Job
from strategies.serving.state import State, Steps


def make_room(state: State, pages: int, pages_swa: int | None = None) -> Steps:
    """Evict from the prefix cache, the oldest entry first, until that many pages fit or the cache is empty.

    Where only the SWA side is short, entries lose their peers first and stay as tombstones (§11.6).
    """
    for entry in list(state.cached):
        if state.fits(pages, pages_swa):
            return
        if not state.fits(pages, 0) or not state.hybrid:
            continue
        yield from _evict_peers(state, entry)
    while state.cached and not state.fits(pages, pages_swa):
        entry = state.cached.pop(0)
        yield from _evict_entry(state, entry)


def retract(state: State, job: Job) -> Steps:
    """A running request gives everything back and waits again; what it generated has to be computed again, too."""
    state.running.remove(job)
    if job.row is not None:
        yield from release(state, job.row)
    job.prompt = max(job.prompt, job.committed)
    job.row, job.committed, job.hit, job.evicted = None, 0, 0, 0
    job.loaded = job.remote = False
    state.waiting.appendleft(job)


def _evict_peers(state: State, entry: Cached) -> Steps:
    pages = state.evictable(entry.row, state.books.page_count(entry.row))
    if pages:
        yield op.Evict(request=state.index(entry.row), pages=pages - 1)


def _evict_entry(state: State, entry: Cached) -> Steps:
    """The whole entry goes: half of those that nobody shares as a tree does it, peers first, then the FULL pool directly."""
    row = entry.row
    if not state.is_live(row):
        return
    count = state.books.page_count(row)
    alone = state.own_pages(row) == list(range(count))
    if not (state.hybrid and alone and state.draw.chance(0.5)):
        yield from release(state, row)
        return
    for _ in range(count):
        pages = state.evictable(row, count)
        if not pages:
            break
        yield op.Evict(request=state.index(row), pages=pages - 1)
    if state.tombstoned(row, range(count)) and state.caller.has("free_full_segment"):
        yield op.FreeSegment(request=state.index(row), pages=count - 1, direct=True)
    else:
        yield from free_pages(state, row, 0, count)
    if state.is_live(row):
        yield from release(state, row)
