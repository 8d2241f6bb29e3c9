"""The allocator of single slots (page size 1): a queue in a ring (contract_paged_swa §4).

Guarantees first-in first-out order without ``need_sort``, one launch for each call, and no launch for a refusal. Checks nothing: no
duplicates, no ownership.
"""

from __future__ import annotations

import torch

from targets.eager.token import TokenAllocator
from targets.fused.buffers import Side
from targets.fused.listed_pool import ListedPool


class FusedTokenAllocator(ListedPool, TokenAllocator):  # type: ignore[override]
    """As the torch allocator: ``size`` slots, numbered from 1."""

    def __init__(self, size: int, device: str, *, need_sort: bool = False) -> None:
        side = Side.STAGED if need_sort else Side.BACK
        self._make_lists(2 * size, device, side, waiting=size)
        super().__init__(size, device, need_sort=need_sort)

    @property
    def release_pages(self) -> torch.Tensor:  # type: ignore[override]
        """What is staged under ``need_sort``; do not change it in place."""
        return self.pages.everything()[self.pages.count :]

    def clear(self) -> None:
        """Every slot is free, in ascending order; nothing pending, no group."""
        self.pages.fill(self.size)
        self.free_group = None

    def available_size(self) -> int:
        """Free and staged slots."""
        return self.pages.count + self.pages.staged_count

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """The first ``need_size`` free slots, int64, or None; a shortage merges first under ``need_sort``."""
        if self._short_of(need_size):
            self.pages.merge()
        if self._short_of(need_size):
            return None
        return self._take(need_size)

    def free(self, free_index: torch.Tensor) -> None:
        """Append the slots in the order given, duplicates kept; in a group they wait."""
        if free_index.numel() == 0:
            return
        (self.pile if self.group_is_open else self.pages).push(free_index)

    def free_group_end(self) -> None:
        """Close the group, then free the plain pile in one launch."""
        self.group_is_open = False
        if self.pile.count:
            self.pages.push(self.pile.everything())
            self.pile.empty()

    def _short_of(self, slots: int) -> bool:
        return slots > self.pages.count
