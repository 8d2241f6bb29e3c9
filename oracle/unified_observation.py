"""What can be seen of an allocator over one shared buffer: its bands, its piles, its capacities and the fake KV
(contract_unified §3, §4, §8).

Lists are in the allocator's order. Pages of a band are physical, unless they are called virtual.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from oracle.byte_buffer import BandName
from oracle.observation import Snapshot


class PageCopy(Struct, frozen=True, order=True):
    """One page of a band was copied from ``source`` to ``destination``."""

    band: BandName
    source: int
    destination: int


class BandState(Struct, kw_only=True):
    """One band.

    ``v2p``: virtual to physical page, -1 unbound, length ids + 1; ``p2v``: its inverse, length pages + 1; entry 0 of both is
    0, the last one a sentinel of -1. ``free_ids``: virtual pages to be handed out, from the head; None where the ids are
    another band's. ``holes``: freed pages inside the span. ``live``: the count the allocator keeps (in lazy mode and in a
    floating band; elsewhere what follows from the span). ``pending``: an entry for each event, the pages that it protects.
    ``pending_load``: pages that wait for a copy from the host.

    An end band has its ``watermark`` (grows up: span from the first page up to it; grows down: span above it). A floating one
    has the span ``start`` to ``stop`` instead, and ``next_end`` and ``dirty``; "" and False elsewhere.

    ``available``, ``schedulable``, ``allocated``: ``available_size``, ``schedulable_available_size``, ``allocated_count`` in
    slots. ``content``: what is written in each physical slot of pages + 1 pages, 0 where nothing ever was.
    """

    v2p: list[int]
    p2v: list[int]
    free_ids: list[int] | None
    holes: list[int]
    live: int
    pending: list[list[int]]
    pending_load: int
    watermark: int | None = None
    start: int | None = None
    stop: int | None = None
    next_end: Literal["", "low", "high"] = ""
    dirty: bool = False
    available: int
    schedulable: int
    allocated: int
    content: list[int]


class UnifiedSnapshot(Struct, kw_only=True):
    """The whole state of a unified allocator.

    ``bands`` by name: full, swa, state, as far as the family has them. ``group_open`` and the piles, an entry for each
    deferred call, as its FULL slots: ``token_pile`` of ``free``; ``representative_pile`` of ``free_segment``;
    ``full_token_pile`` of ``free_full``; ``full_representative_pile`` of ``free_full_segment``. All empty when no group
    is open.

    ``queries``: what the public size queries answer, by name: ``available_size``, ``full_available_size``,
    ``swa_available_size``, ``conserve_full_available_size``, ``conserve_swa_available_size``,
    ``schedulable_full_available_size``, ``schedulable_swa_available_size``, ``current_full_capacity``,
    ``current_swa_capacity``, ``size_full``, ``size_swa`` (two and three pools with SWA); ``available_size``,
    ``full_available_size``, ``size`` (FULL and states); ``state_size``, ``state_available_size``,
    ``state_schedulable_size``, ``state_free_slots`` of the allocator of states: how many there are, how many are not allocated,
    how many could be allocated, how many physical pages of their band are behind its watermark.

    ``byte_accounting``: what the allocator's own verifier complains of (only whether there is anything is compared).
    ``copies``: the page copies that the last call made, sorted.
    ``prepared``: the virtual states that are left of those taken out in advance, in order; empty when all were handed out and no
    end was called; None where nothing is prepared, and in the family without states.
    """

    bands: dict[str, BandState]
    group_open: bool
    token_pile: list[list[int]]
    representative_pile: list[list[int]]
    full_token_pile: list[list[int]]
    full_representative_pile: list[list[int]]
    queries: dict[str, int]
    byte_accounting: list[str]
    copies: list[PageCopy]
    prepared: list[int] | None = None


AnySnapshot = Snapshot | UnifiedSnapshot
"""The state of an allocator of any family."""
