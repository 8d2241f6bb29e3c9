"""A band in the middle of the buffer: a span with two frontiers, whose holes are used again (contract_unified §4, §6).

Guarantees that taking and freeing never wait for the device. Moves are ``floating_moves``'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import torch

from targets.eager.unified.band import Band, Reserved, nearest
from targets.eager.unified.end_band import EndBand

if TYPE_CHECKING:
    from oracle.call import Side


class FloatingBand(Band):
    """A band with the span ``start`` to before ``stop``; parked behind the last page while nothing is live.

    ``next_end`` is the end from which the next holes are drawn; ``dirty``: there may be holes at a frontier. ``clear`` leaves
    both as they are.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.next_end: Literal["low", "high"] = "low"
        self.dirty = False
        super().__init__(*arguments, **named)

    def _reset(self) -> None:
        super()._reset()
        self.start = self.stop = self.pages

    @property
    def low_byte(self) -> int:
        """The first byte of the span."""
        return self.start * self.page_bytes

    @property
    def high_byte(self) -> int:
        """The byte after the span."""
        return self.stop * self.page_bytes

    @property
    def span(self) -> int:
        """Pages of the span, holes included."""
        return self.stop - self.start

    @property
    def live(self) -> int:
        """Pages that are taken."""
        return self.span - self.hole_count

    @property
    def transparent(self) -> bool:
        """Whether nothing is live, so that neighbours do not see this band."""
        return self.live == 0

    @property
    def lazy_frees(self) -> bool:
        """A free leaves holes, whatever the ends do."""
        return True

    @property
    def index_room(self) -> int:
        """Pages of the grid that are not live."""
        return self.page_room - self.live

    @property
    def region(self) -> tuple[int, int]:
        """The pages between the neighbours: the first one, and the one after the last."""
        low = max(-(-self.below() // self.page_bytes), self.first)
        return low, min(self.above() // self.page_bytes, self.pages)

    def gaps(self) -> tuple[int, int]:
        """Free pages below and above the span; all of the region on both sides when nothing is live."""
        low, high = self.region
        if self.transparent:
            return max(0, high - low), max(0, high - low)
        return max(0, self.start - low), max(0, high - self.stop)

    def pages_in_band(self, low_byte: int, high_byte: int) -> int:
        """Whole pages of this grid between two bytes."""
        first = max(-(-low_byte // self.page_bytes), self.first)
        return max(0, min(high_byte // self.page_bytes, self.pages) - first)

    def open_bytes(self, side: Side) -> int:
        """Whole pages of this grid that are free on that side, in bytes (§6): raw bytes would count a page too many."""
        low, high = self.gaps()
        return (low if side == "low" else high) * self.page_bytes

    def available_size(self) -> int:
        """Slots that can be taken now (§4)."""
        return self._available(0, 0)

    def schedulable_available_size(self) -> int:
        """Slots that can be taken once the neighbours were flushed (§4)."""
        return self._available(self._credit(self.lower), self._credit(self.upper))

    def _credit(self, side: list[Band]) -> int:
        neighbour = nearest(side)
        return neighbour.credit // self.page_bytes if isinstance(neighbour, EndBand) else 0

    def _available(self, more_low: int, more_high: int) -> int:
        low, high = self.gaps()
        fresh = min(max(low + more_low, high + more_high), self.index_room)
        return (fresh + self.hole_count) * self.page_size

    def reserve(self, count: int) -> Reserved | None:
        """Holes, then fresh pages on one side; None and nothing changed when neither side has room (§6)."""
        drawn = min(count, self.hole_count)
        extension = count - drawn
        start = self._extend(extension)
        if start is None:
            return None
        holes = self._draw(drawn) if drawn else self.no_pages()
        return Reserved(holes, start, 1, extension)

    def _extend(self, count: int) -> int | None:
        """The lowest of ``count`` fresh pages; None when no side has room for them."""
        if not count:
            return self.stop
        if self.transparent:
            low, high = self.region
            if count > high - low:
                return None
            self.start = low + (high - low - count) // 2
            self.stop = self.start + count
            return self.start
        low_gap, high_gap = self.gaps()
        if max(low_gap, high_gap) < count:
            return None
        if high_gap >= low_gap:
            self.stop += count
            return self.stop - count
        self.start -= count
        return self.start

    def _draw(self, count: int) -> torch.Tensor:
        end, self.next_end = self.next_end, "high" if self.next_end == "low" else "low"
        if count == self.hole_count:
            drawn, self.holes = self.holes, self.no_pages()
            return drawn
        holes = self.holes.sort().values
        split = count if end == "low" else self.hole_count - count
        low, high = holes[:split], holes[split:]
        drawn, self.holes = (low, high) if end == "low" else (high, low)
        return drawn

    def release(self, virtual: torch.Tensor) -> None:
        """Free virtual pages; the band parks when none is left (§6)."""
        if virtual.numel():
            self._leave_holes(self.table.unbind(virtual))

    def release_physical(self, physical: torch.Tensor) -> None:
        """Free physical pages and unbind whoever has them (§5)."""
        self.table.forget_physical(physical)
        self._leave_holes(physical)

    def _leave_holes(self, physical: torch.Tensor) -> None:
        self.holes = torch.cat([self.holes, physical])
        self.dirty = True
        self._park_if_empty()

    def _park_if_empty(self) -> None:
        if self.live == 0:
            self.start = self.stop = self.pages
            self.holes = self.no_pages()
            self.dirty = False

    def flush(self, *, urgent: bool) -> int:
        """Strip the holes at both frontiers; how many pages (§6). Without urgency only when there may be some."""
        if not urgent and not (self.dirty and self.hole_count):
            return 0
        self._park_if_empty()
        return self.absorb()

    def absorb(self) -> int:
        """Strip the holes at both frontiers if there may be some; how many pages. None are left there afterwards."""
        if not (self.dirty and self.hole_count):
            self.dirty = False
            return 0
        self.dirty = False
        holes = set(self.holes.tolist())
        before = self.span
        while self.start < self.stop and self.start in holes:
            holes.discard(self.start)
            self.start += 1
        while self.start < self.stop and self.stop - 1 in holes:
            self.stop -= 1
            holes.discard(self.stop)
        stripped = before - self.span
        if stripped:
            self.holes = self.page_list(sorted(holes))
        return stripped

    def make_room(self, side: Side, min_bytes: int) -> int:
        """Move aside until ``min_bytes`` are open on ``side``, if that can be; the open bytes after it (§6)."""
        from targets.eager.unified.floating_moves import make_room

        make_room(self, side, min_bytes)
        return self.open_bytes(side)

    def compact_holes(self, side: Side) -> None:
        """Close all holes by moving pages away from ``side`` (§6)."""
        from targets.eager.unified.floating_moves import pack_away_from

        if not self.moves_blocked and self.hole_count:
            pack_away_from(self, side)
