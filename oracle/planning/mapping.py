"""Operations on the mapping from FULL to SWA slots: recovery, transfer and return of peers, clearing, looking up."""

from __future__ import annotations

from oracle import legality
from oracle import operations as op
from oracle.call import Call
from oracle.caller import Caller, Plan, Planned
from oracle.ownership import Request


def plan_recover(caller: Caller, operation: op.Recover) -> Plan:
    """A tombstoned range gets new peers: SWA slots, then the mapping (§6.1, §11.6 load-back)."""
    if not caller.hybrid or not caller.has("set_full_to_swa_mapping"):
        return
    if operation.freed:
        yield from _recover_freed(caller)
        return
    request, pages = _range(caller, operation.request, operation.page, operation.pages)
    if request is None:
        return
    books = caller.books
    slots = books.page_slots(request, pages.start, len(pages))
    breaches = [legality.STALE] if not request.gone.isdisjoint(pages) else []
    if not books.peered.isdisjoint(slots):
        breaches.append(legality.PEER_OVERWRITTEN)
    need = len(pages) * caller.page_size
    outcome = yield Planned(Call(method="alloc", pool="swa", need=need), tuple(breaches))
    if not outcome.value:
        return
    call = Call(
        method="set_full_to_swa_mapping",
        slots=tuple(slots),
        peers=outcome.value[: len(slots)],
    )
    outcome = yield Planned(call, tuple(breaches))
    if not outcome.error:
        books.peered.update(slots)
        books.loaded_peers.extend(slots)


def plan_transfer_peers(caller: Caller, operation: op.TransferPeers) -> Plan:
    """Recovery of a locked row: look the donor's peers up, clear them there, set them here (§11.6)."""
    request, pages = _range(caller, operation.request, operation.page, operation.pages)
    donor, donor_pages = _range(caller, operation.donor, operation.donor_page, operation.pages)
    if not caller.hybrid or request is None or donor is None or request is donor:
        return
    if not caller.has("clear_full_to_swa_mapping", "set_full_to_swa_mapping"):
        return
    books = caller.books
    count = min(len(pages), len(donor_pages))
    pages = range(pages.start, pages.start + count)
    donor_pages = range(donor_pages.start, donor_pages.start + count)
    slots = tuple(books.page_slots(request, pages.start, count))
    given = tuple(books.page_slots(donor, donor_pages.start, count))
    if len(slots) != len(given):
        return
    breaches = legality.holding(books, donor, donor_pages)
    breaches += legality.complete(books, given)
    if not request.gone.isdisjoint(pages):
        breaches.append(legality.STALE)
    if not books.peered.isdisjoint(slots):
        breaches.append(legality.PEER_OVERWRITTEN)
    broken = tuple(dict.fromkeys(breaches))
    outcome = yield Planned(Call(method="translate_loc_from_full_to_swa", slots=given), broken)
    if outcome.value is None:
        return
    peers = outcome.value
    outcome = yield Planned(Call(method="clear_full_to_swa_mapping", slots=given), broken)
    if outcome.error:
        return
    books.peered.difference_update(given)
    outcome = yield Planned(
        Call(method="set_full_to_swa_mapping", slots=slots, peers=peers), broken
    )
    if not outcome.error:
        books.peered.update(slots)
        books.loaded_peers.extend(slots)


def plan_return_peers(caller: Caller, operation: op.ReturnPeers) -> Plan:
    """An external holder returns peers itself: look up, clear, free on the SWA pool at once (§6.4, direct calls)."""
    request, pages = _range(caller, operation.request, operation.page, operation.pages)
    if not caller.hybrid or request is None or not caller.has("clear_full_to_swa_mapping"):
        return
    books = caller.books
    slots = tuple(books.page_slots(request, pages.start, len(pages)))
    breaches = legality.holding(books, request, pages) + legality.complete(books, slots)
    broken = tuple(dict.fromkeys(breaches))
    outcome = yield Planned(Call(method="translate_loc_from_full_to_swa", slots=slots), broken)
    if outcome.value is None:
        return
    peers = outcome.value
    outcome = yield Planned(Call(method="clear_full_to_swa_mapping", slots=slots), broken)
    if outcome.error:
        return
    books.peered.difference_update(slots)
    yield Planned(Call(method="free", pool="swa", slots=peers), broken)


def plan_clear_mapping(caller: Caller, operation: op.ClearMapping) -> Plan:
    """Clearing is idempotent and legal where nothing is mapped; a live entry that is cleared strands its peer (§6.1)."""
    request = caller.books.newest(operation.request)
    if not caller.hybrid or request is None:
        return
    slots = _slots(request, operation.first, operation.count)
    live = not caller.books.peered.isdisjoint(slots)
    call = Call(method="clear_full_to_swa_mapping", slots=tuple(slots))
    outcome = yield Planned(call, (legality.LIVE_MAPPING_CLEARED,) if live else ())
    if not outcome.error:
        caller.books.peered.difference_update(slots)


def plan_translate(caller: Caller, operation: op.Translate) -> Plan:
    """Looking up changes nothing; the sentinel's slot -1 gives -1 (§6)."""
    request = caller.books.newest(operation.request)
    if request is None or not caller.has("translate_loc_from_full_to_swa"):
        return
    slots = _slots(request, operation.first, operation.count)
    if operation.sentinel:
        slots = [*slots, -1]
    yield Planned(Call(method="translate_loc_from_full_to_swa", slots=tuple(slots)))


def _recover_freed(caller: Caller) -> Plan:
    """A row that was freed in the open group gets new peers before the group ends (§6.4, remap inside the group)."""
    # A row that some request still holds has only lost its peers: giving it new ones is plain recovery.
    held, size = caller.books.holders, caller.page_size
    freed = [
        entry
        for entry in caller.books.stale
        if entry.in_open_group and not any(slot // size in held for slot in entry.slots)
    ]
    if not freed or not caller.books.group_open:
        return
    slots = tuple(dict.fromkeys(freed[-1].slots))
    broken = (legality.FREED_ROW_MAPPED,)
    need = -(-len(slots) // caller.page_size) * caller.page_size
    outcome = yield Planned(Call(method="alloc", pool="swa", need=need), broken)
    if outcome.value:
        peers = outcome.value[: len(slots)]
        yield Planned(Call(method="set_full_to_swa_mapping", slots=slots, peers=peers), broken)


def _range(caller: Caller, index: int, page: int, pages: int) -> tuple[Request | None, range]:
    request = caller.books.newest(index)
    if request is None:
        return None, range(0)
    count = caller.books.page_count(request)
    start = page % count
    return request, range(start, start + 1 + pages % (count - start))


def _slots(request: Request, first: int, count: int) -> list[int]:
    start = first % len(request.slots)
    return request.slots[start : start + 1 + count % (len(request.slots) - start)]
