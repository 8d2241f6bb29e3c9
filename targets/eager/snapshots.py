"""The whole state of one of our allocators, as plain lists (contract_paged_swa §14).

Guarantees that looking changes nothing and that the lists are copies. Knows our allocators only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.observation import PoolState, Snapshot, new_pages_grid
from targets.eager.hybrid_swa import HybridSWAAllocator
from targets.eager.paged import PagedAllocator

if TYPE_CHECKING:
    import torch

    from targets.eager.hisparse_dsv4 import DeepSeekV4HiSparseAllocator
    from targets.eager.pure_swa import PureSWAAllocator
    from targets.eager.token import TokenAllocator


def snapshot_of(allocator: TokenAllocator | PagedAllocator | HybridSWAAllocator) -> Snapshot:
    """All lists, piles, the mapping and the answers of the size queries."""
    if isinstance(allocator, HybridSWAAllocator):
        return _hybrid(allocator)
    return Snapshot(
        full=pool_state(allocator),
        swa_set_pile=[],
        swa_page_pile=[],
        queries={"available_size": allocator.available_size(), "size": allocator.size},
        new_pages=[],
    )


def _hybrid(allocator: HybridSWAAllocator) -> Snapshot:
    full, swa = allocator.full_attn_allocator, allocator.swa_attn_allocator
    page_size = allocator.page_size
    grid = new_pages_grid(full.available_size() // page_size, swa.available_size() // page_size)
    return Snapshot(
        full=pool_state(full),
        swa=pool_state(swa),
        mapping=allocator.full_to_swa_index_mapping.tolist(),
        group=group_of(allocator.free_group),
        swa_set_pile=lists_of(allocator.swa_free_group),
        swa_page_pile=lists_of(allocator.swa_page_ids_group),
        queries=hybrid_queries(allocator),
        new_pages=[allocator.new_pages_available(*pages) for pages in grid],
    )


def hybrid_queries(
    allocator: HybridSWAAllocator | PureSWAAllocator | DeepSeekV4HiSparseAllocator,
) -> dict[str, int]:
    """What the size queries of an allocator with a FULL and an SWA side answer."""
    return {
        "available_size": allocator.available_size(),
        "full_available_size": allocator.full_available_size(),
        "swa_available_size": allocator.swa_available_size(),
        "size": allocator.size,
        "size_full": allocator.size_full,
        "size_swa": allocator.size_swa,
    }


def pool_state(pool: TokenAllocator | PagedAllocator) -> PoolState:
    """The lists of one pool."""
    if isinstance(pool, PagedAllocator):
        staged, staged_count = lists_of(pool.staged), pool.num_staged
        page_pile = lists_of(pool.free_page_ids_group)
    else:
        released = pool.release_pages.tolist()
        staged, staged_count = ([released] if released else []), len(released)
        page_pile = []
    return PoolState(
        size=pool.size,
        available=pool.available_size(),
        free=pool.free_pages.tolist(),
        staged=staged,
        staged_count=staged_count,
        group=group_of(pool.free_group),
        page_pile=page_pile,
        all_free=pool.get_all_free_pages().tolist(),
    )


def group_of(pile: list[torch.Tensor] | None) -> list[list[int]] | None:
    """A plain pile, None when no group is open."""
    return None if pile is None else lists_of(pile)


def lists_of(tensors: list[torch.Tensor]) -> list[list[int]]:
    """One list for each tensor."""
    return [tensor.tolist() for tensor in tensors]
