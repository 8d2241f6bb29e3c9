"""Frees of segments of a row: window eviction, one segment, several segments, and the release of a whole row."""

from __future__ import annotations

from msgspec import structs

from oracle import legality
from oracle import operations as op
from oracle.call import Call, Method, Segment
from oracle.caller import Caller, Plan, Planned
from oracle.legality import Breaches
from oracle.ownership import Request
from oracle.planning.device import free_breaches, free_buffers, unback

MOST_RUNS = 8


def plan_evict(caller: Caller, operation: op.Evict) -> Plan:
    """The window moves on: the first pages of the row that have peers lose them (§6.3, §11.2)."""
    request = caller.books.newest(operation.request)
    if request is None or not caller.two_sided:
        return
    pages: list[int] = []
    for page in range(caller.books.page_count(request)):
        fit = page not in request.gone and not _breaches(
            caller, request, [page], "free_swa_segment"
        )
        if fit:
            pages.append(page)
        if pages and (not fit or len(pages) == 1 + operation.pages):
            break
    if pages:
        yield from _free_swa_pages(caller, request, pages, operation)


def plan_free_segment(caller: Caller, operation: op.FreeSegment) -> Plan:
    """One segment, with its faults: an end inside a page (legal), a start off the page boundary (not)."""
    request = caller.books.newest(operation.request)
    direct = operation.direct and operation.method == "free_segment"
    direct = direct and "free_segment" in caller.contract.pool_methods and caller.two_sided
    if request is None or (operation.method == "free_swa_segment" and not caller.two_sided):
        return
    size = caller.page_size
    count = caller.books.page_count(request)
    page = operation.page % count
    pages = 1 + operation.pages % (count - page)
    slots = caller.books.page_slots(request, page, pages)
    last_page = (len(slots) - 1) % size + 1
    slots = slots[: len(slots) - operation.cut % last_page]
    shift = min(operation.shift % size, len(slots) - 1)
    touched = range(page, page + pages)
    method: Method = operation.method
    breaches = _breaches(caller, request, touched, "free_full_segment" if direct else method)
    breaches += tuple(free_breaches(caller, slots[shift:], method))
    breaches = caller.start_breaches(page * size + shift) + breaches
    call = Call(
        method=method,
        pool="full" if direct else "composite",
        slots=tuple(slots[shift:]),
        start_pos=page * size + shift,
        wide=operation.wide,
        overwrite=operation.overwrite,
    )
    rest = caller.books.page_slots(request, touched[-1])[len(slots) % size :]
    outcome = yield Planned(call, breaches)
    if outcome.error:
        return
    unback(caller, slots[shift:], method)
    _settle(caller, request, touched, "free_full_segment" if direct else method)
    waits = caller.books.group_open and caller.contract.segment_start == "anywhere"
    if waits and len(slots) % size and not direct:
        yield from _free_rest(call, tuple(rest), len(slots) + page * size)


def _free_rest(call: Call, rest: tuple[int, ...], start_pos: int) -> Plan:
    """The rest of the page inside which the segment of ``call`` ended, in the same group: a page that two segments share.

    Only the plural form may name a page twice, but where starts inside a page are accepted this is how a caller gets it wrong.
    """
    if rest:
        again = structs.replace(call, slots=rest, start_pos=start_pos)
        yield Planned(again, (legality.SEGMENTS_OUT_OF_ORDER,))


def plan_free_segments(caller: Caller, operation: op.FreeSegments) -> Plan:
    """Runs of pages of one row with gaps between them, in order, in reverse, or sharing a page (§3)."""
    request = caller.books.newest(operation.request)
    if request is None:
        return
    count = caller.books.page_count(request)
    start = operation.page % count
    runs: list[range] = []
    for length in operation.runs[:MOST_RUNS]:
        stop = min(start + 1 + length % count, count)
        if start >= stop:
            break
        runs.append(range(start, stop))
        start = stop - 1 if operation.arrangement == "sharing" else stop + 1
    if operation.arrangement == "descending":
        runs.reverse()
    touched = sorted({page for run in runs for page in run})
    breaches = _breaches(caller, request, touched, _singular(operation.method))
    refused = caller.contract.segment_overlap == "refused"
    if len(runs) > 1 and operation.arrangement != "ascending" and refused:
        breaches = (legality.SEGMENTS_OUT_OF_ORDER, *breaches)
    call = Call(
        method=operation.method,
        segments=tuple(_segment(caller, request, run) for run in runs),
        wide=operation.wide,
        overwrite=operation.overwrite,
    )
    named = [slot for segment in call.segments for slot in segment.slots]
    breaches += tuple(free_breaches(caller, named, _singular(operation.method)))
    outcome = yield Planned(call, breaches)
    if not outcome.error:
        unback(caller, named, _singular(operation.method))
        _settle(caller, request, touched, _singular(operation.method))


def plan_release(caller: Caller, operation: op.Release) -> Plan:
    """The row of one request goes back whole; pages that another row holds too are only let go (§11.3)."""
    request = caller.books.newest(operation.request)
    if request is not None:
        yield from release(caller, request, wide=operation.wide, overwrite=operation.overwrite)


