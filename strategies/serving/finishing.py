"""The end of requests: their rows go back, or into the prefix cache, which may have the same prefix already."""

from __future__ import annotations

from oracle import operations as op
from strategies.serving.frees import evict_window, free_pages, release, roll_back
from strategies.serving.job import Cached, Job
from strategies.serving.state import State, Steps


def finish(state: State) -> Steps:
    """Everything that ends in this step, in one group, as results of a batch are processed."""
    if not state.finished:
        return
    jobs, state.finished = state.finished, []
    yield op.GroupBegin()
    for job in jobs:
        if job.row is None or not state.is_live(job.row):
            continue
        yield from evict_window(state, job)
        if state.workload.sharing and job.committed >= state.page_size:
            yield from _cache(state, job)
        else:
            yield from release(state, job.row)
    yield op.GroupEnd()


def _cache(state: State, job: Job) -> Steps:
    """Whole pages stay, drafts and the last partial page go; what another entry has already goes too, or replaces it."""
    row = job.row
    assert row is not None
    yield from roll_back(state, job)
    if len(row.slots) % state.page_size:
        yield from free_pages(state, row, len(row.slots) // state.page_size, 1)
    if not state.is_live(row):
        return
    usable = min(len(row.slots), job.shared)
    other = _same_prefix(state, job)
    if other is not None:
        yield from _merge(state, job, other)
        usable = 0 if row.gone else usable
    if state.is_live(row):
        state.cached.append(Cached(row, job.family, usable))


def _same_prefix(state: State, job: Job) -> Cached | None:
    """An entry that has the beginning of this row in slots of its own: the two were computed at the same time."""
    if job.hit:
        return None
    for entry in state.cached:
        if entry.family == job.family and entry.usable >= state.page_size:
            return entry if state.is_live(entry.row) else None
    return None


def _merge(state: State, job: Job, entry: Cached) -> Steps:
    """The common pages: a tombstone in the tree takes the new peers or the new pages, the rest of the duplicate is freed (§11.6)."""
    row = job.row
    assert row is not None
    pages = min(entry.usable, job.shared, len(row.slots)) // state.page_size
    common = range(pages)
    if not pages or not set(common) <= set(state.own_pages(row)):
        return
    dead = 0
    while dead < pages and state.tombstoned(row, range(dead, dead + 1)):
        dead += 1
    alive = range(dead, pages)
    if state.hybrid and alive and state.tombstoned(entry.row, alive):
        unlocked = set(alive) <= set(state.own_pages(entry.row))
        if unlocked and state.draw.chance(0.5):
            yield from _replace(state, entry, alive)
            return
        yield from _hand_peers_over(state, job, entry, alive)
    rest = dead
    while rest < pages and not state.tombstoned(row, range(rest, rest + 1)):
        rest += 1
    # Pages whose peers the tree took are FULL-only now, like those below the window.
    yield from free_pages(state, row, 0, dead, _full_only(state))
    if state.is_live(row) and alive:
        taken = rest == dead
        yield from free_pages(
            state, row, dead, pages - dead, _full_only(state) if taken else "free_segment"
        )


def _replace(state: State, entry: Cached, pages: range) -> Steps:
    """Recovery of an unlocked tombstone: the tree takes the new pages, its old ones are freed on the FULL side."""
    entry.usable = pages.start * state.page_size
    yield from free_pages(state, entry.row, pages.start, len(pages), "free_full_segment")
    if not state.is_live(entry.row):
        state.cached.remove(entry)


def _hand_peers_over(state: State, job: Job, entry: Cached, pages: range) -> Steps:
    """Recovery of a locked tombstone: it keeps its pages and takes the peers of the new ones."""
    assert job.row is not None
    yield op.TransferPeers(
        request=state.index(entry.row),
        donor=state.index(job.row),
        page=pages.start,
        donor_page=pages.start,
        pages=len(pages) - 1,
    )


def _full_only(state: State) -> op.SegmentMethod:
    return "free_full_segment" if state.hybrid else "free_segment"
