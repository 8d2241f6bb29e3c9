"""The allocator of three pools: states below, SWA floating, FULL above (contract_unified §8, §10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from targets.eager.unified.joint_room import JointRoom
from targets.eager.unified.peered_pool import PeeredPool
from targets.eager.unified.relief import ask_float, relieve
from targets.eager.unified.state_room import StateRoom

if TYPE_CHECKING:
    from oracle.geometry import Geometry
    from targets.eager.signals import Signals
    from targets.eager.unified.eviction import EvictableTree
    from targets.eager.unified.floating_band import FloatingBand


class ThreePoolAllocator(PeeredPool, StateRoom):
    """FULL, SWA and states over one buffer."""

    def __init__(self, geometry: Geometry, device: str, signals: Signals) -> None:
        super().__init__(geometry, device, signals)
        self.middle = cast("FloatingBand", self.swa)
        self.room = JointRoom(self.full, self.middle, self.state)

    def available_size(self) -> int:
        """Slots that fit on both sides at once; that many can always be allocated."""
        return self.room.joint_pages() * self.page_size

    def can_reserve(
        self,
        full: int,
        swa: int,
        *,
        evictable_full: int = 0,
        evictable_swa: int = 0,
        empty_pool: bool = False,
        require_token_slack: bool = False,  # noqa: ARG002 (the caps of two pools have it)
    ) -> bool:
        """Whether so many slots fit now; evictions and an empty pool are never reckoned with."""
        if min(full, swa) < 0 or evictable_full or evictable_swa or empty_pool:
            return False
        return self.room.fits(self.pages_for(full), self.pages_for(swa))

    def ensure_capacity(self, full: int, swa: int) -> bool:
        """Whether so many slots fit, if need be after pages moved."""
        if min(full, swa) < 0:
            return False
        full_pages, swa_pages = self.pages_for(full), self.pages_for(swa)
        if self.room.fits(full_pages, swa_pages):
            return True
        if full == swa:
            return self._ensure_both(full_pages)
        return self._climb(full_pages, swa_pages)

    def _climb(self, full: int, swa: int) -> bool:
        """The ladder: flush every band, then ask the middle one for room."""
        for band in (self.swa, self.full, self.state):
            band.flush(urgent=True)
        if self.room.fits(full, swa):
            return True
        ask_float(self.middle, {"full": full, "swa": swa})
        return self.room.fits(full, swa)

    def _ensure_both(self, pages: int) -> bool:
        if not self._ids_suffice(pages):
            return False
        if self.room.fits(pages, pages):
            return True
        if self.room.ends_suffice(pages):
            self._flush_ends()
            return self.room.fits(pages, pages)
        if self.room.high_target(pages) is not None:
            self._flush_ends()
            if self.room.fits(pages, pages):
                return True
            target = self.room.high_target(pages, credit=False)
            if target is not None:
                self.middle.make_room("high", target)
            if self.room.fits(pages, pages):
                return True
        if self._bytes_missing(pages) > 0:
            return False
        return self._climb(pages, pages)

    def _flush_ends(self) -> None:
        self.full.flush(urgent=True)
        self.state.flush(urgent=True)

    def _ids_suffice(self, pages: int, full: int = 0, swa: int = 0) -> bool:
        """Whether there are ids and SWA indices for ``pages`` after so many of each side went back."""
        return pages <= self.full.id_count + full and pages <= self.middle.index_room + swa

    def _bytes_missing(self, pages: int) -> int:
        """Bytes by which ``pages`` of both sides and all that is live exceed the buffer."""
        live = sum(band.live * band.page_bytes for band in self.bands.values())
        sink = min(band.first * band.page_bytes for band in self.bands.values())
        return pages * self._pair_bytes + live + sink - self.full.total_bytes

    @property
    def _pair_bytes(self) -> int:
        return self.full.page_bytes + self.swa.page_bytes

    def evict_to_free_tokens(
        self,
        tree: EvictableTree | None,
        need: int,
        _swa: int | None = None,
        *,
        prefer_swa: bool = False,  # noqa: ARG002 (a plan for two pools has it)
    ) -> bool | None:
        """Take tokens, then states from ``tree`` until ``need`` slots fit; None without a tree."""
        if tree is None:
            return None
        if need <= 0:
            return True
        self.flush_deferred()
        pages = self.pages_for(need)
        slots = pages * self.page_size
        if self.room.fits(pages, pages):
            return True
        if self._hopeless(tree, pages):
            return False
        if self.ensure_capacity(slots, slots):
            return True
        *_, freed = tree.evict_for_alloc(slots, slots, 0, lambda: self._within_reach(pages))
        if self.ensure_capacity(slots, slots):
            return True
        states = -(-pages * self._pair_bytes // self.state.page_bytes)
        tree.evict_for_alloc(0, 0, states - freed, lambda: self._within_reach(pages))
        return self.ensure_capacity(slots, slots)

    def _within_reach(self, pages: int) -> bool:
        if not self._ids_suffice(pages):
            return False
        if self.room.fits(pages, pages) or self.room.ends_suffice(pages):
            return True
        return self.room.high_target(pages) is not None

    def _hopeless(self, tree: EvictableTree, pages: int) -> bool:
        full = tree.full_evictable_size() // self.page_size
        swa = tree.swa_evictable_size() // self.page_size
        if not self._ids_suffice(pages, full, swa):
            return True
        given = full * self.full.page_bytes + swa * self.swa.page_bytes
        given += tree.mamba_evictable_size() * self.state.page_bytes
        return self._bytes_missing(pages) > given

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

    def prepare_mamba_allocation(self, need: int) -> None:
        """Make room for ``need`` states where that is possible; may move pages."""
        self.flush_deferred()
        if need > self.state.available_size():
            self.full.flush(urgent=True)
            relieve(self.state, need)
