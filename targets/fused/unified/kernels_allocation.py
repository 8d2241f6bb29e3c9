"""The kernel that hands out pages: ids from the head of their ring, bound on one band or on two, and their slots
(contract_unified §5, §8, §16).

Guarantees one launch; that there is room was checked on the host before it. Of equal pages in one launch the last one is bound, if one
program sees them all.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
from __future__ import annotations

import triton
import triton.language as tl

from targets.fused.kernels_lists import in_ring
from targets.fused.launcher import Kernel
from targets.fused.unified.kernels_tables import bind_pages


@triton.jit
def reserved_page(order, inside, drawn, drawn_count, fresh, step):
    """The physical pages that were reserved: holes first, then fresh ones."""
    hole = tl.load(drawn + order, mask=inside & (order < drawn_count), other=0)
    return tl.where(order < drawn_count, hole, fresh + (order - drawn_count) * step)


def _hand_out(
    ring, head, capacity, count, page_size, out,
    v2p, ids, p2v, pages, drawn, drawn_count, fresh, step,
    peer_v2p, peer_ids, peer_p2v, peer_pages, peer_drawn, peer_drawn_count, peer_fresh, peer_step,
    first_peer,
    PEERS: tl.constexpr,  # noqa: N803
    SLOTS: tl.constexpr,  # noqa: N803
    TILE: tl.constexpr,  # noqa: N803
):  # fmt: skip
    """Bind ``count`` ids; PEERS: those from ``first_peer`` on also on the band ``peer_…``; SLOTS: ``out`` gets their slots."""
    begin = tl.program_id(0) * TILE
    order = begin + tl.arange(0, TILE)
    inside = order < count
    virtual = tl.load(ring + in_ring(head + order, capacity), mask=inside, other=0)
    physical = reserved_page(order, inside, drawn, drawn_count, fresh, step)
    bind_pages(v2p, ids, p2v, pages, virtual, physical, inside, TILE)
    if PEERS:
        peered = inside & (order >= first_peer)
        peer = reserved_page(
            tl.maximum(order - first_peer, 0), peered,
            peer_drawn, peer_drawn_count, peer_fresh, peer_step,
        )  # fmt: skip
        bind_pages(peer_v2p, peer_ids, peer_p2v, peer_pages, virtual, peer, peered, TILE)
    if SLOTS:
        for part in range(page_size):
            index = begin * page_size + part * TILE + tl.arange(0, TILE)
            mine = index < count * page_size
            at = in_ring(head + index // page_size, capacity)
            page = tl.load(ring + at, mask=mine, other=0)
            tl.store(out + index, page * page_size + index % page_size, mask=mine)


hand_out = Kernel(_hand_out)
