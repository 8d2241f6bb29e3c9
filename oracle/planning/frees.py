"""Set-shaped frees, frees by page id, and the frees only a hostile caller makes: stale, raw; and frees of nothing."""

from __future__ import annotations

from oracle import legality
from oracle import operations as op
from oracle.call import Call
from oracle.caller import SWA_FORMS, Caller, Plan, Planned
from oracle.ownership import Request
from oracle.planning.device import free_breaches, unback

MOST_RAW_SLOTS = 64
SEGMENT_FORMS = ("free_segment", "free_swa_segment", "free_full_segment")


def plan_free(caller: Caller, operation: op.Free) -> Plan:
    """Any slots of a row: whole pages go, whichever of their slots are named (§5.5, §6.3)."""
    request = caller.books.newest(operation.request)
    if request is None or (operation.method == "free_swa" and not caller.two_sided):
        return
    first = operation.first % len(request.slots)
    count = 1 + operation.count % (len(request.slots) - first)
    slots = request.slots[first : first + count]
    if operation.arrangement == "descending":
        slots.reverse()
    elif operation.arrangement == "doubled":
        slots = slots + slots
    size = caller.page_size
    pages = range(first // size, (first + count - 1) // size + 1)
    breaches = _set_breaches(caller, request, pages, operation.method)
    breaches += legality.distinct(caller.books, slots)
    breaches += free_breaches(caller, slots, operation.method)
    call = Call(
        method=operation.method,
        slots=tuple(slots),
        wide=operation.wide,
        overwrite=operation.overwrite,
    )
    outcome = yield Planned(call, tuple(breaches))
    if outcome.error:
        return
    caller.books.remember(request.slots[first : first + count], first)
    if caller.hybrid and operation.method != "free_full":
        caller.books.unpeer(slots)
    unback(caller, slots, operation.method)
    if caller.gives_back(operation.method):
        caller.books.give_back(request, pages)


def plan_free_pages(caller: Caller, operation: op.FreePages) -> Plan:
    """Whole pages by their ids (§5.5); a token allocator's page ids are slots (§4)."""
    request = caller.books.newest(operation.request)
    if request is None or caller.hybrid:
        return
    books = caller.books
    first = operation.page % books.page_count(request)
    pages = range(first, first + 1 + operation.pages % (books.page_count(request) - first))
    call = Call(
        method="free_page_ids",
        slots=tuple(books.page_of(request, page) for page in pages),
        wide=operation.wide,
        overwrite=operation.overwrite,
    )
    outcome = yield Planned(call, tuple(legality.holding(books, request, pages)))
    if not outcome.error:
        slots = books.page_slots(request, pages.start, len(pages))
        books.remember(slots, pages.start * caller.page_size)
        books.give_back(request, pages)


def plan_stale_free(caller: Caller, operation: op.StaleFree) -> Plan:
    """What was freed is freed again: the caller kept an index it no longer owns."""
    stale = caller.books.stale
    if not stale or (operation.method in SWA_FORMS and not caller.two_sided):
        return
    entry = stale[-1 - operation.age % len(stale)]
    yield from _unowned(
        caller, operation.method, entry.slots, entry.start_pos, legality.STALE, operation
    )


def plan_raw_free(caller: Caller, operation: op.RawFree) -> Plan:
    """Slots that were never handed out: the padding slot, a negative one, a duplicate."""
    if operation.method in SWA_FORMS and not caller.two_sided:
        return
    last = caller.geometry.full_slots - 1
    slots = tuple(max(-1, min(slot, last)) for slot in operation.slots[:MOST_RAW_SLOTS])
    yield from _unowned(caller, operation.method, slots, 0, legality.RAW_SLOTS, operation)


def plan_empty_free(caller: Caller, operation: op.EmptyFree) -> Plan:
    """A free of nothing is an identity, except that some forms check the alignment first (§0)."""
    if operation.method in SWA_FORMS and not caller.two_sided:
        return
    start_pos = operation.start_pos % (4 * caller.page_size)
    segment_form = operation.method in SEGMENT_FORMS
    call = Call(
        method=operation.method,
        start_pos=start_pos if segment_form else 0,
        wide=operation.wide,
    )
    checked = segment_form and not caller.unified
    yield Planned(call, caller.start_breaches(start_pos) if checked else ())


def _set_breaches(
    caller: Caller, request: Request, pages: range, method: op.SetMethod
) -> list[str]:
    found = legality.holding(caller.books, request, pages)
    if not caller.hybrid:
        return found
    if method == "free_full":
        return found + legality.unmapped(caller.books, request, pages)
    if caller.unified:
        return found
    if caller.page_size == 1 and caller.contract.unmapped == "reported":
        return found + legality.mapped(caller.books, request, pages)
    return found + legality.whole(caller.books, request, pages)


def _unowned(
    caller: Caller,
    method: op.FreeMethod,
    slots: tuple[int, ...],
    start_pos: int,
    breach: str,
    operation: op.StaleFree | op.RawFree,
) -> Plan:
    """A free of what the caller does not own. Its books stay as they are: whoever owns those slots still does."""
    if method == "free_page_ids":
        if caller.hybrid:
            return
        size = caller.page_size
        slots = (
            tuple(dict.fromkeys(s // size for s in slots)) if breach == legality.STALE else slots
        )
    segment_form = method in SEGMENT_FORMS
    breaches = [breach, *(caller.start_breaches(start_pos) if segment_form else ())]
    call = Call(
        method=method,
        slots=slots,
        start_pos=start_pos if segment_form else 0,
        wide=operation.wide,
        overwrite=isinstance(operation, op.StaleFree) and operation.overwrite,
    )
    yield Planned(call, tuple(breaches))
