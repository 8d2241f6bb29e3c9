"""The allocator of two pools, FULL and SWA, that grow towards each other (contract_unified §8, §10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from targets.eager.unified.peered_pool import PeeredPool
from targets.eager.unified.shared_plan import NOTHING, Pages, SharedPlan

if TYPE_CHECKING:
    from oracle.geometry import Geometry
    from targets.eager.signals import Signals
    from targets.eager.unified.end_band import EndBand
    from targets.eager.unified.eviction import EvictableTree


class TwoPoolAllocator(PeeredPool):
    """FULL and SWA over one buffer, in either direction, lazy or eager."""

    def __init__(self, geometry: Geometry, device: str, signals: Signals) -> None:
        super().__init__(geometry, device, signals)
        self.shared = SharedPlan(self.full, cast("EndBand", self.swa))

    def available_size(self) -> int:
        """Slots that fit on both sides at once; that many can always be allocated."""
        return self.shared.joint_pages() * self.page_size

    def ensure_capacity(self, full: int, swa: int) -> bool:
        """Whether so many slots fit, if need be after all holes were given back. May move pages."""
        if full < 0 or swa < 0:
            return False
        need = self._pages(full, swa)
        if need == NOTHING or self.shared.fits(need, compacted=False):
            return True
        if not self.full.lazy or self.members_blocked():
            return False
        if not self.shared.fits(need, compacted=True):
            return False
        self.full.flush(urgent=True)
        self.swa.flush(urgent=True)
        return self.shared.fits(need, compacted=False)

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
        """How many slots of each side have to be evicted so that (``full``, ``swa``) fit; None when that is impossible."""
        if min(full, swa) < 0:
            return None
        plan = self.shared.plan(
            self._pages(full, swa),
            Pages(evictable_full // self.page_size, evictable_swa // self.page_size),
            empty=empty_pool,
            prefer_swa=prefer_swa,
        )
        return None if plan is None else (plan.full * self.page_size, plan.swa * self.page_size)

    def can_reserve(
        self,
        full: int,
        swa: int,
        *,
        evictable_full: int = 0,
        evictable_swa: int = 0,
        empty_pool: bool = False,
        require_token_slack: bool = False,
    ) -> bool:
        """Whether there is a plan; ``require_token_slack``: and neither side would need all of its cap."""
        if require_token_slack and (full >= self.size_full or swa >= self.size_swa):
            return False
        plan = self.reclaim_plan(
            full,
            swa,
            evictable_full=evictable_full,
            evictable_swa=evictable_swa,
            empty_pool=empty_pool,
        )
        return plan is not None

    def evict_to_free_tokens(
        self,
        tree: EvictableTree | None,
        need: int,
        swa: int | None = None,
        *,
        prefer_swa: bool = False,
    ) -> bool | None:
        """Take from ``tree`` what the plan says, after all deferred frees were made; None when there is no tree or no plan.

        ``swa`` None or 0: as many as ``need``.
        """
        if tree is None:
            return None
        swa = swa or need
        self.flush_deferred()
        plan = self.reclaim_plan(
            need,
            swa,
            evictable_full=tree.full_evictable_size(),
            evictable_swa=tree.swa_evictable_size(),
            prefer_swa=prefer_swa,
        )
        if plan is None:
            return None
        if plan != NOTHING:
            tree.evict_for_alloc(*plan, 0, lambda: self.reclaim_plan(need, swa) == NOTHING)
        return self.ensure_capacity(need, swa)

    def check_decode_capacity(
        self,
        tree: EvictableTree | None,
        need: int,
        swa: int | None = None,
        *,
        prefer_swa: bool = False,
    ) -> bool:
        """Whether ``need`` slots can be allocated, if need be after an eviction."""
        self.evict_to_free_tokens(tree, need, swa, prefer_swa=prefer_swa)
        return self.available_size() >= need

    def _pages(self, full: int, swa: int) -> Pages:
        return Pages(self.pages_for(full), self.pages_for(swa))
