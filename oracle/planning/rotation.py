"""Rows whose pages come from the classes in turn (contract_paged_swa §9)."""

from __future__ import annotations

from oracle import legality
from oracle import operations as op
from oracle.call import Call
from oracle.caller import Caller, Plan, Planned
from oracle.ownership import Request

MOST_PARTS = 16


def plan_rotated_alloc(caller: Caller, operation: op.Alloc) -> Plan:
    """A new request, whose first class is left open: there is no ``alloc``."""
    part = op.RotatedPart(amount=operation.amount, unit=operation.unit)
    yield from plan_rotated_extend(caller, op.RotatedExtend(parts=(part,)))


def plan_rotated_extend(caller: Caller, operation: op.RotatedExtend) -> Plan:
    """A batch of requests grows, each by a page or more; a request that is named twice grows once."""
    ranks = caller.geometry.family_sizes.ranks
    batch: list[tuple[Request | None, int, int | None]] = []
    breaches: list[str] = []
    for part in operation.parts[:MOST_PARTS]:
        request = caller.books.newest(part.request - 1) if part.request > 0 else None
        if request is not None and any(request is other for other, _, _ in batch):
            continue
        broken = _part_breaches(caller, request, part)
        if not caller.allows(broken):
            continue
        base = (part.base - 1) % ranks if part.base > 0 else None
        if request is not None:
            base = (caller.books.first_class.get(request.identity, 0) + part.moved) % ranks
        batch.append((request, max(1, caller.slots_of(part.amount, part.unit)), base))
        breaches += broken
    if not batch:
        return
    prefixes = tuple(len(request.slots) if request is not None else 0 for request, _, _ in batch)
    call = Call(
        method="alloc_extend",
        prefix_lens=prefixes,
        seq_lens=tuple(
            prefix + amount for prefix, (_, amount, _) in zip(prefixes, batch, strict=True)
        ),
        last_loc=tuple(
            request.slots[-1] if request is not None and request.slots else -1
            for request, _, _ in batch
        ),
        extend_num_tokens=sum(amount for _, amount, _ in batch),
        rotation_bases=tuple(base for _, _, base in batch),
    )
    outcome = yield Planned(call, tuple(dict.fromkeys(breaches)))
    if outcome.value is None:
        return
    start = 0
    for (request, amount, _), base in zip(batch, outcome.resolved, strict=False):
        slots = outcome.value[start : start + amount]
        start += amount
        if not slots:
            continue
        grown = request or caller.books.open_request()
        if request is None:
            caller.books.first_class[grown.identity] = base
        caller.books.grow(grown, slots)


def plan_alloc_cyclic(caller: Caller, operation: op.AllocCyclic) -> Plan:
    """A new request from a class that the caller names; nothing at all is refused."""
    need = caller.slots_of(operation.amount, operation.unit)
    call = Call(method="alloc_cyclic", start_class=operation.start, need=need)
    outcome = yield Planned(call, () if need else (legality.MISUSE,))
    if outcome.value:
        request = caller.books.open_request()
        ranks = caller.geometry.family_sizes.ranks
        caller.books.first_class[request.identity] = operation.start % ranks
        caller.books.grow(request, outcome.value)


def _part_breaches(caller: Caller, request: Request | None, part: op.RotatedPart) -> list[str]:
    if request is None:
        return []
    found = [legality.UNALIGNED_PREFIX] if len(request.slots) % caller.page_size else []
    if part.moved and caller.geometry.family_sizes.ranks > 1:
        found.append(legality.OTHER_CLASS)
    return found
