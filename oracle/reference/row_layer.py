"""The row-level code of a hybrid allocator's callers, on top of the allocator (contract_paged_swa §11.2, §11.3).

Guarantees where an assertion comes: what was freed, and which cursor was stored, by then. Keeps no state between calls, for
a call brings its row and its cursors along.
"""

from __future__ import annotations

from collections.abc import Sequence

from oracle.call import Call, RowCursors, Segment
from oracle.contract import Contract
from oracle.geometry import Geometry, Mode
from oracle.reference.hybrid_swa import HybridPool
from oracle.reference.pool import joined
from oracle.reference.raised import require


class RowPool(HybridPool):
    """A hybrid allocator and the helpers of its callers.

    ``cursor`` is the evicted cursor as the last window eviction left it, stored before whatever that call raised.
    """

    def __init__(self, geometry: Geometry, mode: Mode, contract: Contract) -> None:
        super().__init__(geometry, mode, contract)
        self.cursor = 0

    def evict_out_of_window(self, call: Call) -> None:
        """Free the peers of what left the window; the cursor is stored once before they are freed and once after (§11.2)."""
        cursors, size = call.cursors, self.page_size
        self.cursor = cursors.evicted
        if not call.slots and self.contract.eviction_without_row == "returned":
            return
        require(
            cursors.protected % size == 0,
            f"alignment: the protected length {cursors.protected} is no multiple of the page size {size}",
        )
        too_little = call.pre_len - call.window < self.cursor + call.interval
        if too_little and self.contract.has_interval:
            return
        low = dead_low(cursors, size) if self.contract.has_floor else cursors.protected
        self.cursor = max(self.cursor, low)
        new = max(self.cursor, self._threshold(call)) // size * size
        if new > self.cursor:
            self._free_peers(call.slots[self.cursor : new], self.cursor)
            self.cursor = new

    def _free_peers(self, slots: Sequence[int], start_pos: int) -> None:
        if self.contract.evicts_by == "segment":
            self.free_swa_segment(slots, start_pos)
        else:
            self.free_swa(slots)

    def _threshold(self, call: Call) -> int:
        """The first position that keeps its peer, before it is rounded down to a page (§11.2 steps 5 and 6, §13.2)."""
        if not call.sharing:
            return call.pre_len - call.window
        threshold = call.pre_len - self._kept_behind(call.window)
        if call.retain_floor is None or not self.contract.has_retain_floor:
            return threshold
        return min(threshold, call.retain_floor)

    def _kept_behind(self, window: int) -> int:
        """How many slots keep their peers with prefix sharing (§11.2 step 5, §13.2)."""
        size = self.page_size
        if self.contract.kept_behind == "window-and-page":
            return window + size
        kept = max(window, size)
        return _page_ceiling(kept, size) if self.contract.kept_behind == "whole-pages" else kept

    def free_row_segments(self, segments: Sequence[Segment], evicted: int, dead_lo: int) -> None:
        """Free the FULL side only of what lies in the dead range, then both sides of the rest (§11.3, §13.2).

        Whatever a release made of it, a part below the dead range has its peers, and they go back.
        """
        dead: list[Segment] = []
        alive: list[Segment] = []
        for segment in segments:
            if not segment.slots and self.contract.empty_segments == "skipped":
                continue
            head, middle, tail = _cut(segment, dead_lo, max(evicted, dead_lo))
            if not middle.slots:
                alive.append(segment)
                continue
            dead.append(middle)
            alive += [part for part in (head, tail) if part.slots]
        if dead and alive:
            require(
                evicted % self.page_size == 0,
                f"alignment: the evicted cursor {evicted} cuts a page of {self.page_size} slots",
            )
        if self.contract.dead_parts == "one-set":
            self.free_full(joined([part.slots for part in dead]))
        else:
            self.free_full_segments(dead)
        self.free_segments(alive)

    def free_row(
        self, slots: Sequence[int], cursors: RowCursors, ranges: Sequence[tuple[int, int]]
    ) -> None:
        """Free ranges of a row, perhaps those that touch as one (§11.3, §13.2)."""
        if self.contract.touching_ranges == "merged":
            ranges = _merged(ranges)
        segments = [Segment(tuple(slots[start:stop]), start) for start, stop in ranges]
        self.free_row_segments(segments, cursors.evicted, dead_low(cursors, self.page_size))


def dead_low(cursors: RowCursors, page_size: int) -> int:
    """Where the positions whose peers may be gone begin; rounded up to a page only above the protected length (§11.1)."""
    low = max(cursors.protected, cursors.floor)
    return _page_ceiling(low, page_size) if low > cursors.protected else low


def _cut(segment: Segment, low: int, high: int) -> tuple[Segment, Segment, Segment]:
    """What of ``segment`` lies below ``low``, between, and from ``high`` on."""
    slots, start = segment.slots, segment.start_pos
    first = min(max(low - start, 0), len(slots))
    last = min(max(high - start, first), len(slots))
    return (
        Segment(slots[:first], start),
        Segment(slots[first:last], start + first),
        Segment(slots[last:], start + last),
    )


def _merged(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, stop in ranges:
        if merged and merged[-1][1] == start:
            merged[-1] = (merged[-1][0], stop)
        else:
            merged.append((start, stop))
    return merged


def _page_ceiling(length: int, page_size: int) -> int:
    return -(-length // page_size) * page_size
