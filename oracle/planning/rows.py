"""Calls on a row with its cursors: window eviction, release, release in segments, and what is allocated beyond what counts (§11)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from oracle import legality
from oracle import operations as op
from oracle.call import Call, RowCursors, Segment
from oracle.caller import Caller, Plan, Planned
from oracle.observation import Outcome
from oracle.ownership import Request
from oracle.planning import allocations
from oracle.planning.cursors import (
    ceiling,
    cursors_of,
    dead_low,
    eviction_breaches,
    free_breaches,
    shortened,
    slipped,
)
from oracle.planning.segments import release

MOST_EVICTIONS = 4
MOST_RUNS = 8


class _Eviction(Struct):
    """One call of an eviction: the request, its own cursors, and what is called."""

    request: Request
    cursors: RowCursors
    planned: Planned


def plan_evict_window(caller: Caller, operation: op.EvictWindow) -> Plan:
    """The window of several requests moves on; only those are called for which this caller would. Of one that holds no row nothing
    is evicted.
    """
    books = caller.books
    if not books.requests:
        yield from _evict_without_row(caller, operation)
        return
    count = min(1 + operation.count % MOST_EVICTIONS, len(books.requests))
    chosen = [books.newest(operation.request + index) for index in range(count)]
    made = [_eviction(caller, request, operation) for request in chosen if request is not None]
    evictions = [one for one in made if caller.allows(one.planned.breaches)]
    grouped = len(evictions) > 1 and not books.group_open
    if grouped:
        outcome = yield Planned(Call(method="free_group_begin"))
        if outcome.error:
            return
        books.group_open = True
    for eviction in evictions:
        outcome = yield eviction.planned
        _book_eviction(caller, eviction, outcome)
    if grouped:
        outcome = yield Planned(Call(method="free_group_end"))
        if not outcome.error:
            books.close_group()


def plan_release_row(caller: Caller, operation: op.ReleaseRow) -> Plan:
    """One request gives its row back, at any time: a retraction is the same."""
    request = caller.books.newest(operation.request)
    if request is None:
        return
    passed, slips = slipped(
        cursors_of(request), operation, caller.page_size, drifting=operation.drifting
    )
    yield from release_row(
        caller,
        request,
        passed,
        slips,
        together=operation.together,
        overwrite=operation.overwrite,
    )


def plan_plain_release(caller: Caller, operation: op.Release) -> Plan:
    """The common release, as callers with cursors make it."""
    request = caller.books.newest(operation.request)
    if request is not None:
        yield from release_row(
            caller, request, cursors_of(request), [], overwrite=operation.overwrite
        )


def release_row(
    caller: Caller,
    request: Request,
    passed: RowCursors,
    slips: list[str],
    *,
    together: bool = False,
    overwrite: bool = False,
) -> Plan:
    """[protected, what counts), then [the next page, allocated), and the prefix is let go (§11.3, ``release_kv_cache``).

    Where the contract has no such call, the row goes back by what has peers, with no slip.
    """
    if not caller.has("free_row"):
        yield from release(caller, request, overwrite=overwrite)
        return
    books, size = caller.books, caller.page_size
    cursors = cursors_of(request)
    first_page = cursors.protected // size
    breaches = tuple(slips + free_breaches(books, request, cursors, first_page))
    owned = ceiling(cursors.committed, size)
    ranges = [(passed.protected, max(cursors.committed, passed.protected))]
    if owned < cursors.allocated:
        ranges.append((owned, cursors.allocated))
    row = tuple(request.slots)
    for some in [ranges] if together else [[one] for one in ranges]:
        call = Call(
            method="free_row",
            slots=row,
            cursors=passed,
            ranges=tuple(some),
            wide=False,
            overwrite=overwrite,
        )
        outcome = yield Planned(call, breaches)
        if outcome.error:
            return
        for start, stop in some:
            if start < stop:
                _book_free(caller, request, row, range(start // size, -(-stop // size)))
    if request in books.requests:
        books.give_back(request, range(first_page))


def plan_free_row_segments(caller: Caller, operation: op.FreeRowSegments) -> Plan:
    """The end of a row goes back, and the row lives on, shorter."""
    request = caller.books.newest(operation.request)
    if request is None:
        return
    books, size = caller.books, caller.page_size
    cursors = cursors_of(request)
    first, count = cursors.protected // size, books.page_count(request)
    if first == count:
        return
    page = first + operation.page % (count - first)
    passed, breaches = slipped(cursors, operation, size)
    breaches += free_breaches(books, request, cursors, page)
    runs = _runs(page, count, operation.runs[:MOST_RUNS])
    segments = [
        Segment(tuple(books.page_slots(request, run.start, len(run))), run.start * size)
        for run in runs
    ]
    if operation.empty:
        segments.insert(1, Segment((), runs[0].stop * size))
    call = Call(
        method="free_row_segments",
        segments=tuple(segments),
        evicted=passed.evicted,
        dead_lo=dead_low(passed, size),
        wide=operation.wide,
    )
    outcome = yield Planned(call, tuple(breaches))
    if not outcome.error:
        _book_free(caller, request, tuple(request.slots), range(page, count))
        request.cursors = shortened(request, cursors)


def plan_over_allocate(caller: Caller, operation: op.OverAllocate) -> Plan:
    """A row grows by slots that do not count yet."""
    books = caller.books
    request = books.newest(operation.request)
    if request is None:
        return
    cursors, length = cursors_of(request), len(request.slots)
    part = op.Part(
        request=1 + operation.request % len(books.requests),
        amount=operation.amount,
        unit=operation.unit,
    )
    yield from allocations.plan_extend(caller, op.Extend(parts=(part,)))
    if len(request.slots) > length:
        request.cursors = replace(cursors, allocated=len(request.slots))


def plan_roll_back(caller: Caller, operation: op.RollBack) -> Plan:
    """What was not accepted goes back from the next page on."""
    size = caller.page_size
    chosen = [
        request
        for request in reversed(caller.books.requests)
        if ceiling(cursors_of(request).committed, size) < len(request.slots)
    ]
    if not chosen:
        return
    request = chosen[operation.request % len(chosen)]
    cursors = cursors_of(request)
    beyond = cursors.allocated - cursors.committed
    cursors = replace(cursors, committed=cursors.committed + operation.accepted % (beyond + 1))
    start = ceiling(cursors.committed, size)
    if start >= cursors.allocated:
        return
    breaches = free_breaches(caller.books, request, cursors, start // size)
    drift = min(operation.drift % size, cursors.allocated - start - 1)
    if drift:
        breaches.insert(0, legality.UNALIGNED_START)
    row = tuple(request.slots)
    call = Call(
        method="free_row",
        slots=row,
        cursors=cursors,
        ranges=((start + drift, cursors.allocated),),
        wide=False,
    )
    outcome = yield Planned(call, tuple(breaches))
    if not outcome.error:
        _book_free(caller, request, row, range(start // size, caller.books.page_count(request)))
        request.cursors = shortened(request, cursors)


def plan_preallocate(caller: Caller, operation: op.ExtendTail) -> Plan:
    """Tail preallocation of a new request, or of one that has its protected prefix only; the evicted cursor follows (§11.5).

    A tail of 0 is the window's.
    """
    books, size = caller.books, caller.page_size
    request = books.newest(operation.request - 1) if operation.request > 0 else None
    if request is not None and len(request.slots) > request.cursors.protected:
        request, operation = None, replace(operation, request=0)
    prefix = len(request.slots) if request is not None else 0
    amount = caller.slots_of(operation.amount, operation.unit, full_only=operation.unit == "left")
    tail = operation.tail % (amount + 1)
    if not tail:
        start = max(0, prefix + amount - caller.geometry.family_sizes.window)
        tail = prefix + amount - max(start // size * size, prefix)
    rows = len(books.requests)
    yield from allocations.plan_extend_tail(caller, replace(operation, tail=tail))
    if request is None and len(books.requests) > rows:
        request = books.newest(0)
    if request is not None and len(request.slots) > prefix:
        cursors = cursors_of(request)
        without = [slot not in books.peered for slot in request.slots[prefix:]]
        request.cursors = replace(cursors, evicted=prefix + sum(without))


def _eviction(caller: Caller, request: Request, operation: op.EvictWindow) -> _Eviction:
    """What the contract's evictions do not know (§13.2), no request has and no call says."""
    size, sizes, contract = caller.page_size, caller.geometry.family_sizes, caller.contract
    cursors = cursors_of(request)
    retains = operation.retain and contract.has_retain_floor
    if operation.floor and contract.has_floor and cursors.evicted <= dead_low(cursors, size):
        # Which positions are behind the floor must not change once some were evicted.
        floor = (operation.floor - 1) % (cursors.committed + 1)
        cursors = request.cursors = replace(cursors, floor=max(cursors.floor, floor))
    passed, breaches = slipped(cursors, operation, size, drifting=operation.drifting)
    breaches += eviction_breaches(caller.books, request, cursors)
    last = cursors.committed - 1
    call = Call(
        method="evict_out_of_window",
        slots=tuple(request.slots),
        cursors=passed,
        pre_len=last - operation.behind % (last + 1),
        window=sizes.window,
        sharing=operation.sharing,
        retain_floor=(operation.retain - 1) * size if retains else None,
        interval=1 + operation.interval if contract.has_interval else 1,
        wide=False,
    )
    return _Eviction(request, cursors, Planned(call, tuple(breaches)))


