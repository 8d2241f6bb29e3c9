"""The band in the middle, which floats between two others and keeps its holes (contract_unified §4, §6)."""

from __future__ import annotations

from typing import Literal

from oracle.byte_buffer import BandName, Grid
from oracle.contract import Contract
from oracle.reference.raised import leave_undefined
from oracle.unified import floating_moves
from oracle.unified.band import Band
from oracle.unified_observation import BandState

Side = Literal["low", "high"]


class FloatingBand(Band):
    """Its span is ``[start, stop)``; an empty one is parked at the end of its grid. It is never lazy."""

    def __init__(self, name: BandName, grid: Grid, total_bytes: int, contract: Contract) -> None:
        self.next_end: Side = "low"
        self.dirty = False
        super().__init__(name, grid, total_bytes, contract, owner=False)
        self.clear()

    def clear(self) -> None:
        """As after construction, but for ``next_end`` and ``dirty``, which survive (§3)."""
        self.reset_tables()
        self.start = self.stop = self.grid.pages

    @property
    def lo(self) -> int:
        """The first byte of the span."""
        return self.start * self.grid.page_bytes

    @property
    def hi(self) -> int:
        """The first byte after the span."""
        return self.stop * self.grid.page_bytes

    @property
    def live(self) -> int:
        """What of the span is no hole."""
        return self.stop - self.start - len(self.holes)

    @property
    def is_transparent(self) -> bool:
        """An empty one is in nobody's way."""
        return self.live == 0

    def index_room(self) -> int:
        """N - m - live."""
        return self.grid.pages - self.grid.first - self.live

    def region(self) -> tuple[int, int]:
        """Where the neighbours let the span be: from the first page up to the second (§4)."""
        page_bytes = self.grid.page_bytes
        low = max(-(-self.below() // page_bytes), self.grid.first)
        return low, min(self.above() // page_bytes, self.grid.pages)

    def gaps(self) -> tuple[int, int]:
        """The pages that could be added below and above the span; for an empty one the region, both times (§4)."""
        low, high = self.region()
        if self.is_transparent:
            return max(0, high - low), max(0, high - low)
        return max(0, self.start - low), max(0, high - self.stop)

    def pages_in_band(self, low_byte: int, high_byte: int) -> int:
        """Whole pages of this grid that lie between two bytes (§6)."""
        page_bytes, first = self.grid.page_bytes, self.grid.first
        stop = min(high_byte // page_bytes, self.grid.pages)
        return max(0, stop - max(-(-low_byte // page_bytes), first))

    def available_pages(self) -> int:
        """The wider gap, as far as the grid goes, and the holes."""
        return min(max(self.gaps()), self.index_room()) + len(self.holes)

    def schedulable_pages(self) -> int:
        """The same with each neighbour's holes added to its own side."""
        gap_low, gap_high = self.gaps()
        below, above = self.lower(), self.upper()
        page_bytes = self.grid.page_bytes
        gap_low += below.hole_credit_bytes() // page_bytes if below is not None else 0
        gap_high += above.hole_credit_bytes() // page_bytes if above is not None else 0
        return min(max(gap_low, gap_high), self.index_room()) + len(self.holes)

    def take(self, count: int) -> list[int] | None:
        """Holes first, drawn from either end in turn, then fresh pages on the roomier side (§6)."""
        drawn_count = min(count, len(self.holes))
        fresh = self._extend(count - drawn_count)
        if fresh is None:
            return None
        drawn = self._draw(drawn_count)
        return drawn + fresh

    def _extend(self, count: int) -> list[int] | None:
        if not count:
            return []
        low, high = self.region()
        if self.is_transparent:
            if count > high - low:
                return None
            self.start = low + (high - low - count) // 2
            self.stop = self.start + count
            return list(range(self.start, self.stop))
        gap_low, gap_high = self.gaps()
        if count > max(gap_low, gap_high):
            return None
        if gap_high >= gap_low:
            fresh = list(range(self.stop, self.stop + count))
            self.stop += count
        else:
            fresh = list(range(self.start - count, self.start))
            self.start -= count
        return fresh

    def _draw(self, count: int) -> list[int]:
        if not count:
            return []
        if self.contract.hole_choice == "list-head":
            drawn, self.holes = self.holes[:count], self.holes[count:]
            return drawn
        if count == len(self.holes):
            drawn, self.holes = self.holes, []
        else:
            ordered = sorted(self.holes)
            if self.next_end == "low":
                drawn, self.holes = ordered[:count], ordered[count:]
            else:
                drawn, self.holes = ordered[-count:], ordered[:-count]
        self.next_end = "high" if self.next_end == "low" else "low"
        return drawn

    def release(self, pages: list[int]) -> None:
        """Holes, also at the boundary; the last live page parks the band (§6)."""
        self.holes = self.holes + pages
        self.dirty = True
        leave_undefined(unless=self.live >= 0, reason="more pages are freed than the band has")
        self.park_if_empty()

    def park_if_empty(self) -> bool:
        """Park an empty band out of the way; whether it is empty."""
        if self.live:
            return False
        self.start = self.stop = self.grid.pages
        self.holes = []
        self.dirty = False
        return True

    def flush(self, *, urgent: bool) -> int:
        """Strip the holes that touch a boundary; no page moves. In the background only when there may be some (§6)."""
        if not urgent and not (self.dirty and self.holes):
            return 0
        return 0 if self.park_if_empty() else self.absorb()

    def absorb(self) -> int:
        """Shrink the span over the holes at its boundaries; how many there were. Then the band is not dirty any more."""
        if not (self.dirty and self.holes):
            self.dirty = False
            return 0
        self.require_sound_holes()
        inner = set(self.holes)
        while self.stop - 1 in inner:
            self.stop -= 1
            inner.remove(self.stop)
        while self.start in inner:
            inner.remove(self.start)
            self.start += 1
        stripped = len(set(self.holes)) - len(inner)
        if stripped:
            self.holes = sorted(hole for hole in self.holes if hole in inner)
        self.dirty = False
        return stripped

    def require_sound_holes(self) -> None:
        """Only a damaged band has holes that are no pages of its span, and then nothing is said of its moves (P4)."""
        holes = set(self.holes)
        sound = len(holes) == len(self.holes) and all(
            self.start <= hole < self.stop for hole in holes
        )
        leave_undefined(unless=sound, reason="moves among holes that are no pages of the span")

    def open_bytes(self, side: Side) -> int:
        """The bytes of the whole pages of this grid between the span and its neighbour; all between the neighbours when empty."""
        gap_low, gap_high = self.gaps()
        return (gap_low if side == "low" else gap_high) * self.grid.page_bytes

    def make_room(self, side: Side, target_bytes: int) -> int:
        """Open ``target_bytes`` on one side if that can be done; the bytes that are open then (§6)."""
        if not self.is_transparent and not self.moves_blocked():
            self.require_sound_holes()
            floating_moves.make_room(self, side, target_bytes)
        return self.open_bytes(side)

    def compact_holes(self, retreat_side: Side) -> None:
        """Close all holes so that ``retreat_side`` of the span retreats (§6)."""
        if not self.is_transparent and not self.moves_blocked():
            self.require_sound_holes()
            low = self.stop - self.live if retreat_side == "low" else self.start
            floating_moves.pack(self, low)

    def state(self) -> BandState:
        """Everything that can be seen of the band."""
        state = super().state()
        state.start, state.stop = self.start, self.stop
        state.next_end, state.dirty = self.next_end, self.dirty
        return state
