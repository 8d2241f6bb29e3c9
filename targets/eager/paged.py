"""The allocator of pages (contract_paged_swa §5).

Guarantees the order of §5: releases go in front of the free list, or are staged and sorted in under ``need_sort``. Outside
debug mode it checks no ownership and no duplicates.
"""

from __future__ import annotations

import torch

from targets.eager import debug_checks
from targets.eager.base import BaseAllocator
from targets.eager.page_plans import PagePlan, decode_has_room, plan_decode, plan_extend


class PagedAllocator(BaseAllocator):
    """``size // page_size`` pages, numbered from 1. ``free_pages`` is the free list (int64); ``staged`` and ``num_staged``
    what waits for a merge; ``free_page_ids_group`` the page-id pile of a free group. ``debug_mode`` is read here, once.
    """

    first_page = 1

    def __init__(self, size: int, page_size: int, device: str, *, need_sort: bool = False) -> None:
        super().__init__(size, page_size, device, need_sort=need_sort)
        self.num_pages = size // page_size
        self.debug_mode = debug_checks.debug_mode_is_on()
        self._within_page = torch.arange(page_size, dtype=torch.int64, device=device)
        self.clear()

    def clear(self) -> None:
        """Every page is free, in ascending order; nothing staged or deferred, no group."""
        self.free_pages = torch.arange(
            self.first_page, self.first_page + self.num_pages, dtype=torch.int64, device=self.device
        )
        self.staged: list[torch.Tensor] = []
        self.num_staged = 0
        self.free_group = None
        self.free_page_ids_group: list[torch.Tensor] = []

    def available_size(self) -> int:
        """Slots of the free and the staged pages."""
        return (self.free_pages.numel() + self.num_staged) * self.page_size

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """The slots of the first ``need_size // page_size`` free pages, int64, or None. Debug: asserts whole pages first."""
        if self.debug_mode:
            debug_checks.assert_whole_pages(need_size, self.page_size)
        pages = need_size // self.page_size
        self._merge_if_short_of(pages)
        if self._short_of(pages):
            return None
        slots = self.slots_of_pages(self.free_pages[:pages])
        self.free_pages = self.free_pages[pages:]
        return slots

    def alloc_extend(
        self,
        prefix_lens: torch.Tensor,
        prefix_lens_cpu: torch.Tensor,
        seq_lens: torch.Tensor,  # noqa: ARG002 (the arguments that callers know)
        seq_lens_cpu: torch.Tensor,
        last_loc: torch.Tensor,
        extend_num_tokens: int,
        num_new_pages: int | None = None,
    ) -> torch.Tensor | None:
        """Slots int64 ``[extend_num_tokens]`` for rows growing from prefix to seq lengths ``[bs]``, request by request, or None (§5.3)."""
        self.check_continues(last_loc, prefix_lens)
        plan = plan_extend(
            self, prefix_lens_cpu, seq_lens_cpu, last_loc, extend_num_tokens, num_new_pages
        )
        return None if plan is None else self.take(plan)

    def alloc_decode(
        self, seq_lens: torch.Tensor, seq_lens_cpu: torch.Tensor, last_loc: torch.Tensor
    ) -> torch.Tensor | None:
        """One slot for each row, int64 ``[bs]``, or None; ``seq_lens`` count the new token (§5.4)."""
        self.check_continues(last_loc, seq_lens - 1)
        if not decode_has_room(self, seq_lens_cpu):
            return None
        return self.take(plan_decode(self, seq_lens_cpu, last_loc))

    def free(self, free_index: torch.Tensor) -> None:
        """Release the pages of any slots, each page once, ascending; in a group the slots wait (§5.5)."""
        if free_index.numel() == 0:
            return
        if self.free_group is not None:
            self.free_group.append(self._own(free_index))
        else:
            self._release(self._pages_of(free_index))
        self._check_duplicates()

    def free_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """Release a segment's pages by their representatives, in row order, repeated ones repeatedly (§5.5)."""
        if free_index.numel() == 0:
            return
        self._assert_aligned(start_pos)
        self.check_segment(free_index)
        self.free_page_ids(self.representatives(free_index) // self.page_size)

    def free_page_ids(self, page_ids: torch.Tensor) -> None:
        """Release pages by id, in the order given; in a group they wait in the page-id pile."""
        if page_ids.numel() == 0:
            return
        if self.free_group is not None:
            self.free_page_ids_group.append(self._own(page_ids))
            return
        self._release(page_ids)
        self._check_duplicates()

    def free_group_begin(self) -> None:
        """As the base form, and starts an empty page-id pile."""
        super().free_group_begin()
        self.free_page_ids_group = []

    def free_group_end(self) -> None:
        """Release the plain pile, each page once, then the page-id pile (§5.5)."""
        super().free_group_end()
        if self.free_page_ids_group:
            pile, self.free_page_ids_group = self.free_page_ids_group, []
            self._release(torch.cat(pile))
        self._check_duplicates()

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

    def representatives(self, segment: torch.Tensor) -> torch.Tensor:
        """The first slot of each page of a segment; a page that the segment leaves early counts."""
        return segment[:: self.page_size]

    def check_continues(self, last_loc: torch.Tensor, prefix_lens: torch.Tensor) -> None:
        """Debug: raise AssertionError when a last slot does not lie where its prefix ends; changes nothing."""
        if self.debug_mode:
            debug_checks.assert_continues_page(last_loc, prefix_lens, self.page_size)

    def check_segment(self, segment: torch.Tensor) -> None:
        """Debug: raise AssertionError when the representatives do not name each page once; changes nothing."""
        if self.debug_mode:
            debug_checks.assert_same_pages(
                self.representatives(segment) // self.page_size,
                segment // self.page_size,
                "the representatives do not name the pages of the segment",
            )

    def take(self, plan: PagePlan) -> torch.Tensor:
        """Drop the planned pages from the free list and return the planned slots."""
        self.free_pages = self.free_pages[plan.new_pages :]
        return plan.slots

    def room_for(self, bound: int, exact: int) -> bool:
        """Whether ``exact`` pages are there; merges when not even ``bound`` of them are (§5.3 steps 1 and 2)."""
        self._merge_if_short_of(bound)
        return not (self._short_of(bound) and self._short_of(exact))

    def _merge_if_short_of(self, pages: int) -> None:
        if self._short_of(pages):
            self.merge_and_sort_free()

    def _short_of(self, pages: int) -> bool:
        return pages > self.free_pages.numel()

    def _pages_of(self, slots: torch.Tensor) -> torch.Tensor:
        return debug_checks.distinct(slots // self.page_size)

    def _release(self, pages: torch.Tensor) -> None:
        if self.need_sort:
            self.staged.append(self._own(pages))
            self.num_staged += pages.numel()
        else:
            self.free_pages = torch.cat((pages, self.free_pages))

    def _set_size(self, size: int) -> None:
        super()._set_size(size)
        self.num_pages = size // self.page_size

    def _check_duplicates(self) -> None:
        if self.debug_mode:
            debug_checks.assert_no_duplicate_page(self.get_all_free_pages())
