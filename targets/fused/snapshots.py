"""The whole state of one of our fused allocators, as plain lists (contract_paged_swa §14).

Guarantees that looking changes nothing and that the lists are copies. All of them are copied from the device at once, since a process that
shares a GPU waits for its turn at each copy.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from oracle.observation import PoolState, Snapshot, new_pages_grid
from targets.fused.buffers import in_entries
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
    lists = _read(_lists_of(allocator))
    return Snapshot(
        full=_pool(allocator, lists),
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
    piles = [allocator.swa_set_pile, allocator.swa_page_pile]
    lists = _read(
        [
            *_lists_of(full),
            *_lists_of(swa),
            allocator.full_to_swa_index_mapping,
            *(pile.everything() for pile in piles),
        ]
    )
    full_state, swa_state, mapping = _pool(full, lists), _pool(swa, lists), next(lists)
    set_pile, page_pile = (in_entries(next(lists), pile.lengths) for pile in piles)
    return Snapshot(
        full=full_state,
        swa=swa_state,
        mapping=mapping,
        group=None if allocator.free_group is None else [],
        swa_set_pile=set_pile,
        swa_page_pile=page_pile,
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


def _lists_of(pool: FusedPool) -> list[torch.Tensor]:
    """What ``_pool`` takes from the lists that were read, in its order."""
    piles = [pool.pile, pool.page_pile] if isinstance(pool, FusedPagedAllocator) else [pool.pile]
    return [pool.pages.everything(), *(pile.everything() for pile in piles)]


def _pool(pool: FusedPool, lists: Iterator[list[int]]) -> PoolState:
    pages = pool.pages
    everything, pile = next(lists), in_entries(next(lists), pool.pile.lengths)
    page_pile: list[list[int]] = []
    if isinstance(pool, FusedPagedAllocator):
        page_pile = in_entries(next(lists), pool.page_pile.lengths)
    entries = pages.staged
    if isinstance(pool, FusedTokenAllocator):
        entries = [pages.staged_count] if pages.staged_count else []
    return PoolState(
        size=pool.size,
        available=pool.available_size(),
        free=everything[: pages.count],
        staged=in_entries(everything[pages.count :], entries),
        staged_count=pages.staged_count,
        group=pile if pool.group_is_open else None,
        page_pile=page_pile,
        all_free=pool.get_all_free_pages().tolist() if pages.device.type == "cpu" else everything,
    )


def _read(tensors: list[torch.Tensor]) -> Iterator[list[int]]:
    """Each 1-D int64 tensor as a list, in one copy from the device."""
    elements: list[int] = torch.cat(tensors).tolist()
    return iter(in_entries(elements, [tensor.numel() for tensor in tensors]))
