"""States that are taken out in advance and handed out one by one (contract_paged_swa §8; contract_unified §10)."""

from __future__ import annotations

from oracle import legality
from oracle import operations as op
from oracle.call import Call, Pool
from oracle.caller import Caller, Plan, Planned
from oracle.planning.states import MOST_STATES


def plan_alloc_group_begin(caller: Caller, operation: op.AllocGroupBegin) -> Plan:
    """What an earlier one has left is forgotten by the allocator, so a caller who begins twice loses it (§15.1)."""
    nested = caller.books.preparing and operation.nested
    if caller.books.preparing and not nested:
        yield from plan_alloc_group_end(caller, op.AllocGroupEnd())
        if caller.books.preparing:
            return
    call = Call(method="alloc_group_begin", pool=_pool(caller), need=_need(caller, operation))
    outcome = yield Planned(call, (legality.NESTED_GROUP,) if nested else ())
    caller.books.preparing = not outcome.error


def plan_alloc_group_end(caller: Caller, _operation: op.AllocGroupEnd) -> Plan:
    """What is left of them goes back; with nothing taken out nothing happens."""
    outcome = yield Planned(Call(method="alloc_group_end", pool=_pool(caller)))
    if not outcome.error:
        caller.books.preparing = False


def _pool(caller: Caller) -> Pool:
    """The states are a band of the shared buffer, or all there is."""
    return "state" if caller.unified else "composite"


def _need(caller: Caller, operation: op.AllocGroupBegin) -> int:
    """How many states; from a shared buffer a few, or from one more than there are downwards."""
    if not caller.unified:
        return caller.slots_of(operation.amount, operation.unit)
    if operation.unit == "left":
        return max(0, caller.available_states + 1 - operation.amount % 4)
    return operation.amount % (MOST_STATES + 1)
