"""Faults of the checks that a paged allocator makes in debug mode. Each class is one fault."""

from __future__ import annotations

import torch

from targets.eager import debug_checks
from targets.eager.page_plans import PagePlan
from targets.eager.paged import PagedAllocator
from targets.mutants.mutant import FaultList

FAULTS = FaultList()


@FAULTS.add("divergence")
class DuplicatesUnchecked(PagedAllocator):
    """Debug mode does not notice that a page is free twice."""

    def _check_duplicates(self) -> None:
        pass


@FAULTS.add("divergence")
class DuplicatesCheckedBeforeRelease(PagedAllocator):
    """Debug mode refuses a page that is free already instead of reporting it after the release."""

    def _release(self, pages: torch.Tensor) -> None:
        if self.debug_mode:
            debug_checks.assert_no_duplicate_page(torch.cat((self.get_all_free_pages(), pages)))
        super()._release(pages)


@FAULTS.add("divergence")
class StagedDuplicatesUnchecked(PagedAllocator):
    """Debug mode looks for duplicates in the free list and not among the staged pages."""

    def _check_duplicates(self) -> None:
        if self.debug_mode:
            debug_checks.assert_no_duplicate_page(self.free_pages)


@FAULTS.add("divergence")
class DuplicatesUncheckedAtGroupEnd(PagedAllocator):
    """Debug mode does not look for duplicates when a group ends."""

    def free_group_end(self) -> None:
        """As ours, with debug mode off."""
        debug_mode, self.debug_mode = self.debug_mode, False
        super().free_group_end()
        self.debug_mode = debug_mode


@FAULTS.add("divergence")
class SegmentUnchecked(PagedAllocator):
    """Debug mode does not compare the representatives with the pages of a segment."""

    def check_segment(self, segment: torch.Tensor) -> None:
        """Nothing is checked."""


@FAULTS.add("divergence")
class WholePagesUnchecked(PagedAllocator):
    """Debug mode accepts a need that is not whole pages."""

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """As ours, rounded down."""
        return super().alloc(need_size // self.page_size * self.page_size)


@FAULTS.add("divergence")
class HandedOutTwiceUnchecked(PagedAllocator):
    """Debug mode does not notice that an extend hands out a slot twice."""

    def plan_extend(
        self,
        prefix_lens_cpu: torch.Tensor,
        seq_lens_cpu: torch.Tensor,
        last_loc: torch.Tensor,
        extend_num_tokens: int,
        num_new_pages: int | None = None,
    ) -> PagePlan | None:
        """As ours, with debug mode off."""
        debug_mode, self.debug_mode = self.debug_mode, False
        plan = super().plan_extend(
            prefix_lens_cpu, seq_lens_cpu, last_loc, extend_num_tokens, num_new_pages
        )
        self.debug_mode = debug_mode
        return plan