def release(
    caller: Caller, request: Request, *, wide: bool = False, overwrite: bool = False
) -> Plan:
    """Tombstoned parts first, then the parts with peers, each in one plural call; odd pages (unaligned tails) as a set."""
    books = caller.books
    if caller.tiered:
        yield from free_buffers(caller, request)
    kept = [page for page in range(books.page_count(request)) if page not in request.gone]
    own = [page for page in kept if books.holders[books.page_of(request, page)] == 1]
    dead = [page for page in own if not legality.unmapped(books, request, [page])]
    alive = [page for page in own if not legality.mapped(books, request, [page])]
    if not caller.hybrid:
        dead, alive = [], own
    odd = [page for page in own if page not in dead and page not in alive]
    shared = [page for page in kept if page not in own]
    if caller.compressed and dead:
        yield from _free_places(caller, request, dead)
    parts: tuple[tuple[list[int], op.PluralMethod], ...] = (
        (dead, "free_full_segments"),
        (alive, "free_segments"),
    )
    for pages, plural in parts:
        if pages:
            call = _release_call(caller, request, pages, plural, wide, overwrite)
            outcome = yield Planned(call)
            if outcome.error:
                return
            unback(caller, _slots_of(caller, request, pages), _singular(plural))
            _unpeer_and_remember(caller, request, pages)
    if odd:
        slots = _slots_of(caller, request, odd)
        call = Call(method="free", slots=slots, wide=wide, overwrite=overwrite)
        # Pages of one tail share SWA pages, so what another row still holds of it loses its peers too.
        outcome = yield Planned(call, tuple(legality.whole(books, request, shared)))
        if outcome.error:
            return
        unback(caller, slots, "free")
        _unpeer_and_remember(caller, request, odd)
    books.give_back(request, [*own, *shared])


def _release_call(
    caller: Caller,
    request: Request,
    pages: list[int],
    plural: op.PluralMethod,
    wide: bool,
    overwrite: bool,
) -> Call:
    """The plural segment form, or the nearest older form where the target does not have it (§13.1)."""
    runs = _runs(pages)
    if caller.has(plural):
        segments = tuple(_segment(caller, request, run) for run in runs)
        return Call(method=plural, segments=segments, wide=wide, overwrite=overwrite)
    older: Method = (
        "free_full" if plural == "free_full_segments" and caller.has("free_full") else "free"
    )
    slots = _slots_of(caller, request, pages)
    return Call(method=older, slots=slots, wide=wide, overwrite=overwrite)


def _free_swa_pages(
    caller: Caller, request: Request, pages: list[int], operation: op.Evict
) -> Plan:
    """``free_swa_segment``, or ``free_swa`` where the target does not have it (§13.2, window eviction)."""
    slots = tuple(caller.books.page_slots(request, pages[0], len(pages)))
    segment_form = caller.has("free_swa_segment")
    call = Call(
        method="free_swa_segment" if segment_form else "free_swa",
        slots=slots,
        start_pos=pages[0] * caller.page_size if segment_form else 0,
        wide=operation.wide,
        overwrite=operation.overwrite,
    )
    outcome = yield Planned(call)
    if not outcome.error:
        _settle(caller, request, pages, "free_swa_segment")


def _free_places(caller: Caller, request: Request, pages: list[int]) -> Plan:
    """A FULL-only free leaves the device alone (contract_paged_swa §7.2), so what the pages have there goes back before it."""
    slots = _slots_of(caller, request, pages)
    if free_breaches(caller, slots, "free_full_segment"):
        outcome = yield Planned(Call(method="free_hisparse", slots=slots))
        if not outcome.error:
            unback(caller, slots, "free_hisparse")


def _slots_of(caller: Caller, request: Request, pages: list[int]) -> tuple[int, ...]:
    return tuple(slot for page in pages for slot in caller.books.page_slots(request, page))


def _runs(pages: list[int]) -> list[range]:
    runs: list[range] = []
    for page in pages:
        if runs and runs[-1].stop == page:
            runs[-1] = range(runs[-1].start, page + 1)
        else:
            runs.append(range(page, page + 1))
    return runs


def _segment(caller: Caller, request: Request, run: range) -> Segment:
    slots = caller.books.page_slots(request, run.start, len(run))
    return Segment(tuple(slots), run.start * caller.page_size)


def _singular(method: op.PluralMethod) -> Method:
    return "free_segment" if method == "free_segments" else "free_full_segment"


def _breaches(
    caller: Caller, request: Request, pages: range | list[int], method: Method
) -> Breaches:
    found = legality.holding(caller.books, request, pages)
    if caller.hybrid and method == "free_segment" and caller.contract.segment_form == "set-shaped":
        found += legality.whole(caller.books, request, pages)
    elif caller.hybrid and method in ("free_segment", "free_swa_segment"):
        found += legality.mapped(caller.books, request, pages)
    if caller.hybrid and method == "free_full_segment":
        found += legality.unmapped(caller.books, request, pages)
    return tuple(found)


def _unpeer_and_remember(caller: Caller, request: Request, pages: list[int]) -> None:
    for run in _runs(pages):
        slots = caller.books.page_slots(request, run.start, len(run))
        caller.books.unpeer(slots)
        caller.books.remember(slots, run.start * caller.page_size)


def _settle(caller: Caller, request: Request, pages: range | list[int], method: Method) -> None:
    """Book a successful segment free: peers gone, pages given back, or both."""
    if method == "free_full_segment":
        for run in _runs(list(pages)):
            slots = caller.books.page_slots(request, run.start, len(run))
            caller.books.remember(slots, run.start * caller.page_size)
    else:
        _unpeer_and_remember(caller, request, list(pages))
    if caller.gives_back(method):
        caller.books.give_back(request, list(pages))
