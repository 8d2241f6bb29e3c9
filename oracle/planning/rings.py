"""Request slots: in the swa-ring family each request needs one, and the ring of its window with it (contract_paged_swa §6)."""

from __future__ import annotations

from oracle.call import Call, Method
from oracle.caller import Caller, Plan, Planned


def has_request_slots(caller: Caller, count: int) -> bool:
    """Whether ``count`` more requests find a request slot; everywhere but in a ring they need none."""
    return (
        not caller.ringed
        or len(caller.books.requests) + count <= caller.geometry.family_sizes.request_slots
    )


def with_request_slots(caller: Caller, plan: Plan) -> Plan:
    """The same plan, after which new requests have taken a request slot and those that are gone have returned theirs."""
    yield from plan
    books = caller.books
    change = len(books.requests) - books.request_slots
    if change:
        method: Method = "take_request_slots" if change > 0 else "return_request_slots"
        yield Planned(Call(method=method, need=abs(change)))
        books.request_slots += change
