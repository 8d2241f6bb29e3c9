"""Window eviction and the release of rows, on top of an allocator (contract_paged_swa §11.2, §11.3).

Guarantees that a cursor is stored before the allocator can refuse, and that it passes nothing that was not freed. Leaves every
check of slots to the allocator.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import torch

from targets.rows.request import Request

Segment = tuple[torch.Tensor, int]
"""Slots of a row, and the position of the first."""


class RowAllocator(Protocol):
    """What the layer needs of an allocator."""

    page_size: int

    def free_swa_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """Give back the peers of a segment."""

    def free_segments(self, segments: Iterable[Segment]) -> None:
        """Give back segments on both sides."""

    def free_full_segments(self, segments: Iterable[Segment]) -> None:
        """Give back segments whose peers are gone already."""


class RowLayer:
    """The calls on rows over ``allocator``. ``page_size`` is the prefix tree's; left out, it is the allocator's."""

    def __init__(self, allocator: RowAllocator, *, page_size: int | None = None) -> None:
        self.allocator = allocator
        self.page_size = allocator.page_size if page_size is None else page_size

    def evict_out_of_window(
        self,
        request: Request,
        pre_len: int,
        *,
        window: int,
        sharing: bool = True,
        retain_floor: int | None = None,
        interval: int = 1,
    ) -> None:
        """Give back the peers that no later token of a row of ``pre_len`` slots can see, in whole pages, and move the cursor.

        ``sharing``: rows go into a tree that other requests read, so that a whole window stays before every page boundary.
        ``retain_floor``: the tree wants to keep what lies from here on. ``interval``: fewer slots than this are not worth a call.
        Raises AssertionError when what is protected ends inside a page.
        """
        if not request.held:
            return
        self._assert_whole_pages(request.protected)
        if not self._is_worth_it(pre_len - window, request.evicted, interval):
            return
        start = max(request.evicted, self._first_dead(request))
        threshold = self._threshold(pre_len, window, sharing=sharing, retain_floor=retain_floor)
        self._evict(request, start, self._page_floor(max(start, threshold)))

    def free_row(self, request: Request, ranges: Sequence[tuple[int, int]]) -> None:
        """Give back parts of a row: ascending ranges of positions that do not overlap. Those that touch count as one."""
        self.free_row_segments(
            [(request.row[start:end], start) for start, end in self._merged(ranges)],
            evicted=request.evicted,
            dead_lo=request.dead_lower_bound(self.allocator.page_size),
        )

    def free_row_segments(
        self, segments: Iterable[Segment], *, evicted: int, dead_lo: int = 0
    ) -> None:
        """Give back ascending segments of one row, of which the positions from ``dead_lo`` to ``evicted`` have no peers.

        Raises AssertionError when ``evicted`` cuts a page of which both parts would be freed; nothing changed then.
        """
        dead, alive = self._parted(segments, dead_lo, max(evicted, dead_lo))
        if dead and alive:
            self._assert_cut(evicted)
        self._release(dead, alive)

    def _assert_whole_pages(self, protected: int) -> None:
        assert protected % self.page_size == 0, (
            f"what the tree owns ends on a page boundary, not at position {protected} "
            f"with page size {self.page_size}"
        )

    def _is_worth_it(self, outside: int, evicted: int, interval: int) -> bool:
        return outside >= evicted + interval

    def _first_dead(self, request: Request) -> int:
        return request.dead_lower_bound(self.page_size)

    def _threshold(
        self, pre_len: int, window: int, *, sharing: bool, retain_floor: int | None
    ) -> int:
        if not sharing:
            # Nobody else reads the row, so that there is nothing to retain either.
            return pre_len - window
        threshold = pre_len - self._kept_for_others(window)
        return threshold if retain_floor is None else min(threshold, retain_floor)

    def _kept_for_others(self, window: int) -> int:
        return -(-max(window, self.page_size) // self.page_size) * self.page_size

    def _page_floor(self, position: int) -> int:
        return position // self.page_size * self.page_size

    def _evict(self, request: Request, start: int, end: int) -> None:
        # Stored before the allocator can refuse, and also where nothing is left to free.
        request.evicted = start
        if end > start:
            self.allocator.free_swa_segment(request.row[start:end], start_pos=start)
            request.evicted = end

    def _merged(self, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        # Two ranges that meet inside a page would free it twice.
        merged: list[tuple[int, int]] = []
        for start, end in ranges:
            if merged and merged[-1][1] == start:
                merged[-1] = (merged[-1][0], end)
            else:
                merged.append((start, end))
        return merged

    def _parted(
        self, segments: Iterable[Segment], dead_from: int, dead_to: int
    ) -> tuple[list[Segment], list[Segment]]:
        """The parts whose peers are gone, and the others; a segment without such a part stays whole, even an empty one."""
        dead: list[Segment] = []
        alive: list[Segment] = []
        for slots, start in segments:
            end = start + slots.numel()
            first, last = max(dead_from, start), min(dead_to, end)
            if first >= last:
                alive.append((slots, start))
                continue
            dead.append((slots[first - start : last - start], first))
            if first > start:
                alive.append((slots[: first - start], start))
            if last < end:
                alive.append((slots[last - start :], last))
        return dead, alive

    def _assert_cut(self, evicted: int) -> None:
        assert evicted % self.allocator.page_size == 0, (
            f"the row is cut inside a page, at position {evicted} "
            f"with page size {self.allocator.page_size}"
        )

    def _release(self, dead: list[Segment], alive: list[Segment]) -> None:
        if dead:
            self.allocator.free_full_segments(dead)
        if alive:
            self.allocator.free_segments(alive)
