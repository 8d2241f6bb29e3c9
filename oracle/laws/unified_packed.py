"""Whether pages would fit into a buffer of two pools if every hole were closed: bytes and indices, no page in particular
(contract_unified §2, §8).
"""

from __future__ import annotations

from oracle.geometry import Geometry
from oracle.ownership import Ownership
from oracle.unified_observation import UnifiedSnapshot


class PackedBands:
    """The FULL and the SWA band of ``geometry``, which has no third one."""

    def __init__(self, geometry: Geometry) -> None:
        grids = geometry.grids()
        self.page_size = geometry.page_size
        self.lazy = geometry.bytes_shared.lazy
        self.full, self.swa = grids["full"], grids["swa"]
        full_up = geometry.bytes_shared.full_direction == "up"
        low, high = (self.full, self.swa) if full_up else (self.swa, self.full)
        self.bytes = high.pages * high.page_bytes - low.first * low.page_bytes
        self.most_full = self.full.pages - self.full.first
        self.most_swa = min(self.most_full, self.swa.pages - self.swa.first)

    def may_move(self, books: Ownership) -> bool:
        """Whether a lazy allocator may close holes: no gate is installed, no load is outstanding."""
        return self.lazy and not (books.gates or books.loading or books.reservations)

    def holds(self, full: int, swa: int) -> bool:
        """Whether so many pages in all fit."""
        within = full <= self.most_full and swa <= self.most_swa
        needed = full * self.full.page_bytes + swa * self.swa.page_bytes
        return within and needed <= self.bytes

    def fits(
        self, state: UnifiedSnapshot, full: int, swa: int, reclaimed: tuple[int, int] = (0, 0)
    ) -> bool:
        """Whether so many pages more fit, once ``reclaimed`` pages of each side are given up."""
        live_full, live_swa = state.bands["full"].live, state.bands["swa"].live
        return self.holds(
            live_full - min(reclaimed[0], live_full) + full,
            live_swa - min(reclaimed[1], live_swa) + swa,
        )
