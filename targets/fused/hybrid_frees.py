"""How the fused hybrid allocator takes slots back, at once or in a free group (contract_paged_swa §6.3, §6.4, §6.6).

Guarantees one launch for each call outside debug mode. Segment forms and groups of them wait for nothing unless an invariant is
read; set-shaped frees wait once, because only the device knows how many pages they release.
"""

from __future__ import annotations

import torch

from targets.eager.hybrid_frees import HybridFrees
from targets.eager.signals import PEER_MAPPED_INVARIANT, PEER_RELEASED_INVARIANT
from targets.fused.buffers import Place
from targets.fused.hybrid_sets import FusedHybridSets
from targets.fused.kernels_segments import UNMAPPED, UNRELEASED
from targets.fused.paged import FusedPagedAllocator
from targets.fused.segments import SegmentFree
from targets.fused.watch import Watch


class FusedHybridFrees(FusedHybridSets, HybridFrees):
    """The freeing half of ``FusedHybridSWAAllocator``; set-shaped frees and the group end are in its base."""

    def free_swa_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """Give back the peers of a segment's pages, found by the representatives, in row order."""
        if free_index.numel() == 0:
            return
        self._assert_aligned(start_pos)
        self._free_segment(free_index, with_full=False)

    def free_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """Give back a segment on both sides, SWA first."""
        if free_index.numel() == 0:
            return
        self._assert_aligned(start_pos)
        self._free_segment(free_index, with_full=True)

    def free_full_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """Give back the FULL pages of a segment whose peers are gone already."""
        if free_index.numel() == 0:
            return
        watch = Watch(self.signals, PEER_RELEASED_INVARIANT, exact=self.exact)
        if not watch.watched:
            self.full_attn_allocator.free_segment(free_index, start_pos=start_pos)
            return
        full, _ = self._sides()
        complaint = self._complaint_about_full(free_index, start_pos)
        free = SegmentFree(
            *(self.workspace, self.page_size, free_index),
            mapping=self.full_to_swa_index_mapping,
            full=full,
        )
        free.run(watched=True, stop=watch.stop, commit=complaint is None, released=True)
        watch.judge(self.workspace, UNRELEASED.value, "freed from the FULL pool alone")
        if complaint is not None:
            raise complaint
        if watch.stop:
            free.committed()
        if isinstance(full, FusedPagedAllocator) and not full.group_is_open:
            full._check_duplicates()

    def _free_segment(self, segment: torch.Tensor, *, with_full: bool) -> None:
        full, swa = self._sides()
        watch = Watch(self.signals, PEER_MAPPED_INVARIANT, exact=self.exact)
        complaint = self._complaint_about_peers(segment, with_full=with_full)
        pages = -(-segment.numel() // self.page_size)
        grouped = self.free_group is not None
        overfull = (
            not grouped and swa.available_size() + pages * self.page_size > swa.size
        )  # which ends the call after the SWA half
        both = with_full and not overfull and not self.debug_mode
        free = SegmentFree(
            *(self.workspace, self.page_size, segment),
            mapping=self.full_to_swa_index_mapping,
            swa=self._place_of_peers(pages),
            full=full if both else None,
        )
        free.run(watched=watch.watched, stop=watch.stop, commit=complaint is None)
        watch.judge(self.workspace, UNMAPPED.value, f"a segment of {segment.numel()} slots")
        if complaint is not None:
            raise complaint
        if watch.stop:
            free.committed()
        if grouped:
            self.swa_page_pile.deferred(pages)
        else:
            swa.pages.released(pages)
            if isinstance(swa, FusedPagedAllocator):
                swa._check_duplicates()
            swa._assert_within_size()
        if with_full and not both:
            full.free_segment(segment, start_pos=0)

    def _place_of_peers(self, pages: int) -> Place:
        if self.free_group is not None:
            return self.swa_page_pile.write(pages)
        return self._sides()[1].pages.write(pages)

    def _complaint_about_peers(
        self, segment: torch.Tensor, *, with_full: bool
    ) -> AssertionError | None:
        """What debug mode has to say of a segment before anything is changed."""
        if not self.debug_mode:
            return None
        representatives = segment[:: self.page_size]
        peers = self.full_to_swa_index_mapping[representatives]
        try:
            self._check_swa_pages(representatives, peers // self.page_size)
            if with_full:
                self._paged_sides()[0].check_segment(segment)
        except AssertionError as complaint:
            return complaint
        return None

    def _complaint_about_full(self, segment: torch.Tensor, start_pos: int) -> AssertionError | None:
        """What the FULL pool has to say of a segment before anything is changed."""
        full, _ = self._sides()
        try:
            full._assert_aligned(start_pos)
            if isinstance(full, FusedPagedAllocator):
                full.check_segment(segment)
        except AssertionError as complaint:
            return complaint
        return None
