"""Questions about the capacity of a shared buffer, and eviction of what a prefix tree holds (contract_unified §8, §10)."""

from __future__ import annotations

from collections.abc import Iterator

from oracle import legality
from oracle import operations as op
from oracle.call import Call, Tree, TreeRow
from oracle.caller import Caller, Plan, Planned
from oracle.observation import Eviction
from oracle.ownership import Request

MOST_PAGES = 8


def plan_capacity(caller: Caller, operation: op.Capacity) -> Plan:
    """A question; only ``ensure_capacity`` may move pages."""
    need = caller.slots_of(operation.amount, operation.unit)
    size = caller.page_size
    swa = None if not operation.swa else (operation.swa - 1) % (MOST_PAGES + 1) * size
    if operation.method == "ensure_capacity":
        yield Planned(Call(method="ensure_capacity", need=need, need_swa=swa))
        return
    plans = operation.method == "reclaim_plan"
    yield Planned(
        Call(
            method=operation.method,
            need=need,
            need_swa=swa,
            evictable_full=operation.evictable_full % (MOST_PAGES + 1) * size,
            evictable_swa=operation.evictable_swa % (MOST_PAGES + 1) * size,
            empty_pool=operation.empty_pool,
            prefer_swa=operation.prefer_swa and plans and caller.contract.plan_prefers_swa,
            token_slack=operation.token_slack and not plans,
        )
    )


def plan_evict_for_alloc(caller: Caller, operation: op.EvictForAlloc) -> Plan:
    """The tree holds whole pages of the oldest requests and the oldest states; what it gives up leaves the books."""
    books = caller.books
    rows: list[tuple[Request, range]] = []
    for request in books.requests[: operation.rows % (len(books.requests) + 1)]:
        rows += [(request, run) for run in _uniform_runs(caller, request)]
    states = tuple(books.states[: operation.states % (len(books.states) + 1)])
    tree = Tree(
        rows=tuple(_tree_row(caller, request, run) for request, run in rows),
        states=states,
        direct=operation.direct,
    )
    two_pools = caller.geometry.family == "unified-swa"
    prefers = two_pools and caller.contract.plan_prefers_swa
    call = Call(
        method=operation.method,
        need=caller.slots_of(operation.amount, operation.unit),
        need_swa=_swa_need(caller, operation),
        tree=tree if operation.tree else None,
        prefer_swa=operation.prefer_swa and prefers,
    )
    outcome = yield Planned(call)
    for eviction in outcome.evicted:
        if eviction.part == "state":
            _state_evicted(caller, states[eviction.index])
        else:
            _row_evicted(caller, *rows[eviction.index], eviction)


def _swa_need(caller: Caller, operation: op.EvictForAlloc) -> int | None:
    """A demand of its own for the SWA side where the call takes one. Never 0, which would stand for the FULL side's (§10)."""
    two_pools = caller.geometry.family == "unified-swa" and caller.contract.eviction_takes_swa
    takes_one = two_pools and operation.method == "evict_to_free_tokens"
    if not (operation.swa and takes_one):
        return None
    return (1 + (operation.swa - 1) % MOST_PAGES) * caller.page_size


def _uniform_runs(caller: Caller, request: Request) -> Iterator[range]:
    """Runs of whole pages that only this row holds, all with peers or all without."""
    books = caller.books
    start = 0
    kinds = [_kind(caller, request, page) for page in range(len(request.slots) // books.page_size)]
    for page, kind in enumerate(kinds):
        if page + 1 == len(kinds) or kinds[page + 1] != kind:
            if kind is not None:
                yield range(start, page + 1)
            start = page + 1


def _kind(caller: Caller, request: Request, page: int) -> bool | None:
    """Whether the page has peers; None when the tree cannot hold it."""
    if legality.holding(caller.books, request, [page]):
        return None
    return request.slots[page * caller.page_size] in caller.books.peered


def _tree_row(caller: Caller, request: Request, run: range) -> TreeRow:
    slots = tuple(caller.books.page_slots(request, run.start, len(run)))
    return TreeRow(slots, run.start * caller.page_size, slots[0] in caller.books.peered)


def _row_evicted(caller: Caller, request: Request, run: range, eviction: Eviction) -> None:
    books = caller.books
    slots = books.page_slots(request, run.start, len(run))
    books.remember(slots, run.start * books.page_size)
    books.unpeer(slots)
    if eviction.part != "swa":
        books.give_back(request, run)


def _state_evicted(caller: Caller, state: int) -> None:
    caller.books.states.remove(state)
    caller.books.stale_states.append(state)
