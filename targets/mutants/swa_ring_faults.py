"""Faults of the hybrid allocator with a ring for each request. Each class is one fault."""

from __future__ import annotations

import torch

from targets.eager.hybrid_swa import HybridSWAAllocator
from targets.eager.swa_ring import RingSWAAllocator
from targets.mutants.mutant import FaultList

FAULTS = FaultList()


@FAULTS.add("divergence", "law")
class RingFreed(RingSWAAllocator):
    """The SWA side is freed although it is a ring."""

    def free_swa(self, free_index: torch.Tensor) -> None:
        """As where there is no ring, the slots standing for their peers."""
        self.swa_attn_allocator.free(free_index)


@FAULTS.add("divergence", "law")
class RingSegmentsFreed(RingSWAAllocator):
    """A segment's pages are freed on the SWA side although it is a ring."""

    def free_swa_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """As where there is no ring, the slots standing for their peers."""
        self.swa_attn_allocator.free_segment(free_index, start_pos=start_pos)


@FAULTS.add("divergence", "law")
class RingRowsMapped(RingSWAAllocator):
    """An extend takes peers from the idle SWA pool."""

    def alloc_extend(
        self,
        prefix_lens: torch.Tensor,
        prefix_lens_cpu: torch.Tensor,
        seq_lens: torch.Tensor,
        seq_lens_cpu: torch.Tensor,
        last_loc: torch.Tensor,
        extend_num_tokens: int,
        num_new_pages: int | None = None,  # noqa: ARG002
    ) -> torch.Tensor | None:
        """As where there is no ring."""
        return HybridSWAAllocator.alloc_extend(
            self, prefix_lens, prefix_lens_cpu, seq_lens, seq_lens_cpu, last_loc, extend_num_tokens
        )


@FAULTS.add("divergence")
class RingLimitsAvailable(RingSWAAllocator):
    """``available_size`` is the smaller of both sides."""

    def available_size(self) -> int:
        """As where there is no ring."""
        return min(self.full_available_size(), self.swa_available_size())


@FAULTS.add("divergence")
class RingCostNotRounded(RingSWAAllocator):
    """A ring costs its slots, not whole pages."""

    def swa_available_size(self) -> int:
        """As ours, a slot less for each ring."""
        rings = self.req_to_token_pool.available_size()
        return super().swa_available_size() - rings


@FAULTS.add("divergence")
class RingSizeFollowsRequests(RingSWAAllocator):
    """``size_swa`` is what the free requests have rings for now, not at construction."""

    def swa_available_size(self) -> int:
        """As ours, and keeps the answer as size."""
        self.size_swa = super().swa_available_size()
        return self.size_swa


@FAULTS.add("divergence")
class RingCountedInIdlePool(RingSWAAllocator):
    """The SWA side is counted in the slots of the idle pool."""

    def swa_available_size(self) -> int:
        """As where there is no ring."""
        return self.swa_attn_allocator.available_size()


@FAULTS.add("divergence")
class RingSegmentStartUnchecked(RingSWAAllocator):
    """A two-sided segment free does not mind where the segment starts."""

    def free_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """As ours, from the page's start."""
        super().free_segment(free_index, start_pos=start_pos // self.page_size * self.page_size)


@FAULTS.add("divergence")
class RingTailUnchecked(RingSWAAllocator):
    """A tail that is longer than its extension is accepted."""

    def _assert_tail(
        self, prefix_lens_cpu: torch.Tensor, extend_num_tokens: int, swa_tail_len: int
    ) -> None:
        pass


@FAULTS.add("divergence")
class RingFreesFullSideTwice(RingSWAAllocator):
    """A two-sided free gives the FULL pages back twice."""

    def free(self, free_index: torch.Tensor) -> None:
        """As ours, and once more."""
        super().free(free_index)
        super().free(free_index)
