"""Whether pages of FULL and SWA fit between three bands, now or after the ends were flushed (contract_unified §8).

Guarantees that asking changes nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from targets.eager.unified.end_band import EndBand
from targets.eager.unified.floating_band import FloatingBand


class Frontiers(NamedTuple):
    """Bytes: where FULL begins once its holes are given back, where then after the demand, and where the states end."""

    full_before: int
    full_after: int
    state_after: int


class JointRoom:
    """The room of ``full`` at the high end and ``swa`` in the middle, above ``state``."""

    def __init__(self, full: EndBand, swa: FloatingBand, state: EndBand) -> None:
        self.full = full
        self.swa = swa
        self.state = state

    def fits(self, full_pages: int, swa_pages: int) -> bool:
        """Whether so many pages fit at once with no page moved."""
        full, swa = self.full, self.swa
        if full_pages > full.hole_count + full.index_room:
            return False
        if swa_pages > swa.hole_count + swa.index_room:
            return False
        extension = max(0, full_pages - full.hole_count) * full.page_bytes
        if extension > full.gap:
            return False
        end = full.low_byte - extension
        fresh = max(0, swa_pages - swa.hole_count)
        if swa.transparent:
            return fresh <= swa.pages_in_band(swa.below(), end)
        low = swa.pages_in_band(swa.below(), swa.low_byte)
        return fresh <= max(low, swa.pages_in_band(swa.high_byte, end))

    def joint_pages(self) -> int:
        """The most pages that fit on both sides at once."""
        low, high = 0, self.full.hole_count + max(0, self.full.index_room)
        while low < high:
            middle = (low + high + 1) // 2
            if self.fits(middle, middle):
                low = middle
            else:
                high = middle - 1
        return low

    def ends_suffice(self, pages: int) -> bool:
        """Whether flushing both ends would be enough, the middle left as it is."""
        full, swa = self.full, self.swa
        at = self._frontiers(pages)
        if at.full_after < full.first * full.page_bytes:
            return False
        if swa.transparent:
            return pages <= swa.pages_in_band(at.state_after, at.full_after)
        if at.full_after < swa.high_byte:
            return False
        low = swa.pages_in_band(at.state_after, swa.low_byte)
        high = swa.pages_in_band(swa.high_byte, at.full_after)
        return max(0, pages - swa.hole_count) <= max(low, high)

    def high_target(self, pages: int, *, credit: bool = True) -> int | None:
        """The open bytes above the middle band for which it would have to move down; None when that is no way."""
        swa = self.swa
        if swa.transparent or swa.moves_blocked:
            return None
        at = self._frontiers(pages, credit=credit)
        low = max(-(-at.state_after // swa.page_bytes), swa.first)
        limit = min(at.full_after // swa.page_bytes, swa.pages) - pages
        retreat = swa.stop - limit
        if retreat <= 0 or swa.start - low < retreat:
            return None
        return (min(at.full_before // swa.page_bytes, swa.pages) - limit) * swa.page_bytes

    def _frontiers(self, pages: int, *, credit: bool = True) -> Frontiers:
        full, state = self.full, self.state
        given = full.credit // full.page_bytes if credit else 0
        before = full.low_byte + given * full.page_bytes
        extension = max(0, pages - (full.hole_count - given)) * full.page_bytes
        return Frontiers(
            before, before - extension, state.high_byte - (state.credit if credit else 0)
        )