def _evict_without_row(caller: Caller, operation: op.EvictWindow) -> Plan:
    """A request that was retracted, or has no row yet; where its cursor moves all the same (§13.2), nobody asks."""
    if caller.contract.eviction_without_row != "returned":
        return
    sizes = caller.geometry.family_sizes
    yield Planned(
        Call(
            method="evict_out_of_window",
            slots=(),
            pre_len=sizes.window + 2 * caller.page_size + operation.behind,
            window=sizes.window,
            sharing=operation.sharing,
            wide=False,
        )
    )


def _book_eviction(caller: Caller, eviction: _Eviction, outcome: Outcome) -> None:
    """What lies between the cursor that was passed and the one that came back has lost its peers."""
    if outcome.error or not outcome.resolved:
        return
    request, passed, size = eviction.request, eviction.planned.call.cursors, caller.page_size
    start, stop = max(passed.evicted, dead_low(passed, size)), outcome.resolved[0]
    if stop > start:
        caller.books.remember(request.slots[start:stop], start)
        caller.books.unpeer(request.slots[start:stop])
    if stop % size == 0:
        request.cursors = replace(eviction.cursors, evicted=max(eviction.cursors.evicted, stop))


def _book_free(caller: Caller, request: Request, row: Sequence[int], pages: range) -> None:
    slots = row[pages.start * caller.page_size : pages.stop * caller.page_size]
    caller.books.remember(slots, pages.start * caller.page_size)
    caller.books.unpeer(slots)
    caller.books.give_back(request, pages)


def _runs(page: int, stop: int, lengths: Sequence[int]) -> list[range]:
    runs: list[range] = []
    for length in lengths:
        end = min(page + 1 + length % (stop - page), stop)
        runs.append(range(page, end))
        page = end
        if page == stop:
            return runs
    return [*runs, range(page, stop)]
