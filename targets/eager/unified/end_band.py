"""A band that grows from one end of the buffer: taking pages, giving them back, capacity (contract_unified §4, §5).

Guarantees that frees and takes in lazy mode never wait for the device. Moves are ``end_compaction``'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from targets.eager.unified import end_compaction
from targets.eager.unified.band import Band, Reserved, nearest

if TYPE_CHECKING:
    from oracle.byte_buffer import Direction


class EndBand(Band):
    """A band with a watermark: it grows up from its first page, or down from its last one."""

    def __init__(self, *arguments: Any, direction: Direction, lazy: bool, **named: Any) -> None:
        self.up = direction == "up"
        self.lazy = lazy
        super().__init__(*arguments, **named)

    def _reset(self) -> None:
        super()._reset()
        self.watermark = self.first if self.up else self.pages - 1
        self._live = 0

    @property
    def low_byte(self) -> int:
        """The first byte of the span."""
        return (self.first if self.up else self.watermark + 1) * self.page_bytes

    @property
    def high_byte(self) -> int:
        """The byte after the span."""
        return (self.watermark if self.up else self.pages) * self.page_bytes

    @property
    def span(self) -> int:
        """Pages of the span: live ones, holes and pending ones."""
        return self.watermark - self.first if self.up else self.pages - 1 - self.watermark

    @property
    def live(self) -> int:
        """Pages that are taken: counted in lazy mode, the whole span otherwise."""
        return self._live if self.lazy else self.span

    @property
    def gap(self) -> int:
        """Bytes between the span and the next band on the side to which it grows (§4)."""
        return max(0, self.above() - self.high_byte if self.up else self.low_byte - self.below())

    @property
    def index_room(self) -> int:
        """Pages of the grid beyond the span."""
        return self.page_room - self.span

    @property
    def credit(self) -> int:
        """Bytes that a flush would open for the neighbour: holes of a lazy band that may move (§4)."""
        lends = self.lazy and not self.moves_blocked
        return self.hole_count * self.page_bytes if lends else 0

    def growth_neighbour(self) -> Band | None:
        """The band against which this one grows."""
        return nearest(self.upper if self.up else self.lower)

    def available_size(self) -> int:
        """Slots that can be taken now (§4)."""
        return self._available(self.gap)

    def schedulable_available_size(self) -> int:
        """Slots that can be taken once the neighbour was flushed (§4)."""
        neighbour = self.growth_neighbour()
        credit = neighbour.credit if isinstance(neighbour, EndBand) else 0
        return self._available(self.gap + credit)

    def _available(self, gap: int) -> int:
        fresh = min(gap // self.page_bytes, self.index_room)
        return (fresh + (self.hole_count if self.lazy else 0)) * self.page_size

    def reserve(self, count: int) -> Reserved | None:
        """Holes nearest the own end, then fresh pages; None and nothing changed when they are short (§5)."""
        drawn = min(count, self.hole_count) if self.lazy else 0
        extension = count - drawn
        start = self._extend(extension)
        if start is None:
            return None
        self._live += count
        if not drawn:
            return Reserved(self.no_pages(), start, 1, extension)
        if self.up:
            return Reserved(self._draw(drawn), start, 1, extension)
        # Only in a mixed draw a band that grows down lists its fresh pages downwards.
        return Reserved(self._draw(drawn), start + extension - 1, -1, extension)

    def _extend(self, count: int) -> int | None:
        """The lowest of ``count`` fresh pages; None when they would leave the grid or reach the neighbour."""
        start = self.watermark if self.up else self.watermark - count + 1
        if count:
            frontier = start + count if self.up else start
            if not self.first <= frontier <= self.pages:
                return None
            if self.lazy and self._collides(frontier):
                return None
            self.watermark += count if self.up else -count
        return start

    def _collides(self, frontier: int) -> bool:
        if self.up:
            return frontier > self.above() // self.page_bytes
        return frontier < self.below() // self.page_bytes

    def _draw(self, count: int) -> torch.Tensor:
        if count == self.hole_count:
            drawn, self.holes = self.holes, self.no_pages()
            return drawn
        holes = self.holes.sort().values
        split = count if self.up else self.hole_count - count
        low, high = holes[:split], holes[split:]
        drawn, self.holes = (low, high) if self.up else (high, low)
        return drawn

    def release(self, virtual: torch.Tensor) -> None:
        """Free virtual pages: holes in lazy mode, compaction at once otherwise. Eager: raises AssertionError for an unbound page."""
        if not self.lazy:
            end_compaction.release_compacting(self, virtual)
            return
        physical = self.table.unbind(virtual)
        self._return_ids(virtual)
        self._leave_holes(physical)

    def release_physical(self, physical: torch.Tensor) -> None:
        """Free physical pages and unbind whoever has them (§5)."""
        if not self.lazy:
            end_compaction.release_places(self, physical)
            return
        self.table.forget_physical(physical)
        self._leave_holes(physical)

    def _leave_holes(self, physical: torch.Tensor) -> None:
        self.holes = torch.cat([self.holes, physical])
        self._live -= physical.numel()

    def _return_ids(self, virtual: torch.Tensor) -> None:
        if self.free_ids is not None:
            self.free_ids = torch.cat([self.free_ids, virtual])

    def return_ids(self, virtual: torch.Tensor) -> None:
        """Put ids at the tail of the free ones, where they are this band's own."""
        self._return_ids(virtual)

    def flush(self, *, urgent: bool) -> int:
        """Compact towards the own end; how many pages moved (§5)."""
        return end_compaction.flush(self, urgent=urgent)

    @property
    def pending_count(self) -> int:
        """Pages that an event protects."""
        return sum(pages.numel() for pages in self.pending.values())
