"""The whole state of one of our fused allocators, as plain lists (contract_paged_swa §14).

Guarantees that looking changes nothing and that the lists are copies. Each buffer is copied from the device once.
"""

from __future__ import annotations

from oracle.observation import PoolState, Snapshot, new_pages_grid
from targets.fused.buffers import Pile, in_entries
from targets.fused.hybrid_swa import FusedHybridSWAAllocator
from targets.fused.memory import overwritten
from targets.fused.paged import FusedPagedAllocator
from targets.fused.token import FusedTokenAllocator

FusedPool = FusedTokenAllocator | FusedPagedAllocator


def snapshot_of(allocator: FusedPool | FusedHybridSWAAllocator) -> Snapshot:
    """All lists, piles, the mapping, the answers of the size queries, and which guards around them were overwritten."""
    damage = overwritten(allocator.memories())
    if isinstance(allocator, FusedHybridSWAAllocator):
        return _hybrid(allocator, damage)
    return Snapshot(
        full=_pool(allocator),
        swa_set_pile=[],
        swa_page_pile=[],
        queries={"available_size": allocator.available_size(), "size": allocator.size},
        new_pages=[],
        overwritten=damage,
    )


def _hybrid(allocator: FusedHybridSWAAllocator, damage: list[str]) -> Snapshot:
    full, swa = allocator.full_attn_allocator, allocator.swa_attn_allocator
    assert isinstance(full, FusedPool)
    assert isinstance(swa, FusedPool)
    page_size = allocator.page_size
    grid = new_pages_grid(full.available_size() // page_size, swa.available_size() // page_size)
    return Snapshot(
        full=_pool(full),
        swa=_pool(swa),
        mapping=allocator.full_to_swa_index_mapping.tolist(),
        group=None if allocator.free_group is None else [],
        swa_set_pile=_entries(allocator.swa_set_pile),
        swa_page_pile=_entries(allocator.swa_page_pile),
        queries={
            "available_size": allocator.available_size(),
            "full_available_size": allocator.full_available_size(),
            "swa_available_size": allocator.swa_available_size(),
            "size": allocator.size,
            "size_full": allocator.size_full,
            "size_swa": allocator.size_swa,
        },
        new_pages=[allocator.new_pages_available(*pages) for pages in grid],
        overwritten=damage,
    )


def _pool(pool: FusedPool) -> PoolState:
    pages = pool.pages
    everything = pages.everything().tolist()
    entries = pages.staged
    if isinstance(pool, FusedTokenAllocator):
        entries = [pages.staged_count] if pages.staged_count else []
    return PoolState(
        size=pool.size,
        available=pool.available_size(),
        free=everything[: pages.count],
        staged=in_entries(everything[pages.count :], entries),
        staged_count=pages.staged_count,
        group=_entries(pool.pile) if pool.group_is_open else None,
        page_pile=_entries(pool.page_pile) if isinstance(pool, FusedPagedAllocator) else [],
        all_free=pool.get_all_free_pages().tolist() if pages.device.type == "cpu" else everything,
    )


def _entries(pile: Pile) -> list[list[int]]:
    return in_entries(pile.everything().tolist(), pile.lengths) if pile.count else []
