"""The operations that only allocators over one shared buffer know (contract_unified §5 to §10).

What ``oracle.operations`` says of fields holds here too. A band is named by an index modulo the family's bands
(FULL, SWA, state). States, reservations and events are named newest first.
"""

from __future__ import annotations

from typing import Literal

from oracle.operation_base import Base, Unit

CapacityMethod = Literal["ensure_capacity", "reclaim_plan", "can_reserve"]
EvictionMethod = Literal["evict_to_free_tokens", "check_decode_capacity"]
StateQuestion = Literal["prepare_mamba_allocation", "full_tokens_before_mamba_recheck"]
GateState = Literal["closed", "open", "absent"]


class Flush(Base, frozen=True, tag="flush"):
    """One band is flushed: opportunistically, or ``urgent`` as for an allocation."""

    band: int = 0
    urgent: bool = False


class FlushDeferred(Base, frozen=True, tag="flush-deferred"):
    """What waits in the open group is freed, and the group stays open."""


class Capacity(Base, frozen=True, tag="capacity"):
    """A question about capacity (which may move pages): ``amount`` on the FULL side, on the SWA side ``swa`` - 1 pages or,
    for 0, the same. ``evictable_full`` and ``evictable_swa`` are pages."""

    method: CapacityMethod = "ensure_capacity"
    amount: int = 0
    unit: Unit = "pages"
    swa: int = 0
    evictable_full: int = 0
    evictable_swa: int = 0
    empty_pool: bool = False
    prefer_swa: bool = False
    token_slack: bool = False


class EvictForAlloc(Base, frozen=True, tag="evict-for-alloc"):
    """Eviction until ``amount`` can be allocated. The tree holds the whole pages of the ``rows`` oldest requests and the
    ``states`` oldest states. ``direct``: its FULL side frees on the FULL band itself, else all through the composite."""

    method: EvictionMethod = "evict_to_free_tokens"
    amount: int = 0
    unit: Unit = "pages"
    swa: int = 0
    rows: int = 0
    states: int = 0
    direct: bool = True
    tree: bool = True
    prefer_swa: bool = False


class StateAlloc(Base, frozen=True, tag="state-alloc"):
    """``count`` + 1 states (unit tokens), or what is left of them."""

    count: int = 0
    unit: Literal["tokens", "left"] = "tokens"


class StateFree(Base, frozen=True, tag="state-free"):
    """``count`` + 1 states from the ``index``-th newest on go back. ``stale``: states that went back before."""

    index: int = 0
    count: int = 0
    stale: bool = False
    wide: bool = False
    overwrite: bool = False


class StateRoom(Base, frozen=True, tag="state-room"):
    """What is asked before states are allocated: ``count`` of them."""

    method: StateQuestion = "prepare_mamba_allocation"
    count: int = 0


class BandTranslate(Base, frozen=True, tag="band-translate"):
    """Virtual slots of a row (or states) become physical ones of one band. ``strange`` appends slots that do not exist."""

    band: int = 0
    request: int = 0
    first: int = 0
    count: int = 0
    strange: bool = False


class Gate(Base, frozen=True, tag="gate"):
    """A move gate of a band is installed ``closed`` or ``open``, or taken away."""

    band: int = 0
    gate: int = 0
    state: GateState = "closed"


class BeginForward(Base, frozen=True, tag="begin-forward"):
    """A forward pass is launched that writes the last slot of ``count`` + 1 rows from ``request`` on; its event is not fired."""

    request: int = 0
    count: int = 0


class FireEvent(Base, frozen=True, tag="fire-event"):
    """The event of the ``age``-th newest forward pass fires."""

    age: int = 0


class Reserve(Base, frozen=True, tag="reserve"):
    """A load from the host reserves ``pages`` + 1 physical SWA pages, with no ids yet."""

    pages: int = 0


class BindReserved(Base, frozen=True, tag="bind-reserved"):
    """Reserved SWA pages become the peers of pages of a row that have none, as many as there are of both."""

    reservation: int = 0
    request: int = 0
    page: int = 0
    pages: int = 0


class CancelReserved(Base, frozen=True, tag="cancel-reserved"):
    """A reservation is given back unused."""

    reservation: int = 0


class FinishLoad(Base, frozen=True, tag="finish-load"):
    """The copies from the host are complete: no page is protected for them any more."""


class MakeRoom(Base, frozen=True, tag="make-room"):
    """The middle band opens ``pages`` + 1 of its own pages of bytes on one ``side``; ``compact`` closes its holes instead."""

    side: Literal["low", "high"] = "high"
    pages: int = 0
    compact: bool = False
