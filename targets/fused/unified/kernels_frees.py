"""The kernel of every free of known length: find the pages, unbind them, list holes and ids, on one band or on two
(contract_unified §9, §16).

Guarantees one launch of a fixed shape, the order of the pages given, and that a page without a peer gives -1 as torch does. Of pages named
twice each gives its place twice only if one program sees both.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
from __future__ import annotations

import triton.language as tl

from targets.fused.kernels_lists import floor_divide, in_ring
from targets.fused.launcher import Kernel
from targets.fused.unified.kernels_tables import forget, look_up


def _give_back(
    slots, stride, slots_count, more, more_stride, count, page_size,
    peer_v2p, peer_ids, peer_p2v, peer_pages, peer_holes, peer_start,
    v2p, ids, p2v, pages, holes, start, ring, ring_start, ring_capacity,
    PEERS: tl.constexpr,  # noqa: N803
    OWNER: tl.constexpr,  # noqa: N803
    IDS: tl.constexpr,  # noqa: N803
    TILE: tl.constexpr,  # noqa: N803
):  # fmt: skip
    """Free the pages of ``slots``, then of ``more``, ``count`` in all.

    PEERS: those of ``slots`` on the band ``peer_…``. OWNER: all of them on the other; IDS: their ids go back to the ring.
    """
    order = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = order < count
    peered = order < slots_count
    at = order.to(tl.int64)
    slot = tl.load(slots + at * stride, mask=peered, other=0).to(tl.int64)
    rest = inside & (order >= slots_count)
    other = tl.load(more + (at - slots_count) * more_stride, mask=rest, other=0).to(tl.int64)
    page = floor_divide(tl.where(peered, slot, other), page_size)
    if PEERS:
        peer = look_up(peer_v2p, peer_ids, page, peered)
    if OWNER:
        physical = look_up(v2p, ids, page, inside)
    tl.debug_barrier()
    if PEERS:
        forget(peer_v2p, peer_ids, page, peered)
        forget(peer_p2v, peer_pages, peer, peered)
        tl.store(peer_holes + peer_start + order, peer, mask=peered)
    if OWNER:
        forget(v2p, ids, page, inside)
        forget(p2v, pages, physical, inside)
        tl.store(holes + start + order, physical, mask=inside)
    if IDS:
        tl.store(ring + in_ring(ring_start + order, ring_capacity), page, mask=inside)


give_back = Kernel(_give_back)
