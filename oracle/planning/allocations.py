"""Operations that give a request slots: alloc, extend, tail preallocation, decode, load; and the fork that needs no call."""

from __future__ import annotations

from msgspec import Struct

from oracle import legality
from oracle import operations as op
from oracle.call import Call
from oracle.caller import Caller, Plan, Planned
from oracle.ownership import Request
from oracle.planning.device import back, unbacked
from oracle.planning.rings import has_request_slots

MOST_PARTS = 16


class _Growth(Struct):
    """A request of a batch (None: a new one), how long its row is and how long it gets."""

    request: Request | None
    prefix: int
    amount: int

    def last_loc(self) -> int:
        return self.request.slots[-1] if self.request is not None and self.request.slots else -1


def plan_alloc(caller: Caller, operation: op.Alloc) -> Plan:
    """A new request; hybrid allocators and those with a device have no ``alloc`` with pages, so it becomes an extend (§6.2, §7)."""
    amount = caller.slots_of(operation.amount, operation.unit)
    if _has_no_alloc(caller):
        yield from _grow_together(caller, [_Growth(None, 0, amount)], False)
        return
    if operation.unit == "tokens":
        amount = -(-amount // caller.page_size) * caller.page_size
    breaches = (legality.UNALIGNED_NEED,) if amount % caller.page_size else ()
    call = Call(method="alloc", need=amount)
    outcome = yield Planned(call, breaches)
    if outcome.value:
        caller.books.grow(
            caller.books.open_request(), outcome.value, peered=_peers(caller, outcome.value)
        )
        back(caller, call.method, outcome.value)


def plan_extend(caller: Caller, operation: op.Extend) -> Plan:
    """A batch of requests grows; a request that is named twice grows once."""
    batch: list[_Growth] = []
    for part in operation.parts[:MOST_PARTS]:
        request = caller.books.newest(part.request - 1) if part.request > 0 else None
        if request is not None and any(growth.request is request for growth in batch):
            continue
        growing = _growing(caller, request, "alloc_extend") if request is not None else []
        if not caller.allows(growing):
            continue
        prefix = len(request.slots) if request is not None else 0
        amount = caller.slots_of(part.amount, part.unit, room=-prefix % caller.page_size)
        batch.append(_Growth(request, prefix, amount))
    if batch:
        yield from _grow_together(caller, batch, operation.count_pages)


def plan_decode(caller: Caller, operation: op.Decode) -> Plan:
    """One token more for each of several requests: ``alloc_decode``, at page size 1 ``alloc`` (§5.4)."""
    count = min(1 + operation.count % MOST_PARTS, len(caller.books.requests))
    chosen = [caller.books.newest(operation.request + index) for index in range(count)]
    batch = [
        _Growth(request, len(request.slots), 1)
        for request in chosen
        if request is not None and caller.allows(_growing(caller, request, "alloc_decode"))
    ]
    if not batch:
        return
    if caller.page_size == 1:
        yield from _grow_together(caller, batch, False)
        return
    call = Call(
        method="alloc_decode",
        seq_lens=tuple(growth.prefix + 1 for growth in batch),
        last_loc=tuple(growth.last_loc() for growth in batch),
    )
    yield from _hand_out(caller, batch, call)


def plan_extend_tail(caller: Caller, operation: op.ExtendTail) -> Plan:
    """Tail preallocation of one request, a new one or one whose row ends on a page boundary (§6.2)."""
    if not caller.two_sided or caller.page_size == 1:
        return
    size = caller.page_size
    request = caller.books.newest(operation.request - 1) if operation.request > 0 else None
    prefix = len(request.slots) if request is not None else 0
    amount = caller.slots_of(
        operation.amount, operation.unit, room=-prefix % size, full_only=operation.unit == "left"
    )
    sequence = prefix + amount
    tail = operation.tail % (amount + 1)
    if operation.aligned and tail:
        start = (sequence - tail) // size * size
        tail = max(0, sequence - max(start, -(-prefix // size) * size))
    if request is None and not has_request_slots(caller, 1):
        return
    breaches = _tail_breaches(caller, request, sequence - tail if tail else 0)
    growth = _Growth(request, prefix, amount)
    call = Call(
        method="alloc_extend_swa_tail",
        prefix_lens=(prefix,),
        seq_lens=(sequence,),
        last_loc=(growth.last_loc(),),
        extend_num_tokens=amount,
        swa_tail_len=tail,
    )
    outcome = yield Planned(call, tuple(breaches))
    if outcome.value:
        request = request or caller.books.open_request()
        peered = outcome.value[amount - tail :]
        if caller.unified:
            peered = _bound_with_tail(
                caller, request, outcome.value, sequence - tail if tail else sequence
            )
        caller.books.grow(request, outcome.value, peered=peered if caller.hybrid else ())
        if not caller.hybrid:
            return
        if tail and (sequence - tail) % size and not caller.unified:
            caller.books.straddled.update(slot // size for slot in peered)


def plan_fork(caller: Caller, operation: op.Fork) -> Plan:
    """Share whole pages of a row that the row still holds."""
    request = caller.books.newest(operation.request)
    whole = len(request.slots) // caller.page_size if request is not None else 0
    if request is None or not whole:
        return
    pages = 1 + operation.pages % whole
    if request.gone.isdisjoint(range(pages)) and has_request_slots(caller, 1):
        caller.books.share(request, pages)
        if request.identity in caller.books.first_class:
            fork = caller.books.requests[-1]
            caller.books.first_class[fork.identity] = caller.books.first_class[request.identity]
    yield from ()


def plan_logical_extend(caller: Caller, operation: op.LogicalExtend) -> Plan:
    """A request grows by slots without a place on the device (§7)."""
    request = caller.books.newest(operation.request - 1) if operation.request > 0 else None
    prefix = len(request.slots) if request is not None else 0
    amount = caller.slots_of(operation.amount, operation.unit, room=-prefix % caller.page_size)
    growth = _Growth(request, prefix, amount)
    call = Call(
        method="alloc_logical_only",
        prefix_lens=(prefix,),
        seq_lens=(prefix + amount,),
        last_loc=(growth.last_loc(),),
        extend_num_tokens=amount,
    )
    yield from _hand_out(caller, [growth], call)


def plan_load(caller: Caller, operation: op.Load) -> Plan:
    """A row loaded from outside takes whole FULL pages and has no peers (§6.4, direct calls)."""
    if not caller.hybrid or caller.unified:
        return
    amount = caller.slots_of(operation.amount, operation.unit, full_only=True)
    amount = -(-amount // caller.page_size) * caller.page_size
    outcome = yield Planned(Call(method="alloc", pool="full", need=amount))
    if outcome.value:
        caller.books.grow(caller.books.open_request(), outcome.value)


def _tail_breaches(caller: Caller, request: Request | None, tail_start: int) -> list[str]:
    """Unified bands bind whole pages, so a tail may start anywhere and a partial page go on (contract_unified §8)."""
    if caller.unified:
        return _growing(caller, request, "alloc_extend_swa_tail") if request is not None else []
    breaches: list[str] = []
    if not caller.hybrid:
        return breaches
    if tail_start % caller.page_size:
        breaches.append(legality.UNALIGNED_TAIL)
    if request is not None and len(request.slots) % caller.page_size:
        breaches.append(legality.TOMBSTONED_PARTIAL_PAGE)
    return breaches


def _bound_with_tail(
    caller: Caller, request: Request, slots: tuple[int, ...], tail_start: int
) -> tuple[int, ...]:
    """The new slots on pages that are bound: new pages that the tail overlaps, and the old partial page if it is."""
    size, prefix = caller.page_size, len(request.slots)
    old = -prefix % size
    bound = bool(old) and request.slots[-1] in caller.books.peered
    new = (
        slots[max(old, tail_start // size * size - prefix) :]
        if tail_start < prefix + len(slots)
        else ()
    )
    return (slots[:old] if bound else ()) + new


def _has_no_alloc(caller: Caller) -> bool:
    if caller.page_size == 1:
        return False
    return caller.ringed or caller.tiered or (caller.hybrid and not caller.unified)


def _growing(caller: Caller, request: Request, method: str) -> list[str]:
    found = legality.continuing(caller.books, request, hybrid=caller.hybrid)
    return found + unbacked(caller, request, method)


def _peers(caller: Caller, slots: tuple[int, ...]) -> tuple[int, ...]:
    return slots if caller.hybrid else ()


def _grow_together(caller: Caller, batch: list[_Growth], count_pages: bool) -> Plan:
    total = sum(growth.amount for growth in batch)
    if caller.page_size == 1 and caller.geometry.family not in ("paged", "hisparse"):
        yield from _hand_out(caller, batch, Call(method="alloc", need=total))
        return
    size = caller.page_size
    pages = sum(-(-(g.prefix + g.amount) // size) - -(-g.prefix // size) for g in batch)
    counted = count_pages and caller.geometry.family in ("token", "paged")
    counted = counted and caller.contract.takes_page_count
    call = Call(
        method="alloc_extend",
        prefix_lens=tuple(growth.prefix for growth in batch),
        seq_lens=tuple(growth.prefix + growth.amount for growth in batch),
        last_loc=tuple(growth.last_loc() for growth in batch),
        extend_num_tokens=total,
        num_new_pages=pages if counted else None,
    )
    yield from _hand_out(caller, batch, call)


def _hand_out(caller: Caller, batch: list[_Growth], call: Call) -> Plan:
    if not has_request_slots(caller, sum(growth.request is None for growth in batch)):
        return
    breaches = [
        name
        for growth in batch
        if growth.request
        for name in _growing(caller, growth.request, call.method)
    ]
    outcome = yield Planned(call, tuple(dict.fromkeys(breaches)))
    if outcome.value is None:
        return
    start = 0
    for growth in batch:
        slots = outcome.value[start : start + growth.amount]
        start += growth.amount
        if slots:
            request = growth.request or caller.books.open_request()
            peered = _peers(caller, slots)
            if caller.unified and caller.hybrid:
                peered = _bound_with_tail(caller, request, slots, 0)
            caller.books.grow(request, slots, peered=peered)
            back(caller, call.method, slots)
