"""The allocator of single slots (page size 1): a queue (contract_paged_swa §4).

Guarantees first-in first-out order without ``need_sort``. Checks nothing: no duplicates, no ownership.
"""

from __future__ import annotations

import torch

from targets.eager.base import BaseAllocator


class TokenAllocator(BaseAllocator):
    """``size`` slots, numbered from 1. ``free_pages`` is the free list, ``release_pages`` what is staged under
    ``need_sort``; both int64 on ``device`` and never changed in place.
    """

    first_slot = 1

    def __init__(self, size: int, device: str, *, need_sort: bool = False) -> None:
        super().__init__(size, 1, device, need_sort=need_sort)
        self.clear()

    def clear(self) -> None:
        """Every slot is free, in ascending order; nothing pending, no group."""
        self.free_pages = torch.arange(
            self.first_slot, self.first_slot + self.size, dtype=torch.int64, device=self.device
        )
        self.release_pages = self.free_pages[:0]
        self.free_group = None

    def available_size(self) -> int:
        """Free and staged slots."""
        return self.free_pages.numel() + self.release_pages.numel()

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """The first ``need_size`` free slots, int64 (a view), or None; a shortage merges first under ``need_sort``."""
        if self._short_of(need_size):
            self.merge_and_sort_free()
        if self._short_of(need_size):
            return None
        taken, self.free_pages = self.free_pages[:need_size], self.free_pages[need_size:]
        return taken

    def free(self, free_index: torch.Tensor) -> None:
        """Append the slots in the order given, duplicates kept; in a group they wait."""
        if free_index.numel() == 0:
            return
        if self.free_group is not None:
            self.free_group.append(self._own(free_index))
        else:
            self._release(free_index)

    def free_page_ids(self, page_ids: torch.Tensor) -> None:
        """The same as ``free``: a page is a slot here."""
        self.free(page_ids)

    def get_all_free_pages(self) -> torch.Tensor:
        """The free list, then what is staged."""
        return torch.cat((self.free_pages, self.release_pages))

    def merge_and_sort_free(self) -> None:
        """Merge what is staged and sort; when nothing is staged the order stays."""
        if self.release_pages.numel():
            self.free_pages = torch.cat((self.free_pages, self.release_pages)).sort().values
            self.release_pages = self.release_pages[:0]

    def _short_of(self, slots: int) -> bool:
        return slots > self.free_pages.numel()

    def _release(self, slots: torch.Tensor) -> None:
        if self.need_sort:
            self.release_pages = torch.cat((self.release_pages, slots))
        else:
            self.free_pages = torch.cat((self.free_pages, slots))
