"""The composite of FULL, SWA and states over one buffer, SWA floating between the others (contract_unified §8, §10)."""

from __future__ import annotations

from oracle.call import Call
from oracle.contract import Contract
from oracle.fake_tree import FakeTree
from oracle.geometry import Geometry, Mode
from oracle.unified.band import Band
from oracle.unified.certificates import ThreeBands
from oracle.unified.end_band import EndBand
from oracle.unified.floating_band import FloatingBand
from oracle.unified.peered_pool import PeeredPool
from oracle.unified.relief import relieve


class ThreePools(PeeredPool):
    """State (up), SWA (floating), FULL (down)."""

    def __init__(self, geometry: Geometry, mode: Mode, contract: Contract) -> None:
        super().__init__(geometry, mode, contract)
        state, swa = self.state, self.swa
        assert isinstance(state, EndBand)
        assert isinstance(swa, FloatingBand)
        self.three = ThreeBands(state, swa, self.full)

    def joint_pages(self) -> int:
        """The largest demand on both sides at once that fits as things stand."""
        low, high = 0, max(0, len(self.full.holes) + self.full.index_room())
        while low < high:
            pages = (low + high + 1) // 2
            if self.three.fits(pages, pages):
                low = pages
            else:
                high = pages - 1
        return low

    def can_reserve(self, call: Call, swa: int) -> bool:
        """Whether it fits as things stand; evictables and an empty pool are not this composite's question."""
        if call.evictable_full or call.evictable_swa or call.empty_pool:
            return False
        return self.three.fits(self.pages_of_size(call.need), self.pages_of_size(swa))

    def ensure_capacity(self, full: int, swa: int) -> bool:
        """As ``ensure_pages``, but whether the sides differ is asked of the slots, not of the pages that they are."""
        if full == swa or full < 0 or swa < 0:
            return super().ensure_capacity(full, swa)
        return self._ensure_each(self.pages_of_size(full), self.pages_of_size(swa))

    def ensure_pages(self, full: int, swa: int) -> bool:
        """Fit as things stand, or after flushes, or after the floating band made room."""
        if full != swa or self.contract.capacity_gate == "ladder":
            return self._ensure_each(full, swa)
        return self.three.fits(full, swa) or self._ensure_both(full)

    def _ensure_each(self, full: int, swa: int) -> bool:
        """For different demands on the sides, and where nothing is certified: the ladder."""

        def fits() -> bool:
            return self.three.fits(full, swa)

        demand = self._demand(full, swa)
        return fits() or relieve(self._targets(), self.three.swa, demand, fits)

    def _targets(self) -> list[Band]:
        return [self.swa, self.full, self.state]

    def _demand(self, full: int, swa: int) -> dict[Band, int]:
        return {self.full: full, self.swa: swa, self.state: 0}

    def _ensure_both(self, pages: int) -> bool:
        """The steps (i) to (vi) for the same number of pages on both sides."""
        three = self.three
        if pages > len(self.full.free_ids) or pages > self.swa.index_room():
            return False
        if pages <= self.joint_pages():
            return True
        if three.ends_suffice(pages):
            self._flush_ends()
            return pages <= self.joint_pages()
        if three.high_target(pages, credit=True) is not None:
            self._flush_ends()
            if pages <= self.joint_pages():
                return True
            target = three.high_target(pages, credit=False)
            if target is not None:
                three.swa.make_room("high", target)
            if pages <= self.joint_pages():
                return True
        if self._pair_bytes(pages) + three.live_bytes() + self.sink_bytes > self.full.total_bytes:
            return False
        return relieve(
            self._targets(),
            three.swa,
            self._demand(pages, pages),
            lambda: pages <= self.joint_pages(),
        )

    def _flush_ends(self) -> None:
        self.full.flush(urgent=True)
        self.state.flush(urgent=True)

    def _pair_bytes(self, pages: int) -> int:
        return pages * (self.full.grid.page_bytes + self.swa.grid.page_bytes)

    def evict(self, tree: FakeTree | None, call: Call) -> bool | None:
        """Free what waits; then in turn the capacity, rows of the tree, states of the tree. None without a tree."""
        if tree is None:
            return None
        verdict = self._evict(tree, call)
        return verdict if self.contract.eviction_verdict == "ensured" else None

    def _evict(self, tree: FakeTree, call: Call) -> bool:
        if call.need <= 0:
            return True
        self.flush_deferred()
        if self.contract.eviction == "per-side":
            self._evict_per_side(tree, call.need)
            return False
        pages = self.pages_of_size(call.need)
        if pages <= self.joint_pages():
            return True
        if self._is_hopeless(pages, tree):
            return False
        if self.ensure_pages(pages, pages):
            return True
        slots = pages * self.page_size
        if self.contract.eviction == "planned":
            freed = tree.evict_for_alloc(slots, slots, 0, lambda: self._would_do(pages))
        else:
            freed = tree.evict_for_alloc(slots, slots, 0)
        if self.ensure_pages(pages, pages):
            return True
        states = -(-self._pair_bytes(pages) // self.state.grid.page_bytes) - freed[2]
        if states > 0 and self.contract.state_eviction == "asked":
            tree.evict_for_alloc(0, 0, states, lambda: self._would_do(pages))
        elif states > 0:
            tree.evict_for_alloc(0, 0, states)
        return self.ensure_pages(pages, pages) or pages <= self.joint_pages()

    def _evict_per_side(self, tree: FakeTree, need: int) -> None:
        """What each side lacks by itself, its cap counted, where the joint capacity does not hold it (§12)."""
        if need <= self.available_size():
            return
        queries = self.size_queries()
        full = max(0, need - queries["full_available_size"])
        swa = max(0, need - queries["swa_available_size"])
        if full or swa:
            tree.evict_for_alloc(full, swa, 0)

    def _would_do(self, pages: int) -> bool:
        three = self.three
        return three.ends_suffice(pages) or three.high_target(pages, credit=True) is not None

    def _is_hopeless(self, pages: int, tree: FakeTree) -> bool:
        """Ids, SWA pages or bytes are short even with everything evicted."""
        full = tree.full_evictable_size() // self.page_size
        swa = tree.swa_evictable_size() // self.page_size
        evictable = full * self.full.grid.page_bytes + swa * self.swa.grid.page_bytes
        evictable += tree.mamba_evictable_size() * self.state.grid.page_bytes
        used = self._pair_bytes(pages) + self.three.live_bytes() + self.sink_bytes - evictable
        return (
            pages > len(self.full.free_ids) + full
            or pages > self.swa.index_room() + swa
            or used > self.full.total_bytes
        )

    def prepare_states(self, count: int) -> None:
        """Make room for states, if there is none as things stand (§10)."""
        self.flush_deferred()
        if count > self.state.available_pages():
            self.full.flush(urgent=True)
            self.relieve_states(count)
