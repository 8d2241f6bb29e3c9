"""How the scheduler gives slots back: parts of a row, a whole row, and the peers of what left the window."""

from __future__ import annotations

from oracle import operations as op
from oracle.operations import SegmentMethod
from oracle.ownership import Request
from strategies.serving.job import Job
from strategies.serving.state import State, Steps

REUSED_AT_ONCE = 0.3


def reuses_rows(state: State) -> bool:
    """Whether what is freed lies in a row of the request table that gets other content at once (§3: deferred tensors are cloned)."""
    return state.draw.chance(REUSED_AT_ONCE)


def release(state: State, row: Request) -> Steps:
    """The whole row goes back, pages that another row holds are let go (§11.3)."""
    if state.is_live(row):
        yield op.Release(request=state.index(row), overwrite=reuses_rows(state))


def free_pages(
    state: State, row: Request, page: int, pages: int, method: SegmentMethod = "free_segment"
) -> Steps:
    """``pages`` pages of the row from ``page`` on; as a set where the allocator has no segment form (§13.1)."""
    if pages < 1 or not state.is_live(row):
        return
    request, overwrite = state.index(row), reuses_rows(state)
    if state.caller.has(method):
        yield op.FreeSegment(
            method=method, request=request, page=page, pages=pages - 1, overwrite=overwrite
        )
        return
    full_only = method == "free_full_segment" and state.caller.has("free_full")
    yield op.Free(
        method="free_full" if full_only else "free",
        request=request,
        first=page * state.page_size,
        count=len(state.books.page_slots(row, page, pages)) - 1,
        overwrite=overwrite,
    )


def roll_back(state: State, job: Job) -> Steps:
    """Whole pages behind what is settled: they were allocated for drafts that were rejected (§11.3, allocated beyond owned)."""
    if job.row is None:
        return
    first = state.pages(job.committed)
    yield from free_pages(state, job.row, first, state.books.page_count(job.row) - first)


def evict_window(state: State, job: Job) -> Steps:
    """The peers of what the window has passed go, page by page from the last eviction on (§11.2)."""
    if not state.hybrid or job.row is None:
        return
    size, window = state.page_size, state.lengths.window
    margin = state.pages(max(window, size)) * size if state.workload.sharing else window
    threshold = (job.committed - margin) // size * size
    if threshold < job.evicted + state.lengths.eviction_interval:
        return
    job.evicted = threshold
    pages = state.evictable(job.row, threshold // size)
    if pages:
        yield op.Evict(request=state.index(job.row), pages=pages - 1, overwrite=reuses_rows(state))


def evict_windows(state: State) -> Steps:
    """All evictions that are due, in one group; no group where none is (§11.2, ``maybe_evict_swa``)."""
    opened = False
    for job in state.running:
        for operation in evict_window(state, job):
            if not opened:
                opened = True
                yield op.GroupBegin()
            yield operation
    if opened:
        yield op.GroupEnd()
