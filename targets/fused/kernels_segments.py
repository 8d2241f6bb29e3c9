"""The kernel of every segment form: look up, check, clear and push in one launch (contract_paged_swa §5.5, §6.3, §6.5).

Guarantees that all peers are read before any mapping entry is cleared, so that a repeated representative gives its page
twice, and that nothing changes when the kernel is told not to commit or to stop at a hit.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
from __future__ import annotations

import triton
import triton.language as tl

from targets.fused.kernels_lists import floor_divide, in_ring, peer_of, set_peer
from targets.fused.launcher import Kernel

UNMAPPED = tl.constexpr(0)
"""Where a report holds the number of representatives without a peer."""
UNRELEASED = tl.constexpr(1)
"""Where a report holds the number of slots that still have a peer."""


@triton.jit
def count_unreleased(slots, stride, count, mapping, entries, TILE: tl.constexpr):  # noqa: N803
    """How many of the slots have a peer; by the whole program."""
    found = tl.zeros((TILE,), tl.int64)
    for base in range(0, count, TILE):
        index = base + tl.arange(0, TILE)
        inside = index < count
        slot = tl.load(slots + index.to(tl.int64) * stride, mask=inside, other=0).to(tl.int64)
        peer = peer_of(mapping, entries, slot, inside, 0)
        found += (peer != 0).to(tl.int64)
    return tl.sum(found)


@triton.jit
def count_unmapped(segment, stride, pages, mapping, entries, TILE: tl.constexpr):  # noqa: N803
    """How many of the representatives (``stride`` apart) have no peer; by the whole program."""
    found = tl.zeros((TILE,), tl.int64)
    for base in range(0, pages, TILE):
        index = base + tl.arange(0, TILE)
        inside = index < pages
        slot = tl.load(segment + index.to(tl.int64) * stride, mask=inside, other=0).to(tl.int64)
        peer = peer_of(mapping, entries, slot, inside, 0)
        found += (inside & (peer <= 0)).to(tl.int64)
    return tl.sum(found)


@triton.jit
def wait_for_all(tickets, target):
    """Go on when every program came here. ``target`` is how many came in all launches up to and including this one."""
    tl.debug_barrier()
    tl.atomic_add(tickets, 1)
    arrived = tl.atomic_add(tickets, 0)
    while arrived < target:
        arrived = tl.atomic_add(tickets, 0)
    tl.debug_barrier()


def _free_segment(
    segment,
    stride,
    slots,
    pages,
    page_size,
    mapping,
    entries,
    swa_ring,
    swa_start,
    swa_capacity,
    full_ring,
    full_start,
    full_capacity,
    report,
    commit,
    stop_at_hit,
    tickets,
    ticket_target,
    SWA: tl.constexpr,  # noqa: N803
    FULL: tl.constexpr,  # noqa: N803
    RELEASED: tl.constexpr,  # noqa: N803
    WATCHED: tl.constexpr,  # noqa: N803
    MANY: tl.constexpr,  # noqa: N803
    TILE: tl.constexpr,  # noqa: N803
):
    """Free the ``pages`` pages of a segment of ``slots`` slots.

    SWA: the peers' pages are pushed and the whole pages unmapped. FULL: the pages themselves are pushed. WATCHED, by one program only:
    the report says how many representatives have no peer (SWA) or slots a peer (RELEASED).
    """
    page_stride = stride * page_size.to(tl.int64)
    go = commit
    if WATCHED:
        if SWA:
            unmapped = count_unmapped(segment, page_stride, pages, mapping, entries, TILE)
            tl.store(report + UNMAPPED, unmapped)
            go = go * (1 - stop_at_hit * (unmapped > 0).to(tl.int32))
        if RELEASED:
            unreleased = count_unreleased(segment, stride, slots, mapping, entries, TILE)
            tl.store(report + UNRELEASED, unreleased)
            go = go * (1 - stop_at_hit * (unreleased > 0).to(tl.int32))
    if go != 0:
        first = tl.program_id(0) * TILE
        step = tl.num_programs(0) * TILE
        for base in range(first, pages, step):
            index = base + tl.arange(0, TILE)
            inside = index < pages
            slot = tl.load(segment + index.to(tl.int64) * page_stride, mask=inside, other=0)
            slot = slot.to(tl.int64)
            if SWA:
                peer = peer_of(mapping, entries, slot, inside, 0)
                page = floor_divide(peer, page_size)
                tl.store(swa_ring + in_ring(swa_start + index, swa_capacity), page, mask=inside)
            if FULL:
                page = floor_divide(slot, page_size)
                tl.store(full_ring + in_ring(full_start + index, full_capacity), page, mask=inside)
        if SWA:
            if MANY:
                wait_for_all(tickets, ticket_target)
            else:
                tl.debug_barrier()
            for base in range(first, pages * page_size, step):
                index = base + tl.arange(0, TILE)
                inside = index < pages * page_size
                order = index // page_size
                slot = tl.load(segment + order.to(tl.int64) * page_stride, mask=inside, other=0)
                page = floor_divide(slot.to(tl.int64), page_size)
                slot = page * page_size + index % page_size
                set_peer(mapping, entries, slot, tl.zeros((TILE,), tl.int64), inside)


free_segment = Kernel(_free_segment)
