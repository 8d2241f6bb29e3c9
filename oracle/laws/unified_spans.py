"""The spans of the bands in the buffer: in order, within it, and every page of each accounted for (P1, P4, P8)."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain

from oracle.byte_buffer import BandName, Grid
from oracle.geometry import Geometry
from oracle.laws.unified_names import LIVE_COUNT, SPAN_PARTITION, SPANS_ORDERED
from oracle.laws.violation import Violation
from oracle.laws.wording import near
from oracle.unified_observation import BandState, UnifiedSnapshot


class Spans:
    """Where the bands of one geometry lie. Knows the sizes only, no state."""

    def __init__(self, geometry: Geometry) -> None:
        self.grids = geometry.grids()
        self.full_grows_up = geometry.bytes_shared.full_direction == "up"
        self.total_bytes = geometry.bytes_shared.total_bytes
        names: list[BandName] = list(self.grids)
        self.low_to_high = names if self.full_grows_up else names[::-1]

    def span_of(self, name: BandName, band: BandState) -> range:
        """The physical pages of the span, ascending; empty where the band shows no span at all."""
        grid = self.grids[name]
        if band.watermark is None:
            return range(band.start or 0, band.stop or 0)
        if self._grows_up(name):
            return range(grid.first, band.watermark)
        return range(band.watermark + 1, grid.pages)

    def judge_order(self, after: UnifiedSnapshot) -> Violation | None:
        """Spans lie within the buffer, above the reserved pages, and one after the other in bytes (P1)."""
        end = 0
        below = "the reserved pages"
        for name in self.low_to_high:
            band, grid = after.bands[name], self.grids[name]
            found = self._judge_edges(name, band, grid)
            if found is not None:
                return found
            span = self.span_of(name, band)
            if not span:
                continue
            if span.start * grid.page_bytes < end:
                return Violation(
                    law=SPANS_ORDERED,
                    pool=name,
                    expected=f"the {name.upper()} span begins at byte {end} or above, where {below} ends",
                    got=f"it begins at byte {span.start * grid.page_bytes}",
                )
            end, below = span.stop * grid.page_bytes, f"the {name.upper()} span"
        return None

    def _grows_up(self, name: BandName) -> bool:
        return (name == "full") == self.full_grows_up

    def _judge_edges(self, name: BandName, band: BandState, grid: Grid) -> Violation | None:
        first, pages = grid.first, grid.pages
        if band.watermark is not None:
            low, high = (first, pages) if self._grows_up(name) else (first - 1, pages - 1)
            if low <= band.watermark <= high:
                return None
            expected, got = f"a watermark from {low} to {high}", str(band.watermark)
        else:
            start, stop = band.start, band.stop
            if start is not None and stop is not None and first <= start <= stop <= pages:
                return None
            expected, got = f"a span within pages {first} to {pages}", f"{start} to {stop}"
        return Violation(law=SPANS_ORDERED, pool=name, expected=expected, got=got)


def judge_partition(
    name: BandName, band: BandState, span: range, reserved: Collection[int]
) -> Violation | None:
    """Each page of the span is bound, a hole, pending or ``reserved``, and just one of them, and no hole is anywhere
    else (P4). ``reserved``: pages of the caller's reservations that are not bound.
    """
    pending = list(chain.from_iterable(band.pending))
    away = [*band.holes, *pending]
    for at, page in enumerate(away):
        if page not in span:
            what = f"pages of the span, {span.start} to {span.stop - 1}" if span else "no pages"
            return _unpartitioned(name, f"holes and pending pages are {what}", near(away, at))
    if len(set(away)) < len(away):
        at = next(at for at, page in enumerate(away) if page in away[:at])
        return _unpartitioned(name, f"page {away[at]} is a hole or pending once", near(away, at))
    gone = set(away)
    for page in span:
        owner = band.p2v[page]
        ways = (owner >= 0) + (page in gone) + (page in reserved)
        if ways != 1:
            facts = [f"bound to virtual page {owner}"] if owner >= 0 else []
            facts += ["a hole or pending"] if page in gone else []
            facts += ["reserved for a load"] if page in reserved else []
            return _unpartitioned(
                name,
                f"page {page} of the span is one of: bound, hole, pending, reserved",
                f"it is {' and '.join(facts) or 'nowhere'}",
            )
    return None


def judge_live(name: BandName, band: BandState, span: range, grid: Grid) -> Violation | None:
    """The live count is what the span holds beside holes and pending pages, and never negative (P8)."""
    pending = sum(map(len, band.pending))
    live = len(span) - len(band.holes) - pending
    if band.live != live or live < 0:
        text = f"{len(span)} pages of the span, {len(band.holes)} holes, {pending} pending"
        return Violation(LIVE_COUNT, name, f"live {live}: {text}", f"live {band.live}")
    slots = band.live * grid.page_size
    if band.allocated != slots:
        return Violation(LIVE_COUNT, name, f"allocated {slots} slots", f"{band.allocated}")
    return None


def _unpartitioned(name: BandName, expected: str, got: str) -> Violation:
    return Violation(law=SPAN_PARTITION, pool=name, expected=f"{name.upper()}: {expected}", got=got)
