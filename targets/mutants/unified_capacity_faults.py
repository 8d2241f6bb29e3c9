"""Faults of what the unified allocators say that fits, and of what they hand out. Each class is one fault (contract_unified §8, §10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from targets.eager.unified.full_and_state import FullAndStateAllocator
from targets.eager.unified.three_pools import ThreePoolAllocator
from targets.eager.unified.two_pools import TwoPoolAllocator
from targets.mutants.mutant import FaultList

if TYPE_CHECKING:
    from targets.eager.unified.eviction import EvictableTree

FAULTS = FaultList()


@FAULTS.add("law", "divergence")
class GapCountedTwice(TwoPoolAllocator):
    """The joint capacity is the smaller of both sides', although both count on the same bytes."""

    def available_size(self) -> int:
        """The smaller side, whole."""
        return min(self.full.available_size(), self.swa.available_size())


@FAULTS.add("divergence")
class EvictableSizesReadBeforeTheFlush(TwoPoolAllocator):
    """An eviction plans before the deferred frees are made, and makes them then."""

    def evict_to_free_tokens(
        self,
        tree: EvictableTree | None,
        need: int,
        swa: int | None = None,
        *,
        prefer_swa: bool = False,
    ) -> bool | None:
        """The group is hidden while the eviction sizes itself, and flushed after it."""
        group, self.group = self.group, None
        try:
            verdict = super().evict_to_free_tokens(tree, need, swa, prefer_swa=prefer_swa)
        finally:
            self.group = group
        if tree is not None:
            self.flush_deferred()
        return verdict


@FAULTS.add("law", "divergence")
class EnsureMovesNothing(TwoPoolAllocator):
    """An allocation that fits only after a flush is refused."""

    def ensure_capacity(self, full: int, swa: int) -> bool:
        """Whether it fits as it is."""
        if full < 0 or swa < 0:
            return False
        return self.shared.fits(self._pages(full, swa), compacted=False)


@FAULTS.add("law", "divergence")
class SwaReclaimedLast(TwoPoolAllocator):
    """A plan gives up FULL pages first where it should give up SWA pages."""

    def reclaim_plan(
        self,
        full: int,
        swa: int,
        *,
        evictable_full: int = 0,
        evictable_swa: int = 0,
        empty_pool: bool = False,
        prefer_swa: bool = False,
    ) -> tuple[int, int] | None:
        """As ours with the other preference."""
        return super().reclaim_plan(
            full,
            swa,
            evictable_full=evictable_full,
            evictable_swa=evictable_swa,
            empty_pool=empty_pool,
            prefer_swa=not prefer_swa,
        )


@FAULTS.add("law", "divergence")
class EnsuredBeforeTheFlush(TwoPoolAllocator):
    """A yes to what fits only after a flush, which is left to the allocation and never made."""

    def ensure_capacity(self, full: int, swa: int) -> bool:
        """As ours, with every page where it was."""
        if full < 0 or swa < 0:
            return False
        need = self._pages(full, swa)
        packs = self.full.lazy and not self.members_blocked()
        return self.shared.fits(need, compacted=False) or (
            packs and self.shared.fits(need, compacted=True)
        )


@FAULTS.add("law", "divergence")
class ExactFitRefused(FullAndStateAllocator):
    """A row that takes all there is is refused."""

    def alloc(self, need: int) -> torch.Tensor | None:
        """As ours, but for the last page."""
        return None if 0 < need == self.available_size() else super().alloc(need)


@FAULTS.add("law", "divergence")
class PackedForNothing(TwoPoolAllocator):
    """An allocation packs the bands first, although it fits as things stand."""

    def alloc(self, need: int) -> torch.Tensor | None:
        """As ours after a flush of both."""
        for band in (self.full, self.swa):
            band.flush(urgent=True)
        return super().alloc(need)


@FAULTS.add("law", "divergence")
class WholeTailBound(TwoPoolAllocator):
    """A tail preallocation gives peers to all new pages."""

    def _take_pages(self, pages: int, bound: int | None = None) -> torch.Tensor | None:  # noqa: ARG002
        return super()._take_pages(pages)


@FAULTS.add("law", "divergence")
class LastPeerNotBound(ThreePoolAllocator):
    """A plain allocation leaves the peer of its last page out."""

    def alloc(self, need: int) -> torch.Tensor | None:
        """As ours, then one peer less."""
        slots = super().alloc(need)
        if slots is not None and slots.numel():
            self.swa.release(slots[-1:].div(self.page_size, rounding_mode="floor"))
        return slots


@FAULTS.add("divergence")
class StatesCountNoHoles(FullAndStateAllocator):
    """What FULL can have does not count the holes of the states."""

    def available_size(self) -> int:
        """What FULL can have with no page moved."""
        return self.full.available_size()


@FAULTS.add("divergence")
class LoadForgottenTooEarly(TwoPoolAllocator):
    """A reservation for a load does not keep its pages from being moved."""

    def alloc_physical(self, need: int) -> torch.Tensor | None:
        """As ours, without the count."""
        slots = super().alloc_physical(need)
        self.swa.pending_load = 0
        return slots
