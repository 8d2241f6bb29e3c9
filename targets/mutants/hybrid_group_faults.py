"""Faults of the hybrid allocator's free groups: piles and their order. Each class is one fault."""

from __future__ import annotations

import torch

from targets.eager.hybrid_swa import HybridSWAAllocator
from targets.mutants.mutant import FaultList
from targets.mutants.page_free_faults import GroupPileAliased, PagePileFlushedFirst

FAULTS = FaultList()


@FAULTS.add("divergence")
class FlushOrderSwapped(HybridSWAAllocator):
    """A group ends with the SWA set pile before the SWA page-id pile."""

    def _flush_swa_piles(self) -> None:
        self._flush_set_pile()
        self._flush_page_pile()


@FAULTS.add("divergence")
class FullPilesSwapped(HybridSWAAllocator):
    """A group ends with the FULL side's page-id pile before its plain pile."""

    paged_class = PagePileFlushedFirst


@FAULTS.add("law", "divergence", stands_for=("aliased-deferred-free",))
class FullPileAliased(HybridSWAAllocator):
    """The FULL side of a deferred free keeps the caller's tensor."""

    paged_class = GroupPileAliased


@FAULTS.add("divergence")
class FullFlushedFirst(HybridSWAAllocator):
    """The FULL side has released its piles when the SWA side raises at the end of a group."""

    def _flush_swa_piles(self) -> None:
        self.full_attn_allocator.free_group_end()
        super()._flush_swa_piles()


@FAULTS.add("divergence", "hazard", stands_for=("group-end-twice",))
class SwaPagePileKept(HybridSWAAllocator):
    """The SWA page-id pile is not emptied at the end of a group."""

    def _flush_page_pile(self) -> None:
        pile = self.swa_page_ids_group
        super()._flush_page_pile()
        self.swa_page_ids_group = pile


@FAULTS.add("divergence", "hazard", stands_for=("group-end-twice",))
class SetPileKept(HybridSWAAllocator):
    """The SWA set pile is not emptied at the end of a group."""

    def _flush_set_pile(self) -> None:
        pile = self.swa_free_group
        super()._flush_set_pile()
        self.swa_free_group = pile


@FAULTS.add("divergence")
class SetPileReleasedCallByCall(HybridSWAAllocator):
    """The SWA set pile is released entry by entry, each in front of the one before."""

    def _flush_set_pile(self) -> None:
        pile, self.swa_free_group = self.swa_free_group, []
        for peers in pile:
            self._release_set(peers)


@FAULTS.add("divergence")
class FullGroupNeverOpened(HybridSWAAllocator):
    """A group defers the SWA side only."""

    def free_group_begin(self) -> None:
        """As ours, without the FULL side's group."""
        super().free_group_begin()
        self.full_attn_allocator.free_group = None


@FAULTS.add("divergence")
class SwaGroupOpenedToo(HybridSWAAllocator):
    """A group also opens the SWA pool's own group, so that direct frees on it wait."""

    def free_group_begin(self) -> None:
        """As ours, and one group more."""
        super().free_group_begin()
        self.swa_attn_allocator.free_group_begin()

    def free_group_end(self) -> None:
        """Closes the SWA pool's group first."""
        self.swa_attn_allocator.free_group_end()
        super().free_group_end()


@FAULTS.add("divergence")
class EndWithoutGroupIgnored(HybridSWAAllocator):
    """An end without a group checks nothing and releases nothing that is still held."""

    def free_group_end(self) -> None:
        """As ours, where a group is open."""
        if self.free_group is not None:
            super().free_group_end()


@FAULTS.add("divergence", "hazard")
class GroupCapacityUnchecked(HybridSWAAllocator):
    """The end of a group does not notice that more is free than there is."""

    def free_group_end(self) -> None:
        """As ours, without the last two checks."""
        self.free_group = None
        self._flush_swa_piles()
        self.full_attn_allocator.free_group_end()


@FAULTS.add("divergence")
class PagePileCapacityChecked(HybridSWAAllocator):
    """The end of a group checks the capacity after the SWA page-id pile, so that the FULL side is not released."""

    def _flush_page_pile(self) -> None:
        super()._flush_page_pile()
        self.swa_attn_allocator._assert_within_size()


@FAULTS.add("divergence", stands_for=("nested-group-drops-frees",))
class NestedGroupDropsSwaFrees(HybridSWAAllocator):
    """A begin inside a group drops what waits on the SWA side before it is refused."""

    def free_group_begin(self) -> None:
        """The piles are emptied first."""
        self.swa_free_group, self.swa_page_ids_group = [], []
        super().free_group_begin()


@FAULTS.add("divergence")
class BeginKeepsPiles(HybridSWAAllocator):
    """A begin after a group whose end raised keeps the SWA piles that were not released."""

    def free_group_begin(self) -> None:
        """As ours, but for the piles."""
        piles: tuple[list[torch.Tensor], list[torch.Tensor]]
        piles = self.swa_free_group, self.swa_page_ids_group
        try:
            super().free_group_begin()
        finally:
            self.swa_free_group, self.swa_page_ids_group = piles
