"""A band at one end of the buffer, which grows towards the other end (contract_unified §4, §5)."""

from __future__ import annotations

from oracle.byte_buffer import BandName, Direction, Grid
from oracle.contract import Contract
from oracle.reference.raised import require
from oracle.unified import compaction
from oracle.unified.band import Band
from oracle.unified_observation import BandState


class EndBand(Band):
    """Its span is ``[first, watermark)`` when it grows up, ``(watermark, pages - 1]`` when it grows down.

    ``lazy``: frees leave holes and ``live`` is counted; otherwise every free closes its holes at once.
    """

    def __init__(
        self,
        name: BandName,
        grid: Grid,
        total_bytes: int,
        contract: Contract,
        *,
        direction: Direction,
        owner: bool,
        lazy: bool,
    ) -> None:
        self.grows_up = direction == "up"
        self.lazy = lazy
        super().__init__(name, grid, total_bytes, contract, owner=owner)
        self.clear()

    def clear(self) -> None:
        """An empty span, all tables as after construction."""
        self.reset_tables()
        self.watermark = self.grid.first if self.grows_up else self.grid.pages - 1
        self._live = 0

    @property
    def lo(self) -> int:
        """The first byte of the span."""
        return (self.grid.first if self.grows_up else self.watermark + 1) * self.grid.page_bytes

    @property
    def hi(self) -> int:
        """The first byte after the span."""
        return (self.watermark if self.grows_up else self.grid.pages) * self.grid.page_bytes

    def span(self) -> range:
        """The pages of the span, ascending."""
        if self.grows_up:
            return range(self.grid.first, self.watermark)
        return range(self.watermark + 1, self.grid.pages)

    def span_pages(self) -> int:
        """How many pages the span has, holes and pending ones included."""
        if self.grows_up:
            return self.watermark - self.grid.first
        return self.grid.pages - 1 - self.watermark

    @property
    def live(self) -> int:
        """The count of a lazy band; an eager one has no other pages in its span."""
        return self._live if self.lazy else self.span_pages()

    @property
    def is_lazy(self) -> bool:
        """Whether frees leave holes."""
        return self.lazy

    @property
    def sorts_single_slots(self) -> bool:
        """An eager band always does."""
        return not self.lazy

    def index_room(self) -> int:
        """N - m - span."""
        return self.grid.pages - self.grid.first - self.span_pages()

    def gap(self) -> int:
        """The free bytes on the growth side."""
        return max(0, self.above() - self.hi if self.grows_up else self.lo - self.below())

    def growth_neighbour(self) -> Band | None:
        """The band towards which this one grows."""
        return self.upper() if self.grows_up else self.lower()

    def available_pages(self) -> int:
        """What the gap and the grid leave, and the holes."""
        return self._pages_with(self.gap())

    def schedulable_pages(self) -> int:
        """The same with the holes of the growth-side neighbour counted into the gap."""
        neighbour = self.growth_neighbour()
        credit = neighbour.hole_credit_bytes() if neighbour is not None else 0
        return self._pages_with(self.gap() + credit)

    def _pages_with(self, gap: int) -> int:
        holes = len(self.holes) if self.lazy else 0
        return min(gap // self.grid.page_bytes, self.index_room()) + holes

    def take(self, count: int) -> list[int] | None:
        """Holes first, then fresh pages at the watermark; fresh ones descend in a mixed draw of a band that grows down."""
        if not self.lazy:
            return self._extend(count, looks_at_neighbours=False)
        drawn_count = min(count, len(self.holes))
        fresh = self._extend(count - drawn_count)
        if fresh is None:
            return None
        drawn = self._draw(drawn_count)
        self._live += count
        if drawn and not self.grows_up:
            fresh.reverse()
        return drawn + fresh

    def _extend(self, count: int, *, looks_at_neighbours: bool = True) -> list[int] | None:
        page_bytes = self.grid.page_bytes
        if self.grows_up:
            end = self.watermark + count
            if end > self.grid.pages or (looks_at_neighbours and end > self.above() // page_bytes):
                return None
            fresh = list(range(self.watermark, end))
            self.watermark = end
            return fresh
        start = self.watermark - count + 1
        if start < self.grid.first or (looks_at_neighbours and start < self.below() // page_bytes):
            return None
        fresh = list(range(start, self.watermark + 1))
        self.watermark = start - 1
        return fresh

    def _draw(self, count: int) -> list[int]:
        if count == len(self.holes):
            drawn, self.holes = self.holes, []
        elif self.contract.hole_choice == "list-head" or not count:
            drawn, self.holes = self.holes[:count], self.holes[count:]
        elif self.grows_up:
            ordered = sorted(self.holes)
            drawn, self.holes = ordered[:count], ordered[count:]
        else:
            ordered = sorted(self.holes)
            drawn, self.holes = ordered[-count:], ordered[:-count]
        return drawn

    def release(self, pages: list[int]) -> None:
        """A lazy band keeps them as holes, an eager one closes them at once."""
        if self.lazy:
            self.holes = self.holes + pages
            self._live -= len(pages)
        else:
            compaction.close_holes(self, pages)

    def require_free_of(self, virtual: list[int]) -> None:
        """The assertions of an eager free: everything is bound and pages may move. A lazy free has none (§5)."""
        if self.lazy:
            return
        places = [self.v2p[page] for page in virtual]
        require(all(place >= 0 for place in places), f"{self.name}: an unbound page is freed")
        require(not self.gates and not self.pending_load, f"{self.name}: pages must not move")
        span = self.span()
        require(all(place in span for place in places), f"{self.name}: a page outside the span")

    def flush(self, *, urgent: bool) -> int:
        """Move pages towards the own end; only a lazy band has anything to move."""
        return compaction.flush(self, urgent=urgent) if self.lazy else 0

    def state(self) -> BandState:
        """Everything that can be seen of the band."""
        state = super().state()
        state.watermark = self.watermark
        return state
