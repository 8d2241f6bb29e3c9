"""What can be said about the three-pool composite before any page moves: whether flushing the ends would be enough, and where
the floating band would have to retreat to (contract_unified §8, tri ensure). Everything here is pure.
"""

from __future__ import annotations

from typing import NamedTuple

from oracle.unified.end_band import EndBand
from oracle.unified.floating_band import FloatingBand


class Frontiers(NamedTuple):
    """Byte positions: where FULL begins before and after it grew, where the states end. ``full_holes`` are then left."""

    full_before: int
    full_after: int
    state_after: int


class ThreeBands(NamedTuple):
    """State (grows up), SWA (floats), FULL (grows down)."""

    state: EndBand
    swa: FloatingBand
    full: EndBand

    def fits(self, full_pages: int, swa_pages: int) -> bool:
        """Whether so many pages can be taken as things stand, the SWA ones in one place."""
        full, swa = self.full, self.swa
        if full_pages > len(full.holes) + full.index_room():
            return False
        if swa_pages > len(swa.holes) + swa.index_room():
            return False
        full_bytes = max(0, full_pages - len(full.holes)) * full.grid.page_bytes
        if full_bytes > full.gap():
            return False
        top = full.lo - full_bytes
        fresh = max(0, swa_pages - len(swa.holes))
        if swa.is_transparent:
            return fresh <= swa.pages_in_band(swa.below(), top)
        return fresh <= max(swa.pages_in_band(swa.below(), swa.lo), swa.pages_in_band(swa.hi, top))

    def frontiers(self, pages: int, *, credit: bool) -> Frontiers:
        """Where the ends would be after ``pages`` more FULL pages; ``credit``: with the ends flushed first."""
        state, full = self.state, self.full
        credit_full = full.hole_credit_bytes() // full.grid.page_bytes if credit else 0
        credit_state = state.hole_credit_bytes() if credit else 0
        before = full.lo + credit_full * full.grid.page_bytes
        extension = max(0, pages - (len(full.holes) - credit_full))
        return Frontiers(before, before - extension * full.grid.page_bytes, state.hi - credit_state)

    def ends_suffice(self, pages: int) -> bool:
        """Whether flushing FULL and state alone makes room for ``pages`` on both sides."""
        swa = self.swa
        _, full_after, state_after = self.frontiers(pages, credit=True)
        if full_after < self.full.grid.first * self.full.grid.page_bytes:
            return False
        if swa.is_transparent:
            return pages <= swa.pages_in_band(state_after, full_after)
        fresh = max(0, pages - len(swa.holes))
        below = swa.pages_in_band(state_after, swa.lo)
        return full_after >= swa.hi and fresh <= max(below, swa.pages_in_band(swa.hi, full_after))

    def high_target(self, pages: int, *, credit: bool) -> int | None:
        """The bytes to open above the floating band so that ``pages`` fit on both sides; None when that is not the way."""
        swa = self.swa
        if swa.is_transparent or swa.moves_blocked():
            return None
        before, after, state_after = self.frontiers(pages, credit=credit)
        page_bytes, most = swa.grid.page_bytes, swa.grid.pages
        low = max(-(-state_after // page_bytes), swa.grid.first)
        limit = min(after // page_bytes, most) - pages
        retreat = swa.stop - limit
        if retreat <= 0 or swa.start - low < retreat:
            return None
        return (min(before // page_bytes, most) - limit) * page_bytes

    def live_bytes(self) -> int:
        """The bytes of all live pages."""
        return sum(band.live * band.grid.page_bytes for band in self)
