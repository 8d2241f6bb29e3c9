"""Places on the device: which slots have one, device buffers, and what a free does to them (contract_paged_swa §7).

Who frees a logical page must name what has its place on the device, or that place is lost: both allocators look up the
slots that they are given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from oracle import legality
from oracle import operations as op
from oracle.call import Call
from oracle.caller import FULL_ONLY_FORMS, SWA_FORMS, Caller, Plan, Planned
from oracle.family_sizes import COMPRESSION
from oracle.ownership import DeviceBuffer, Request

MOST_BUFFER_PAGES = 6
MOST_SCRATCH_PAGES = 4
MOST_RETURNED = 8
BOTH_SIDES_FORMS = frozenset({"free", "free_segment", "free_segments"})
BACKING = frozenset({"alloc", "alloc_extend"})
"""The allocations that give slots a place on the device."""


def back(caller: Caller, method: str, slots: Sequence[int]) -> None:
    """Book that new ``slots`` have a place on the device, if ``method`` gives them one."""
    if caller.tiered and method in BACKING:
        caller.books.device_backed.update(_places(caller, slots))


def unbacked(caller: Caller, request: Request, method: str) -> list[str]:
    """Breaches of "a device page that goes on has a place at its last slot", which an extend looks up (§7)."""
    if not caller.tiered or method not in BACKING:
        return []
    ratio = COMPRESSION if caller.compressed else 1
    length = len(request.slots) // ratio
    if length % caller.device_page == 0:
        return []
    last = request.slots[length * ratio - 1] // ratio
    return [] if last in caller.books.device_backed else [legality.UNBACKED_PARTIAL_PAGE]


def free_breaches(caller: Caller, slots: Iterable[int], method: str) -> list[str]:
    """Breaches of "no place on the device is left behind" by a free of ``slots``."""
    if not caller.tiered or method in SWA_FORMS:
        return []
    slots = list(slots)
    named = set(_places(caller, slots))
    found = set()
    for page in {slot // caller.page_size for slot in slots}:
        backed = _backed_on(caller, page)
        if caller.compressed and method in FULL_ONLY_FORMS:
            if backed:
                found.add(legality.BACKING_LEFT)
        elif backed - named and (caller.compressed or not backed & named):
            found.add(legality.INCOMPLETE_BACKING)
    return sorted(found)


def unback(caller: Caller, slots: Iterable[int], method: str) -> None:
    """Book what a free of ``slots`` that did not fail took from the device."""
    if not caller.tiered or method in SWA_FORMS:
        return
    if caller.compressed and (method in FULL_ONLY_FORMS or leaves_places(caller, method)):
        return
    books = caller.books
    gone = books.device_backed.intersection(_places(caller, slots))
    if not caller.compressed:
        size = caller.page_size
        gone = {
            slot for page in {slot // size for slot in gone} for slot in _backed_on(caller, page)
        }
    books.device_backed -= gone


def leaves_places(caller: Caller, method: str) -> bool:
    """Whether a free of both sides leaves the device to the caller (§13.2, "DSV4 HiSparse `free`")."""
    return (
        caller.compressed
        and caller.contract.device_free == "by-caller"
        and method in BOTH_SIDES_FORMS
    )


def with_places(caller: Caller, plan: Plan) -> Plan:
    """The same plan, in which a caller who keeps the contract gives places back by itself before a free that leaves them."""
    try:
        planned = next(plan)
        while True:
            if leaves_places(caller, planned.call.method) and not planned.breaches:
                yield from _give_back(caller, planned.call)
            planned = plan.send((yield planned))
    except StopIteration:
        return


def _give_back(caller: Caller, call: Call) -> Plan:
    slots = (*call.slots, *(slot for segment in call.segments for slot in segment.slots))
    if caller.books.device_backed.isdisjoint(_places(caller, slots)):
        return
    outcome = yield Planned(Call(method="free_hisparse", slots=slots, wide=call.wide))
    if not outcome.error:
        unback(caller, slots, "free_hisparse")


def plan_device_buffer(caller: Caller, operation: op.DeviceBuffer) -> Plan:
    """What a range of a row has on the device becomes a buffer; what is missing is allocated, what is left over freed."""
    request = caller.books.newest(operation.request)
    if request is None:
        return
    books, size = caller.books, caller.device_page
    count = books.page_count(request)
    first = operation.page % count
    pages = range(first, first + 1 + operation.pages % (count - first))
    need = (1 + operation.need % MOST_BUFFER_PAGES) * size + operation.odd % size
    slots = books.page_slots(request, pages.start, len(pages))
    breaches = legality.holding(books, request, pages)
    breaches += _buffer_breaches(caller, request, pages, need)
    outcome = yield Planned(
        Call(method="alloc_device_buffer", slots=tuple(_places(caller, slots)), need=need),
        tuple(breaches),
    )
    if outcome.error:
        return
    books.device_backed.difference_update(_places(caller, slots))
    if outcome.value:
        books.buffers.append(DeviceBuffer(request.identity, outcome.value))


def plan_free_device_buffer(caller: Caller, operation: op.FreeDeviceBuffer) -> Plan:
    """A buffer goes back, or one that went back already."""
    books = caller.books
    held = books.returned_buffers if operation.again else books.buffers
    if not held:
        return
    index = len(held) - 1 - (0 if operation.again else operation.buffer % len(held))
    yield from _free_buffer(
        caller,
        held[index],
        again=operation.again,
        padding=operation.padding,
        wide=operation.wide,
        overwrite=operation.overwrite,
    )


def plan_free_device(caller: Caller, operation: op.FreeDevice) -> Plan:
    """A range of a row gives up its places on the device and stays otherwise."""
    request = caller.books.newest(operation.request)
    if request is None:
        return
    start = operation.first % len(request.slots)
    slots = request.slots[start : start + 1 + operation.count % (len(request.slots) - start)]
    size = caller.page_size
    pages = range(start // size, (start + len(slots) - 1) // size + 1)
    breaches = legality.holding(caller.books, request, pages)
    # A hisparse free clears all that points into the pages it frees; the other one just what it is given.
    if caller.compressed:
        breaches += free_breaches(caller, slots, "free_hisparse")
    outcome = yield Planned(
        Call(
            method="free_hisparse",
            slots=tuple(slots),
            wide=operation.wide,
            overwrite=operation.overwrite,
        ),
        tuple(breaches),
    )
    if not outcome.error:
        unback(caller, slots, "free_hisparse")


def plan_spec_scratch(caller: Caller, operation: op.SpecScratch) -> Plan:
    """Sizes that are whole pages are taken, all others refused (§7.1)."""
    size = caller.page_size
    cap, buffer = (
        (amount % MOST_SCRATCH_PAGES) * size - operation.odd % (size + 1)
        for amount in (operation.cap, operation.buffer)
    )
    refused = cap < 0 or buffer < 0 or cap % size or buffer % size
    yield Planned(
        Call(method="configure_spec_scratch", need=cap, device_buffer=buffer),
        (legality.MISUSE,) if refused else (),
    )


def plan_slot_reserve(caller: Caller, operation: op.SlotReserve) -> Plan:
    """A question that changes nothing (§7.1)."""
    need = caller.slots_of(operation.amount, "tokens")
    yield Planned(Call(method="request_slot_reserve", need=need, slot_held=operation.held))


def free_buffers(caller: Caller, request: Request | None) -> Plan:
    """The buffers of one request go back, or all that are left; stops at the first that fails."""
    for buffer in list(caller.books.buffers):
        if request is None or buffer.identity == request.identity:
            yield from _free_buffer(caller, buffer)
            if buffer in caller.books.buffers:
                return


def _free_buffer(
    caller: Caller,
    buffer: DeviceBuffer,
    *,
    again: bool = False,
    padding: bool = False,
    wide: bool = True,
    overwrite: bool = False,
) -> Plan:
    books = caller.books
    breaches = [legality.STALE] if again else []
    slots = buffer.slots
    if padding:
        slots = (*slots, *dict.fromkeys((0, caller.device_page - 1)))
        breaches.append(legality.RAW_SLOTS)
    outcome = yield Planned(
        Call(method="free_hisparse_indices", slots=slots, wide=wide, overwrite=overwrite),
        tuple(breaches),
    )
    if not outcome.error and not again:
        books.buffers.remove(buffer)
        books.returned_buffers.append(buffer)
        del books.returned_buffers[:-MOST_RETURNED]


def _buffer_breaches(caller: Caller, request: Request, pages: range, need: int) -> list[str]:
    books, size = caller.books, caller.device_page
    found = [legality.UNALIGNED_NEED] if need % size else []
    backed = [
        len(_backed_on(caller, books.page_of(request, page)))
        for page in pages
        if page not in request.gone
    ]
    counts = [count for count in backed if count]
    have = sum(counts)
    if any(count < size for count in counts[:-1]):
        found.append(legality.UNALIGNED_BUFFER)
    missing = need - -(-have // size) * size
    if have < need and missing > caller.available_device // size * size:
        found.append(legality.DEVICE_TOO_SMALL)
    return found


def _places(caller: Caller, slots: Iterable[int]) -> list[int]:
    """What ``slots`` are called where places on the device are looked up, without those that have none of their own."""
    if not caller.compressed:
        return list(slots)
    return [slot // COMPRESSION for slot in slots if (slot + 1) % COMPRESSION == 0]


def _backed_on(caller: Caller, page: int) -> set[int]:
    size = caller.device_page
    return caller.books.device_backed.intersection(range(page * size, (page + 1) * size))
