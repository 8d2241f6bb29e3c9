"""Faults in the row layer on top of a hybrid allocator. Each class is one fault."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from targets.mutants.mutant import FaultList
from targets.rows.layer import RowLayer, Segment
from targets.rows.request import Request

FAULTS = FaultList()


@FAULTS.add("divergence")
class CursorStoredAfterTheFree(RowLayer):
    """The cursor is moved to the dead lower bound only when the allocator has freed, so a refusal leaves it behind."""

    def _evict(self, request: Request, start: int, end: int) -> None:
        if end > start:
            self.allocator.free_swa_segment(request.row[start:end], start_pos=start)
        request.evicted = max(start, end)


@FAULTS.add("divergence")
class CursorKeptWhereNothingIsFreed(RowLayer):
    """The cursor is not moved to the dead lower bound when no page is freed."""

    def _evict(self, request: Request, start: int, end: int) -> None:
        if end > start:
            super()._evict(request, start, end)


@FAULTS.add("law", "divergence")
class CursorKeptAfterEviction(RowLayer):
    """The cursor stays where the eviction began, so the next one frees the same pages again."""

    def _evict(self, request: Request, start: int, end: int) -> None:
        super()._evict(request, start, end)
        request.evicted = start


@FAULTS.add("law", "divergence")
class ThresholdInsideAPage(RowLayer):
    """The window is not rounded down to a page, so a page goes of which a part is still in the window."""

    def _page_floor(self, position: int) -> int:
        return position


@FAULTS.add("divergence")
class SharedWindowAsItIs(RowLayer):
    """A shared row keeps its bare window, even one smaller than a page."""

    def _kept_for_others(self, window: int) -> int:
        return window


@FAULTS.add("divergence")
class SharedWindowNotInWholePages(RowLayer):
    """A shared row keeps its window or a page, whichever is more, but not rounded up to whole pages."""

    def _kept_for_others(self, window: int) -> int:
        return max(window, self.page_size)


@FAULTS.add("divergence")
class WindowInWholePagesForAll(RowLayer):
    """A row that nobody shares keeps its window rounded up to whole pages, as a shared one does."""

    def _threshold(
        self, pre_len: int, window: int, *, sharing: bool, retain_floor: int | None
    ) -> int:
        return super()._threshold(
            pre_len, window, sharing=True, retain_floor=retain_floor if sharing else None
        )


@FAULTS.add("divergence")
class RetainFloorIgnored(RowLayer):
    """The window takes what the tree wanted to retain."""

    def _threshold(
        self,
        pre_len: int,
        window: int,
        *,
        sharing: bool,
        retain_floor: int | None,  # noqa: ARG002
    ) -> int:
        return super()._threshold(pre_len, window, sharing=sharing, retain_floor=None)


@FAULTS.add("divergence")
class RetainFloorWithoutSharing(RowLayer):
    """A retain floor also holds for a row that nobody shares."""

    def _threshold(
        self, pre_len: int, window: int, *, sharing: bool, retain_floor: int | None
    ) -> int:
        threshold = super()._threshold(pre_len, window, sharing=sharing, retain_floor=retain_floor)
        return threshold if retain_floor is None else min(threshold, retain_floor)


@FAULTS.add("law", "divergence")
class EvictionFloorIgnored(RowLayer):
    """The window takes peers from below the floor, down to what is protected."""

    def _first_dead(self, request: Request) -> int:
        return request.protected


@FAULTS.add("law", "divergence")
class ProtectedEvicted(RowLayer):
    """The window takes peers of slots that the tree owns."""

    def _first_dead(self, request: Request) -> int:
        return -(-request.floor // self.page_size) * self.page_size


@FAULTS.add("divergence")
class FloorNotRounded(RowLayer):
    """A floor inside a page is where the eviction begins, not the page boundary after it."""

    def _first_dead(self, request: Request) -> int:
        return max(request.protected, request.floor)


@FAULTS.add("divergence")
class ProtectedInsideAPage(RowLayer):
    """What the tree owns may end inside a page, and the eviction goes on."""

    def _assert_whole_pages(self, protected: int) -> None:
        del protected


@FAULTS.add("divergence")
class RowlessRequestEvicted(RowLayer):
    """The cursor of a request without a row is moved."""

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
        """As if there were a row."""
        request.held = True
        super().evict_out_of_window(
            *(request, pre_len),
            window=window,
            sharing=sharing,
            retain_floor=retain_floor,
            interval=interval,
        )


@FAULTS.add("divergence")
class IntervalIgnored(RowLayer):
    """Every eviction is worth a call, however few slots left the window since the last."""

    def _is_worth_it(self, outside: int, evicted: int, interval: int) -> bool:  # noqa: ARG002
        return super()._is_worth_it(outside, evicted, 1)


@FAULTS.add("divergence")
class AliveFreedFirst(RowLayer):
    """The parts that have peers are freed before those that have none."""

    def _release(self, dead: list[Segment], alive: list[Segment]) -> None:
        super()._release([], alive)
        super()._release(dead, [])


@FAULTS.add("law", "divergence", "signal", stands_for=("unmapped-representative",))
class DeadFreedOnBothSides(RowLayer):
    """The parts whose peers are gone are freed on both sides, so padding is freed on the SWA side."""

    def _release(self, dead: list[Segment], alive: list[Segment]) -> None:
        super()._release([], dead)
        super()._release([], alive)


@FAULTS.add("law", "divergence")
class AliveFreedOnOneSide(RowLayer):
    """The parts below the dead lower bound count as dead, so their peers are lost."""

    def _parted(
        self,
        segments: Iterable[Segment],
        dead_from: int,  # noqa: ARG002
        dead_to: int,
    ) -> tuple[list[Segment], list[Segment]]:
        return super()._parted(segments, 0, dead_to)


@FAULTS.add("divergence")
class TouchingRangesApart(RowLayer):
    """Ranges that touch are freed one by one, so the page in which two of them meet is named twice."""

    def _merged(self, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        return list(ranges)


@FAULTS.add("law", "divergence")
class GapsFreedToo(RowLayer):
    """What lies between two ranges is freed with them."""

    def _merged(self, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        return [(ranges[0][0], ranges[-1][1])] if ranges else []


@FAULTS.add("divergence")
class CutInsideAPage(RowLayer):
    """A cut inside a page is found by the allocator only, when the part before it is already free."""

    def _assert_cut(self, evicted: int) -> None:
        del evicted


@FAULTS.add("divergence")
class EmptySegmentsForgotten(RowLayer):
    """An empty segment does not count as a part with peers."""

    def _parted(
        self, segments: Iterable[Segment], dead_from: int, dead_to: int
    ) -> tuple[list[Segment], list[Segment]]:
        filled = [segment for segment in segments if segment[0].numel()]
        return super()._parted(filled, dead_from, dead_to)
