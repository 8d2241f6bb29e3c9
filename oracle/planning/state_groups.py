"""States that are taken out in advance and handed out one by one (contract_paged_swa §8)."""

from __future__ import annotations

from oracle import legality
from oracle import operations as op
from oracle.call import Call
from oracle.caller import Caller, Plan, Planned


def plan_alloc_group_begin(caller: Caller, operation: op.AllocGroupBegin) -> Plan:
    """What an earlier one has left is forgotten by the allocator, so a caller who begins twice loses it (§15.1)."""
    nested = caller.books.preparing and operation.nested
    if caller.books.preparing and not nested:
        yield from plan_alloc_group_end(caller, op.AllocGroupEnd())
    need = caller.slots_of(operation.amount, operation.unit)
    outcome = yield Planned(
        Call(method="alloc_group_begin", need=need), (legality.NESTED_GROUP,) if nested else ()
    )
    caller.books.preparing = not outcome.error


def plan_alloc_group_end(caller: Caller, _operation: op.AllocGroupEnd) -> Plan:
    """What is left of them goes back; with nothing taken out nothing happens."""
    outcome = yield Planned(Call(method="alloc_group_end"))
    if not outcome.error:
        caller.books.preparing = False
