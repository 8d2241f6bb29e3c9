"""Operations around the movement of pages: flushes, gates, forward passes, loads from the host (contract_unified §3, §5, §6)."""

from __future__ import annotations

from msgspec import structs

from oracle import legality
from oracle import operations as op
from oracle.call import Call
from oracle.caller import Caller, Plan, Planned

MOST_ROWS = 16
GATES = 2
FREEING = frozenset(
    {
        "free", "free_swa", "free_full", "free_segment", "free_swa_segment", "free_full_segment",
        "free_segments", "free_full_segments", "free_group_end", "evict_to_free_tokens",
        "check_decode_capacity", "cancel_physical_reservation", "flush_deferred",
        "prepare_mamba_allocation", "alloc_group_end",
    }
)  # fmt: skip


def guarded(caller: Caller, plan: Plan) -> Plan:
    """The same plan, in which frees that move pages are illegal while a gate or a load forbids moves (§5, eager bands)."""
    try:
        planned = next(plan)
        while True:
            if not caller.geometry.bytes_shared.lazy and planned.call.method in FREEING:
                planned = _with_guard(caller, planned)
            planned = plan.send((yield planned))
    except StopIteration:
        return


def _with_guard(caller: Caller, planned: Planned) -> Planned:
    if not (caller.books.gates or caller.books.loading):
        return planned
    return structs.replace(planned, breaches=(*planned.breaches, legality.GUARDED_MOVE))


def plan_flush(caller: Caller, operation: op.Flush) -> Plan:
    """Compact one band."""
    band = caller.bands[operation.band % len(caller.bands)]
    yield Planned(Call(method="flush", pool=band, urgent=operation.urgent))


def plan_gate(caller: Caller, operation: op.Gate) -> Plan:
    """Install, open, close or take away a move gate of one band (§3)."""
    band = caller.bands[operation.band % len(caller.bands)]
    gate = operation.gate % GATES
    call = Call(method="set_move_gate", pool=band, gate=gate, gate_state=operation.state)
    outcome = yield Planned(call)
    if outcome.error:
        return
    if operation.state == "absent":
        caller.books.gates.discard((band, gate))
    else:
        caller.books.gates.add((band, gate))


def plan_begin_forward(caller: Caller, operation: op.BeginForward) -> Plan:
    """The last slots of some rows are about to be written (§3, in-flight forward)."""
    books = caller.books
    count = min(1 + operation.count % MOST_ROWS, len(books.requests))
    rows = [books.newest(operation.request + index) for index in range(count)]
    slots = tuple(dict.fromkeys(row.slots[-1] for row in rows if row is not None))
    outcome = yield Planned(Call(method="begin_forward", event=books.events, slots=slots))
    if not outcome.error:
        books.events += 1


def plan_fire_event(caller: Caller, operation: op.FireEvent) -> Plan:
    """A forward pass is over; firing an event again changes nothing."""
    events = caller.books.events
    if events:
        yield Planned(Call(method="fire_event", event=events - 1 - operation.age % events))


def plan_reserve(caller: Caller, operation: op.Reserve) -> Plan:
    """Physical SWA pages for a load (§5)."""
    need = (1 + operation.pages % 4) * caller.page_size
    outcome = yield Planned(Call(method="alloc_physical", pool="swa", need=need))
    if outcome.value:
        caller.books.reservations.append(outcome.value)
        caller.books.loading = True


def plan_bind_reserved(caller: Caller, operation: op.BindReserved) -> Plan:
    """Whole pages of a row that lost their peers get the reserved ones (§5)."""
    books, size = caller.books, caller.page_size
    request = books.newest(operation.request)
    whole = len(request.slots) // size if request is not None else 0
    if request is None or not whole or not books.reservations:
        return
    index = len(books.reservations) - 1 - operation.reservation % len(books.reservations)
    peers = books.reservations[index]
    page = operation.page % whole
    count = min(1 + operation.pages % (whole - page), len(peers) // size)
    slots = books.page_slots(request, page, count)
    breaches = [] if request.gone.isdisjoint(range(page, page + count)) else [legality.STALE]
    if not books.peered.isdisjoint(slots):
        breaches.append(legality.PEER_OVERWRITTEN)
    call = Call(method="set_full_to_swa_mapping", slots=tuple(slots), peers=peers[: count * size])
    outcome = yield Planned(call, tuple(breaches))
    if outcome.error:
        return
    rest = peers[count * size :]
    books.reservations[index : index + 1] = [rest] if rest else []
    books.peered.update(slots)
    books.loaded_peers.extend(slots)


def plan_cancel_reserved(caller: Caller, operation: op.CancelReserved) -> Plan:
    """A reservation goes back unused (§5)."""
    books = caller.books
    if books.reservations:
        index = len(books.reservations) - 1 - operation.reservation % len(books.reservations)
        yield from _cancel(caller, index)


def plan_finish_load(caller: Caller, _operation: op.FinishLoad) -> Plan:
    """Every page may move again. While a reservation is not bound, that is the caller's fault (§5)."""
    if not caller.books.loading:
        return
    breaches = (legality.UNBOUND_RESERVATION,) if caller.books.reservations else ()
    outcome = yield Planned(Call(method="finish_load"), breaches)
    if not outcome.error:
        caller.books.loading = False


def plan_make_room(caller: Caller, operation: op.MakeRoom) -> Plan:
    """The floating band is asked to move aside (§6)."""
    if operation.compact:
        yield Planned(Call(method="compact_holes", pool="swa", side=operation.side))
        return
    need = (1 + operation.pages % 8) * caller.geometry.grids()["swa"].page_bytes
    yield Planned(Call(method="make_room", pool="swa", side=operation.side, need=need))


def give_back_states_and_loads(caller: Caller) -> Plan:
    """For the end of a trace: gates are taken away, states freed, reservations cancelled."""
    books = caller.books
    for band, gate in sorted(books.gates):
        pool = next(name for name in caller.bands if name == band)
        call = Call(method="set_move_gate", pool=pool, gate=gate, gate_state="absent")
        outcome = yield Planned(call)
        if outcome.error:
            return
    books.gates.clear()
    while books.reservations:
        left = len(books.reservations)
        yield from _cancel(caller, left - 1)
        if len(books.reservations) == left:
            return
    if books.loading:
        outcome = yield Planned(Call(method="finish_load"))
        books.loading = bool(outcome.error)
    if books.states:
        outcome = yield Planned(Call(method="free", pool="state", slots=tuple(books.states)))
        if not outcome.error:
            books.states.clear()


def _cancel(caller: Caller, index: int) -> Plan:
    """Once a load was said to be over, what it left unbound can no longer be cancelled (§5)."""
    breaches = () if caller.books.loading else (legality.UNBOUND_RESERVATION,)
    call = Call(
        method="cancel_physical_reservation",
        pool="swa",
        slots=caller.books.reservations[index],
    )
    outcome = yield Planned(call, breaches)
    if not outcome.error:
        del caller.books.reservations[index]
