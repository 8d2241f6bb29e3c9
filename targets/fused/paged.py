"""The allocator of pages (contract_paged_swa §5).

Guarantees the order of §5 with one launch for each call and none for a refusal. The set-shaped ``free``, whose number of pages only the
device knows, waits for it once; nothing else does outside debug mode.
"""

from __future__ import annotations

import torch

from targets.eager import debug_checks
from targets.eager.page_plans import PagePlan
from targets.eager.paged import PagedAllocator
from targets.fused.buffers import Pile, Side, cut
from targets.fused.listed_pool import FIRST_PILE, ListedPool
from targets.fused.memory import DeviceBuffer
from targets.fused.paged_rows import PagedRows
from targets.fused.segments import launch_segment
from targets.fused.sets import SetFree
from targets.fused.workspace import Workspace


class FusedPagedAllocator(ListedPool, PagedRows, PagedAllocator):  # type: ignore[override]
    """As the torch allocator: ``size // page_size`` pages, numbered from 1. ``page_pile`` is the page-id pile of a group."""

    def __init__(self, size: int, page_size: int, device: str, *, need_sort: bool = False) -> None:
        pages = size // page_size
        # Legal callers need no more: a set-shaped free makes room for every page that has a mark.
        room = 2 * pages + 3
        self._make_lists(room, device, Side.STAGED if need_sort else Side.FRONT)
        self.page_pile = Pile(max(FIRST_PILE, pages), self.device_object)
        # A mapping and a row have entries up to the end of the page after the last slot.
        self.workspace = Workspace(pages + 1, self.device_object)
        super().__init__(size, page_size, device, need_sort=need_sort)

    @property
    def free_page_ids_group(self) -> list[torch.Tensor]:  # type: ignore[override]
        """The page-id pile, an entry for each call."""
        return self.page_pile.entries()

    @property
    def staged(self) -> list[torch.Tensor]:  # type: ignore[override]
        """What waits for a merge, an entry for each release."""
        return cut(self.pages.everything()[self.pages.count :], self.pages.staged)

    @property
    def num_staged(self) -> int:  # type: ignore[override]
        """How many pages wait for a merge."""
        return self.pages.staged_count

    def clear(self) -> None:
        """Every page is free, in ascending order; nothing staged or deferred, no group."""
        self.workspace.reach(self.num_pages + 1)
        self.pages.fill(self.num_pages)
        self.page_pile.empty()
        self.free_group = None

    def available_size(self) -> int:
        """Slots of the free and the staged pages."""
        return (self.pages.count + self.pages.staged_count) * self.page_size

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """The slots of the first ``need_size // page_size`` free pages, int64, or None. Debug: asserts whole pages first."""
        if self.debug_mode:
            debug_checks.assert_whole_pages(need_size, self.page_size)
        pages = need_size // self.page_size
        self._merge_if_short_of(pages)
        return None if self._short_of(pages) else self._take(pages)

    def free(self, free_index: torch.Tensor) -> None:
        """Release the pages of any slots, each page once, ascending; in a group the slots wait (§5.5)."""
        if free_index.numel() == 0:
            return
        if self.group_is_open:
            self.pile.push(free_index)
        else:
            SetFree(self.workspace, self.page_size, full=self, full_slots=free_index).run()
        self._check_duplicates()

    def free_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """Release a segment's pages by their representatives, in row order, repeated ones repeatedly (§5.5)."""
        slots = free_index.numel()
        if slots == 0:
            return
        self._assert_aligned(start_pos)
        self.check_segment(free_index)
        pages = -(-slots // self.page_size)
        place = self.segment_place(pages)
        launch_segment(self.workspace, free_index, slots, self.page_size, None, None, place)
        self.segment_placed(pages)
        if not self.group_is_open:
            self._check_duplicates()

    def free_page_ids(self, page_ids: torch.Tensor) -> None:
        """Release pages by id, in the order given; in a group they wait in the page-id pile."""
        if page_ids.numel() == 0:
            return
        if self.group_is_open:
            self.page_pile.push(page_ids)
            return
        self.pages.push(page_ids)
        self._check_duplicates()

    def free_group_begin(self) -> None:
        """As the base form, and starts an empty page-id pile."""
        super().free_group_begin()
        self.page_pile.empty()

    def free_group_end(self) -> None:
        """Release the plain pile, each page once, then the page-id pile (§5.5); in one launch outside debug mode."""
        self.group_is_open = False
        if self.pile.count and not self.debug_mode:
            slots = self.pile.everything()
            flush = SetFree(self.workspace, self.page_size, full=self, full_slots=slots)
            flush.with_page_piles(None).run()
            self.pile.empty()
            self.page_pile.empty()
            return
        if self.pile.count:
            slots = self.pile.everything()
            self.pile.empty()
            self.free(slots)
        if self.page_pile.count:
            self.pages.push(self.page_pile.everything())
            self.page_pile.empty()
        self._check_duplicates()

    def memories(self) -> dict[str, DeviceBuffer]:
        """All buffers of the pool, by name."""
        own = {"page_pile": self.page_pile.memory, **self.workspace.memories()}
        return {**super().memories(), **own}

    def take(self, plan: PagePlan) -> torch.Tensor:
        """Drop the planned pages from the free list and return the planned slots."""
        self.pages.took(plan.new_pages)
        return plan.slots

    def pile_of_segments(self) -> Pile:
        """The page-id pile."""
        return self.page_pile

    def _short_of(self, pages: int) -> bool:
        return pages > self.pages.count
