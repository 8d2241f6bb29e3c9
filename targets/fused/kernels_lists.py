"""Kernels on free lists and piles: copying into them, and taking slots from their heads (contract_paged_swa §4, §5.1, §5.2).

Guarantees the order of the contract in one launch. Checks no bounds but the counts that the host passes.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
from __future__ import annotations

import triton
import triton.language as tl

from targets.fused.launcher import Kernel

TILE = 1024


@triton.jit
def floor_divide(value, divisor):
    """``value // divisor`` as torch rounds, down; Triton rounds toward zero."""
    quotient = value // divisor
    return tl.where(quotient * divisor > value, quotient - 1, quotient)


@triton.jit
def pages_spanned(length, page_size):
    """How many pages a row of ``length`` slots touches."""
    return (length + page_size - 1) // page_size


@triton.jit
def in_ring(position, capacity):
    """Where the position, less than two capacities, lies in a ring."""
    return tl.where(position >= capacity, position - capacity, position)


@triton.jit
def peer_of(mapping, entries, slot, inside, other):
    """The peers of slots in a mapping of ``entries``: negative slots count from the end, as in torch.

    ``other`` for those that are not ``inside`` or lie outside the mapping.
    """
    entry = tl.where(slot < 0, slot + entries, slot)
    inside = inside & (entry >= 0) & (entry < entries)
    return tl.load(mapping + entry, mask=inside, other=other)


@triton.jit
def set_peer(mapping, entries, slot, peer, inside):
    """Map slots to peers; those that are not ``inside`` or lie outside the mapping are left out."""
    entry = tl.where(slot < 0, slot + entries, slot)
    inside = inside & (entry >= 0) & (entry < entries)
    tl.store(mapping + entry, peer, mask=inside)


@triton.jit
def copy_values(index, source, stride, count, ring, start, capacity):
    """Copy the elements ``index`` of a strided source behind ``start`` of a ring."""
    inside = index < count
    value = tl.load(source + index.to(tl.int64) * stride, mask=inside, other=0).to(tl.int64)
    tl.store(ring + in_ring(start + index, capacity), value, mask=inside)


def _copy_two(
    first,
    second,
    first_stride,
    first_count,
    first_ring,
    first_start,
    first_capacity,
    second_stride,
    second_count,
    second_ring,
    second_start,
    second_capacity,
    TILE: tl.constexpr,  # noqa: N803 (what is constant in a kernel)
):
    index = tl.program_id(0) * TILE + tl.arange(0, TILE)
    copy_values(index, first, first_stride, first_count, first_ring, first_start, first_capacity)
    copy_values(
        index, second, second_stride, second_count, second_ring, second_start, second_capacity
    )


def _take(
    out,
    full_ring,
    full_head,
    full_capacity,
    swa_ring,
    swa_head,
    swa_capacity,
    mapping,
    entries,
    count,
    page_size,
    HYBRID: tl.constexpr,  # noqa: N803
    TILE: tl.constexpr,  # noqa: N803
):
    """``out`` gets the ``count`` slots of the pages at the head; at page size 1 a hybrid's are mapped to as many SWA slots."""
    index = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = index < count
    order = index // page_size
    page = tl.load(full_ring + in_ring(full_head + order, full_capacity), mask=inside, other=0)
    slot = page * page_size + index % page_size
    tl.store(out + index, slot, mask=inside)
    if HYBRID:
        peer = tl.load(swa_ring + in_ring(swa_head + index, swa_capacity), mask=inside, other=0)
        set_peer(mapping, entries, slot, peer, inside)


copy_two = Kernel(_copy_two)
take = Kernel(_take)
