"""The allocator of pages (contract_paged_swa §5).

Guarantees the order of §5: what ``free`` takes is sorted and each page once, what comes by representatives or by id stays as it
is. Outside debug mode it checks no ownership and no duplicates.
"""

from __future__ import annotations

import torch

from targets.eager import debug_checks
from targets.eager.page_plans import PagePlanner


class PagedAllocator(PagePlanner):
    """A ``PageList`` that hands out and takes back. ``free_page_ids_group`` is the page-id pile of a free group."""

    def clear(self) -> None:
        """As the page list, and nothing deferred by page id."""
        super().clear()
        self.free_page_ids_group: list[torch.Tensor] = []

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
        plan = self.plan_extend(
            prefix_lens_cpu, seq_lens_cpu, last_loc, extend_num_tokens, num_new_pages
        )
        return None if plan is None else self.take(plan)

    def alloc_decode(
        self, seq_lens: torch.Tensor, seq_lens_cpu: torch.Tensor, last_loc: torch.Tensor
    ) -> torch.Tensor | None:
        """One slot for each row, int64 ``[bs]``, or None; ``seq_lens`` count the new token (§5.4)."""
        self.check_continues(last_loc, seq_lens - 1)
        if not self.has_room_to_decode(seq_lens_cpu):
            return None
        return self.take(self.plan_decode(seq_lens_cpu, last_loc))

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

    def _pages_of(self, slots: torch.Tensor) -> torch.Tensor:
        return debug_checks.distinct(slots // self.page_size)

    def _check_duplicates(self) -> None:
        if self.debug_mode:
            debug_checks.assert_no_duplicate_page(self.get_all_free_pages())
