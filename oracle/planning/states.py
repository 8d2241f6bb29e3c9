"""Operations on states, and the look-up of physical slots (contract_unified §5, §10)."""

from __future__ import annotations

from oracle import legality
from oracle import operations as op
from oracle.call import Call
from oracle.caller import Caller, Plan, Planned
from oracle.ownership import MOST_STALE

MOST_STATES = 8


def plan_state_alloc(caller: Caller, operation: op.StateAlloc) -> Plan:
    """States for nobody in particular: each is held by itself."""
    need = 1 + operation.count % MOST_STATES
    if operation.unit == "left":
        step = operation.count % 4
        need = max(0, caller.available_states + (1, 0, 2, -1)[step])
    outcome = yield Planned(Call(method="alloc", pool="state", need=need))
    caller.books.states.extend(outcome.value or ())


def plan_state_free(caller: Caller, operation: op.StateFree) -> Plan:
    """Held states go back, or (a hostile caller) states that went back before."""
    books = caller.books
    source = books.stale_states if operation.stale else books.states
    if not source:
        return
    last = len(source) - operation.index % len(source)
    slots = tuple(source[max(0, last - 1 - operation.count % MOST_STATES) : last])
    call = Call(
        method="free",
        pool="state",
        slots=slots,
        wide=operation.wide,
        overwrite=operation.overwrite,
    )
    outcome = yield Planned(call, (legality.STALE,) if operation.stale else ())
    if not outcome.error and not operation.stale:
        books.states = [state for state in books.states if state not in slots]
        books.stale_states = [*books.stale_states, *slots][-MOST_STALE:]


def plan_state_room(_caller: Caller, operation: op.StateRoom) -> Plan:
    """Ask for room for states, which may move pages, or how many FULL slots would have to go for it."""
    yield Planned(Call(method=operation.method, need=operation.count % (4 * MOST_STATES)))


def plan_band_translate(caller: Caller, operation: op.BandTranslate) -> Plan:
    """Look physical slots up; it changes nothing, and slots that do not exist are on the padding page (§5)."""
    band = caller.bands[operation.band % len(caller.bands)]
    request = caller.books.newest(operation.request)
    slots = caller.books.states if band == "state" else request.slots if request else []
    start = operation.first % len(slots) if slots else 0
    chosen = slots[start : start + 1 + operation.count]
    if operation.strange and caller.contract.strange_ids == "padding" and band != "state":
        chosen = [*chosen, -3, 0, -1, caller.geometry.full_slots, 1_000_000]
    if chosen:
        yield Planned(Call(method="translate", pool=band, slots=tuple(chosen)))
