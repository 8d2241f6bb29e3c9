"""How many pages of two bands fit into the bytes that they share, and what has to be given up for them (contract_unified §8).

Guarantees host integers in and out: asking moves nothing and waits for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from targets.eager.unified.end_band import EndBand


class Pages(NamedTuple):
    """Pages of each side."""

    full: int
    swa: int


NOTHING = Pages(0, 0)


class Side(NamedTuple):
    """What one band has left: pages without new bytes, and pages of its grid beyond the span."""

    holes: int
    index_room: int

    def holds(self, need: int) -> bool:
        """Whether the grid has room for ``need`` pages."""
        return need <= self.holes + self.index_room

    def extension(self, need: int) -> int:
        """Pages by which the span grows for ``need`` of them."""
        return max(0, need - self.holes)


class SharedPlan:
    """The plan of ``full`` and ``swa``, which grow towards each other over one gap. Make it when both are empty."""

    def __init__(self, full: EndBand, swa: EndBand) -> None:
        self.full = full
        self.swa = swa
        self.empty_gap = full.gap

    def joint_pages(self) -> int:
        """The most pages that fit on both sides at once, with no page moved."""
        full, swa = self._side(self.full, 0), self._side(self.swa, 0)
        most = min(full.holes + full.index_room, swa.holes + swa.index_room)
        return _first(0, most, lambda n: not self._bytes_fit(Pages(n + 1, n + 1), full, swa))

    def fits(
        self, need: Pages, reclaim: Pages = NOTHING, *, compacted: bool, empty: bool = False
    ) -> bool:
        """Whether ``need`` fits after ``reclaim`` was freed; ``compacted``: and after all holes were given back;
        ``empty``: into a pool with nothing in it."""
        live_full = 0 if empty else self.full.live - min(reclaim.full, self.full.live)
        live_swa = 0 if empty else self.swa.live - min(reclaim.swa, self.swa.live)
        ids = self.full.page_room
        if live_full + need.full > ids or live_swa + need.swa > min(ids, self.swa.page_room):
            return False
        if compacted or empty:
            gap = self.empty_gap - live_full * self.full.page_bytes - live_swa * self.swa.page_bytes
            return self._extension_bytes(need, Side(0, 0), Side(0, 0)) <= gap
        full, swa = self._side(self.full, reclaim.full), self._side(self.swa, reclaim.swa)
        return need.full <= self.full.id_count + reclaim.full and self._bytes_fit(need, full, swa)

    def plan(self, need: Pages, evictable: Pages, *, empty: bool, prefer_swa: bool) -> Pages | None:
        """The least that has to be given up, of the SWA side first (``prefer_swa``: of the FULL side first); None when even
        everything is not enough."""
        compacted = empty or not self.full.lazy or not self._blocked()

        def enough(full: int, swa: int) -> bool:
            return self.fits(need, Pages(full, swa), compacted=compacted, empty=empty)

        if enough(0, 0):
            return NOTHING
        if empty:
            return None
        most = Pages(min(self.full.live, evictable.full), min(self.swa.live, evictable.swa))
        if not enough(*most):
            return None
        if prefer_swa:
            full = _first(0, most.full, lambda n: enough(n, most.swa))
            return Pages(full, _first(0, most.swa, lambda n: enough(full, n)))
        swa = _first(0, most.swa, lambda n: enough(most.full, n))
        return Pages(_first(0, most.full, lambda n: enough(n, swa)), swa)

    def _blocked(self) -> bool:
        return self.full.moves_blocked or self.swa.moves_blocked

    def _side(self, band: EndBand, reclaim: int) -> Side:
        return Side(band.hole_count + reclaim, band.index_room)

    def _bytes_fit(self, need: Pages, full: Side, swa: Side) -> bool:
        if not (full.holds(need.full) and swa.holds(need.swa)):
            return False
        return self._extension_bytes(need, full, swa) <= self.full.gap

    def _extension_bytes(self, need: Pages, full: Side, swa: Side) -> int:
        return (
            full.extension(need.full) * self.full.page_bytes
            + swa.extension(need.swa) * self.swa.page_bytes
        )


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The smallest number from ``low`` to ``high`` for which ``holds``, which once true stays true; ``high`` if none below."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
