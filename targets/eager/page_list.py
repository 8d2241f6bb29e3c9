"""The pages of one pool that can be handed out: the free list and what is staged in front of a merge (contract_paged_swa §5, §5.1).

Guarantees the order of §5.1: a release goes in front of the free list, or is staged and sorted in under ``need_sort``. Knows no
free group and checks no ownership.
"""

from __future__ import annotations

import torch

from targets.eager import debug_checks
from targets.eager.base import BaseAllocator


class PageList(BaseAllocator):
    """``size // page_size`` pages, numbered from 1. ``free_pages`` is the free list (int64), ``staged`` and ``num_staged``
    what waits for a merge. ``debug_mode`` is read here, once.
    """

    first_page = 1

    def __init__(self, size: int, page_size: int, device: str, *, need_sort: bool = False) -> None:
        super().__init__(size, page_size, device, need_sort=need_sort)
        self.num_pages = size // page_size
        self.debug_mode = debug_checks.debug_mode_is_on()
        self._within_page = torch.arange(page_size, dtype=torch.int64, device=device)
        self.clear()

    def clear(self) -> None:
        """Every page is free, in ascending order; nothing staged, no group."""
        self.free_pages = torch.arange(
            self.first_page, self.first_page + self.num_pages, dtype=torch.int64, device=self.device
        )
        self.staged: list[torch.Tensor] = []
        self.num_staged = 0
        self.free_group = None

    def available_size(self) -> int:
        """Slots of the free and the staged pages."""
        return (self.free_pages.numel() + self.num_staged) * self.page_size

    def get_all_free_pages(self) -> torch.Tensor:
        """The free list, then the staged entries in order."""
        return torch.cat((self.free_pages, *self.staged))

    def merge_and_sort_free(self) -> None:
        """Merge the staged pages and sort; when nothing is staged the order stays."""
        if self.staged:
            self.free_pages = self.get_all_free_pages().sort().values
            self.staged = []
            self.num_staged = 0

    def slots_of_pages(self, pages: torch.Tensor) -> torch.Tensor:
        """The slots of ``pages`` (1-D, any integer dtype), page by page, int64."""
        return (pages.unsqueeze(1) * self.page_size + self._within_page).view(-1)

    def room_for(self, bound: int, exact: int) -> bool:
        """Whether ``exact`` pages are there; merges when not even ``bound`` of them are (§5.3 steps 1 and 2)."""
        self._merge_if_short_of(bound)
        return not (self._short_of(bound) and self._short_of(exact))

    def _merge_if_short_of(self, pages: int) -> None:
        if self._short_of(pages):
            self.merge_and_sort_free()

    def _short_of(self, pages: int) -> bool:
        return pages > self.free_pages.numel()

    def _release(self, pages: torch.Tensor) -> None:
        if self.need_sort:
            self.staged.append(self._own(pages))
            self.num_staged += pages.numel()
        else:
            self.free_pages = torch.cat((pages, self.free_pages))

    def _set_size(self, size: int) -> None:
        super()._set_size(size)
        self.num_pages = size // self.page_size
