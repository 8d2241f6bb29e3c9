"""How the fused hybrid allocator takes segments back, at once or in a free group (contract_paged_swa §6.3, §6.4, §6.6).

Guarantees one launch for each call outside debug mode, and that nothing waits for the device unless an invariant is read.
"""

from __future__ import annotations

import torch

from targets.eager.hybrid_frees import HybridFrees
from targets.eager.signals import PEER_MAPPED_INVARIANT, PEER_RELEASED_INVARIANT
from targets.fused.hybrid_mapping import FusedHybridMapping
from targets.fused.hybrid_sets import FREED_ALONE, FusedHybridSets
from targets.fused.kernels_segments import UNMAPPED, UNRELEASED
from targets.fused.paged import FusedPagedAllocator
from targets.fused.segments import launch_segment
from targets.fused.watch import watch_for


class FusedHybridFrees(FusedHybridMapping, FusedHybridSets, HybridFrees):
    """The freeing half of ``FusedHybridSWAAllocator``; set-shaped frees and the group end are in its base."""

    def free_swa_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """Give back the peers of a segment's pages, found by the representatives, in row order."""
        slots = free_index.numel()
        if slots == 0:
            return
        if start_pos % self.page_size:
            self._assert_aligned(start_pos)
        self._free_segment(free_index, slots, with_full=False)

    def free_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """Give back a segment on both sides, SWA first."""
        slots = free_index.numel()
        if slots == 0:
            return
        if start_pos % self.page_size:
            self._assert_aligned(start_pos)
        self._free_segment(free_index, slots, with_full=True)

    def free_full_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """Give back the FULL pages of a segment whose peers are gone already."""
        if free_index.numel() == 0:
            return
        watch = watch_for(self.signals, PEER_RELEASED_INVARIANT, exact=self.exact)
        if watch is None:
            self.full_attn_allocator.free_segment(free_index, start_pos=start_pos)
            return
        full = self.full_side
        complaint = self._complaint_about_full(free_index, start_pos)
        pages = -(-free_index.numel() // self.page_size)
        launch_segment(
            *(self.workspace, free_index, free_index.numel(), self.page_size),
            *(self.table, None, full.segment_place(pages)),
            watched=True,
            released=True,
            stop=watch.stop,
            commit=complaint is None,
        )
        watch.judge(self.workspace, UNRELEASED.value, FREED_ALONE)
        if complaint is not None:
            raise complaint
        full.segment_placed(pages)
        if isinstance(full, FusedPagedAllocator) and not full.group_is_open:
            full._check_duplicates()

    def _free_segment(self, segment: torch.Tensor, slots: int, *, with_full: bool) -> None:
        full, swa, size = self.full_side, self.swa_side, self.page_size
        pages = -(-slots // size)
        grouped = self.free_group is not None
        waiting = self.swa_page_pile if grouped else swa.pages
        fits = grouped or self._swa_has_room(pages)
        # The FULL half is left out where the SWA half's result is looked at, or is known to end the call, before it.
        both = with_full and fits and not self.debug_mode
        watch = watch_for(self.signals, PEER_MAPPED_INVARIANT, exact=self.exact)
        complaint = self._complaint_about_peers(segment, with_full) if self.debug_mode else None
        launch_segment(
            *(self.workspace, segment, slots, size, self.table, waiting.write(pages)),
            full.segment_place(pages) if both else None,
            watched=watch is not None,
            stop=watch is not None and watch.stop,
            commit=complaint is None,
        )
        if watch is not None:
            watch.judge(self.workspace, UNMAPPED.value, f"a segment of {slots} slots")
        if complaint is not None:
            raise complaint
        waiting.wrote(pages)
        if self.debug_mode and not grouped:
            self._paged_sides()[1]._check_duplicates()
        if not fits:
            swa._assert_within_size()
        if both:
            full.segment_placed(pages)
        elif with_full:
            full.free_segment(segment, start_pos=0)

    def _swa_has_room(self, pages: int) -> bool:
        swa = self.swa_side
        return (swa.pages.count + swa.pages.staged_count + pages) * self.page_size <= swa.size

    def _complaint_about_peers(
        self, segment: torch.Tensor, with_full: bool
    ) -> AssertionError | None:
        """What debug mode has to say of a segment before anything is changed."""
        representatives = segment[:: self.page_size]
        peers = self.translate_loc_from_full_to_swa(representatives)
        try:
            self._check_swa_pages(representatives, peers // self.page_size)
            if with_full:
                self._paged_sides()[0].check_segment(segment)
        except AssertionError as complaint:
            return complaint
        return None

    def _complaint_about_full(self, segment: torch.Tensor, start_pos: int) -> AssertionError | None:
        """What the FULL pool has to say of a segment before anything is changed."""
        full = self.full_side
        try:
            full._assert_aligned(start_pos)
            if isinstance(full, FusedPagedAllocator):
                full.check_segment(segment)
        except AssertionError as complaint:
            return complaint
        return None
