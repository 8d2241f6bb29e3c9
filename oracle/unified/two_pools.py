"""The composite of FULL and SWA over one buffer (contract_unified §8, §10)."""

from __future__ import annotations

from oracle.call import Call
from oracle.contract import Contract
from oracle.fake_tree import FakeTree
from oracle.geometry import Geometry, Mode
from oracle.unified.end_band import EndBand
from oracle.unified.peered_pool import PeeredPool
from oracle.unified.relief import relieve
from oracle.unified.shared_plan import Pages, SharedPlan


class TwoPools(PeeredPool):
    """Two bands that grow towards each other."""

    def __init__(self, geometry: Geometry, mode: Mode, contract: Contract) -> None:
        super().__init__(geometry, mode, contract)
        swa = self.swa
        assert isinstance(swa, EndBand)
        self.plan = SharedPlan(self.full, swa)

    def joint_pages(self) -> int:
        """As the plan says, with nothing moved."""
        return self.plan.joint_pages()

    def ensure_pages(self, full: int, swa: int) -> bool:
        """Fit as things stand, or after both bands were packed; they are packed only if that is enough."""
        demand = Pages(full, swa)
        if demand == (0, 0) or self.plan.fits(demand):
            return True
        if self.contract.capacity_gate == "ladder":
            return relieve([self.full, self.swa], None, {}, lambda: self.plan.fits(demand))
        if not self.full.lazy or self._is_blocked() or not self.plan.fits(demand, compacted=True):
            return False
        self.full.flush(urgent=True)
        self.swa.flush(urgent=True)
        return self.plan.fits(demand)

    def _is_blocked(self) -> bool:
        return self.full.moves_blocked() or self.swa.moves_blocked()

    def reclaim_plan(
        self,
        full: int,
        swa: int,
        evictable: tuple[int, int] = (0, 0),
        *,
        empty: bool = False,
        prefer_swa: bool = False,
    ) -> tuple[int, int] | None:
        """What must be evicted so that ``full`` and ``swa`` slots fit, in slots; None when nothing helps."""
        if full < 0 or swa < 0:
            return None
        pages = self.plan.reclaim(
            Pages(self.pages_of_size(full), self.pages_of_size(swa)),
            Pages(evictable[0] // self.page_size, evictable[1] // self.page_size),
            compacted=empty or not self.full.lazy or not self._is_blocked(),
            empty=empty,
            prefer_swa=prefer_swa,
        )
        return None if pages is None else (pages.full * self.page_size, pages.swa * self.page_size)

    def can_reserve(self, call: Call, swa: int) -> bool:
        """Whether there is a plan, and with ``token_slack`` less than each side's cap is asked for."""
        if call.token_slack and (call.need >= self.size_full or swa >= self.size_swa):
            return False
        evictable = (call.evictable_full, call.evictable_swa)
        return self.reclaim_plan(call.need, swa, evictable, empty=call.empty_pool) is not None

    def evict(self, tree: FakeTree | None, call: Call) -> bool | None:
        """Free what waits, plan, let the tree give that up, make sure. None without a tree or a plan."""
        if tree is None:
            return None
        full, swa = call.need, call.need_swa or call.need
        self.flush_deferred()
        if self.contract.eviction == "per-side":
            queries = self.size_queries()
            quota = (
                max(0, full - queries["full_available_size"]),
                max(0, swa - queries["swa_available_size"]),
            )
            if any(quota):
                tree.evict_for_alloc(*quota, 0)
            return self._verdict(full, swa)
        evictable = (tree.full_evictable_size(), tree.swa_evictable_size())
        plan = self.reclaim_plan(full, swa, evictable, prefer_swa=call.prefer_swa)
        if plan is None:
            return None
        if plan != (0, 0):
            if self.contract.eviction == "planned":
                tree.evict_for_alloc(*plan, 0, lambda: self.reclaim_plan(full, swa) == (0, 0))
            else:
                tree.evict_for_alloc(*plan, 0)
        return self._verdict(full, swa)

    def _verdict(self, full: int, swa: int) -> bool | None:
        if self.contract.eviction_verdict == "none":
            return None
        return self.ensure_capacity(full, swa)
