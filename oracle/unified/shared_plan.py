"""Whether pages of both sides fit into what two pools leave free, and what would have to go (contract_unified §8, two-pool)."""

from __future__ import annotations

from typing import NamedTuple

from oracle.reference.raised import leave_undefined
from oracle.unified.end_band import EndBand


class Pages(NamedTuple):
    """A number of pages on each side."""

    full: int
    swa: int


class SharedPlan:
    """The joint capacity of a FULL and an SWA band that grow towards each other."""

    def __init__(self, full: EndBand, swa: EndBand) -> None:
        self.full = full
        self.swa = swa
        self.empty_gap = full.gap()

    def joint_pages(self) -> int:
        """The most pages that fit on both sides at once as things stand."""
        most = min(
            band.index_room() + len(band.holes if band.lazy else ())
            for band in (self.full, self.swa)
        )
        gap = self.full.gap()
        low, high = 0, max(0, most)
        while low < high:
            pages = (low + high + 1) // 2
            if self._extension_bytes(Pages(pages, pages), self._holes()) <= gap:
                low = pages
            else:
                high = pages - 1
        return low

    def _holes(self) -> Pages:
        return Pages(
            len(self.full.holes) if self.full.lazy else 0,
            len(self.swa.holes) if self.swa.lazy else 0,
        )

    def _extension_bytes(self, demand: Pages, holes: Pages) -> int:
        full = max(0, demand.full - holes.full) * self.full.grid.page_bytes
        return full + max(0, demand.swa - holes.swa) * self.swa.grid.page_bytes

    def fits(
        self,
        demand: Pages,
        reclaim: Pages = Pages(0, 0),  # noqa: B008 (an immutable value)
        *,
        compacted: bool = False,
        empty: bool = False,
    ) -> bool:
        """Whether ``demand`` fits once ``reclaim`` is freed; ``compacted``: and every hole closed; ``empty``: and nothing left."""
        clamped = Pages(min(reclaim.full, self.full.live), min(reclaim.swa, self.swa.live))
        verdict = self._fits(demand, clamped, reclaim, compacted=compacted, empty=empty)
        if min(clamped) < 0:
            # §8 clamps the reclaim for the live counts, and leaves open whether for ids and holes too: only a damaged count shows it.
            other = self._fits(demand, clamped, clamped, compacted=compacted, empty=empty)
            leave_undefined(
                unless=verdict == other, reason="a gate for a band that counts less than none"
            )
        return verdict

    def _fits(
        self, demand: Pages, clamped: Pages, reclaim: Pages, *, compacted: bool, empty: bool
    ) -> bool:
        """``fits`` where ``clamped`` leaves the live counts and ``reclaim`` becomes ids and holes."""
        full, swa = self.full.grid, self.swa.grid
        capacity_full = full.pages - full.first
        capacity_swa = min(full.pages - full.first, swa.pages - swa.first)
        live_full = 0 if empty else self.full.live - clamped.full
        live_swa = 0 if empty else self.swa.live - clamped.swa
        if live_full + demand.full > capacity_full or live_swa + demand.swa > capacity_swa:
            return False
        if compacted or empty:
            ids = capacity_full - live_full
            holes = Pages(0, 0)
            room = Pages(capacity_full - live_full, swa.pages - swa.first - live_swa)
            gap = self.empty_gap - live_full * full.page_bytes - live_swa * swa.page_bytes
        else:
            actual = self._holes()
            ids = len(self.full.free_ids) + reclaim.full
            holes = Pages(actual.full + reclaim.full, actual.swa + reclaim.swa)
            room = Pages(self.full.index_room(), self.swa.index_room())
            gap = self.full.gap()
        return (
            demand.full <= ids
            and demand.full <= holes.full + room.full
            and demand.swa <= holes.swa + room.swa
            and self._extension_bytes(demand, holes) <= gap
        )

    def reclaim(
        self,
        demand: Pages,
        evictable: Pages,
        *,
        compacted: bool,
        empty: bool = False,
        prefer_swa: bool = False,
    ) -> Pages | None:
        """The smallest reclaim with which ``demand`` fits, FULL pages first, or SWA pages; None when there is none."""

        def fits(full: int, swa: int) -> bool:
            return self.fits(demand, Pages(full, swa), compacted=compacted, empty=empty)

        if fits(0, 0):
            return Pages(0, 0)
        if empty:
            return None
        most = Pages(min(self.full.live, evictable.full), min(self.swa.live, evictable.swa))
        leave_undefined(
            unless=min(most) >= 0, reason="a plan for a band that counts less than none"
        )
        if not fits(*most):
            return None
        if prefer_swa:
            full = next(pages for pages in range(most.full + 1) if fits(pages, most.swa))
            swa = next(pages for pages in range(most.swa + 1) if fits(full, pages))
        else:
            swa = next(pages for pages in range(most.swa + 1) if fits(most.full, pages))
            full = next(pages for pages in range(most.full + 1) if fits(pages, swa))
        return Pages(full, swa)
