"""Faults in how the hybrid allocator takes segments back. Each class is one fault."""

from __future__ import annotations

import torch

from targets.eager.hybrid_swa import HybridSWAAllocator
from targets.mutants.mutant import FaultList

FAULTS = FaultList()


@FAULTS.add("law", "divergence", stands_for=("partial-free-stale-map",))
class RepresentativesUnmappedOnly(HybridSWAAllocator):
    """A segment free unmaps the representatives and leaves the other slots of their pages mapped."""

    def _unmap_segment(self, representatives: torch.Tensor) -> None:
        self._unmap(representatives)


@FAULTS.add("law", "divergence", "signal")
class SwaPageOfCutPageKept(HybridSWAAllocator):
    """The SWA page of a page that a segment leaves early is not released."""

    def _representatives(self, segment: torch.Tensor) -> torch.Tensor:
        return segment[: segment.numel() // self.page_size * self.page_size : self.page_size]


@FAULTS.add("law", "divergence")
class RepresentativesOnePageApart(HybridSWAAllocator):
    """Every second page of a segment is left out on the SWA side."""

    def _representatives(self, segment: torch.Tensor) -> torch.Tensor:
        return segment[:: 2 * self.page_size]


@FAULTS.add("divergence")
class SwaPagesSorted(HybridSWAAllocator):
    """A segment's SWA pages are released ascending instead of in row order."""

    def _resolve_segment(
        self, segment: torch.Tensor, start_pos: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        representatives, swa_pages = super()._resolve_segment(segment, start_pos)
        return representatives, swa_pages.sort().values


@FAULTS.add("divergence")
class SwaPagesDeduplicated(HybridSWAAllocator):
    """An SWA page that a segment names twice is released once."""

    def _resolve_segment(
        self, segment: torch.Tensor, start_pos: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        representatives, swa_pages = super()._resolve_segment(segment, start_pos)
        return representatives, swa_pages.new_tensor(list(dict.fromkeys(swa_pages.tolist())))


@FAULTS.add("divergence")
class UnmappedRepresentativesSkipped(HybridSWAAllocator):
    """A representative without a peer releases nothing, where the contract has it reported only."""

    def _resolve_segment(
        self, segment: torch.Tensor, start_pos: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        representatives, swa_pages = super()._resolve_segment(segment, start_pos)
        return representatives, swa_pages[swa_pages > 0]


@FAULTS.add("divergence")
class SegmentFreesFullFirst(HybridSWAAllocator):
    """A segment free has released the FULL pages when its SWA half raises."""

    def free_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """The FULL half first."""
        self._assert_aligned(start_pos if free_index.numel() else 0)
        self.full_attn_allocator.free_segment(free_index, start_pos=start_pos)
        self.free_swa_segment(free_index, start_pos=start_pos)


@FAULTS.add("signal", "law")
class FreeReleasesFullFirst(HybridSWAAllocator):
    """A set-shaped free of both sides releases the FULL side first."""

    def free(self, free_index: torch.Tensor) -> None:
        """The FULL half first."""
        self.free_full(free_index)
        self.free_swa(free_index)


@FAULTS.add("law", "divergence", stands_for=("group-resolves-late-free",))
class SegmentResolvedAtGroupEnd(HybridSWAAllocator):
    """A grouped segment free reads the mapping when the group ends, so peers given in between are released."""

    _late: tuple[torch.Tensor, ...] = ()

    def clear(self) -> None:
        """As ours, and forgets what was left for the group end."""
        super().clear()
        self._late = ()

    def _drop_peers(self, representatives: torch.Tensor, swa_pages: torch.Tensor) -> None:
        if self.free_group is None:
            super()._drop_peers(representatives, swa_pages)
        else:
            self._late += (representatives,)

    def free_group_end(self) -> None:
        """Reads and clears the mapping of what was left, then ends the group."""
        late, self._late = self._late, ()
        for representatives in late:
            peers = self.full_to_swa_index_mapping[representatives]
            super()._drop_peers(representatives, peers // self.page_size)
        super().free_group_end()


@FAULTS.add("divergence")
class FullSegmentThroughFree(HybridSWAAllocator):
    """``free_full_segment`` releases the FULL pages as a set, not by representatives."""

    def free_full_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """The other way to free the FULL half."""
        if free_index.numel():
            self._expect_released(free_index)
            self._assert_aligned(start_pos)
            self.full_attn_allocator.free(free_index)


@FAULTS.add("divergence", "hazard")
class SegmentCapacityUnchecked(HybridSWAAllocator):
    """A segment free on the SWA side does not notice that more is free than there is."""

    def _release_pages(self, swa_pages: torch.Tensor) -> None:
        self.swa_attn_allocator.free_page_ids(swa_pages)


@FAULTS.add("divergence")
class FullSegmentCapacityChecked(HybridSWAAllocator):
    """A segment free of both sides compares the FULL side's capacity too."""

    def free_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """As ours, with one more check."""
        super().free_segment(free_index, start_pos=start_pos)
        if free_index.numel():
            self.full_attn_allocator._assert_within_size()
