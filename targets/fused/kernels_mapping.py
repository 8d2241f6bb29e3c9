"""Kernels on the mapping alone: looking peers up, and mapping or unmapping slots (contract_paged_swa §6, §6.1).

Guarantees one launch each. Slots outside the mapping have no peer and cannot be mapped.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
from __future__ import annotations

import triton.language as tl

from targets.fused.kernels_lists import peer_of, set_peer
from targets.fused.launcher import Kernel


def _translate(
    slots,
    out,
    stride,
    count,
    mapping,
    entries,
    TILE: tl.constexpr,  # noqa: N803
):
    index = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = index < count
    slot = tl.load(slots + index.to(tl.int64) * stride, mask=inside, other=0).to(tl.int64)
    tl.store(out + index, peer_of(mapping, entries, slot, inside, 0), mask=inside)


def _map_slots(
    slots,
    peers,
    stride,
    count,
    peers_stride,
    mapping,
    entries,
    UNMAP: tl.constexpr,  # noqa: N803
    TILE: tl.constexpr,  # noqa: N803
):
    """Map slots to as many peers; UNMAP: to none."""
    index = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = index < count
    slot = tl.load(slots + index.to(tl.int64) * stride, mask=inside, other=0).to(tl.int64)
    peer = tl.zeros((TILE,), tl.int64)
    if not UNMAP:
        peer = tl.load(peers + index.to(tl.int64) * peers_stride, mask=inside, other=0)
        peer = peer.to(tl.int64)
    set_peer(mapping, entries, slot, peer, inside)


translate = Kernel(_translate)
map_slots = Kernel(_map_slots)
