"""Properties that a unified allocator has after every legal history (contract_unified §15, P1 to P8, P16), stated on its snapshot."""

from __future__ import annotations

from oracle.geometry import Geometry
from oracle.unified_observation import BandState, UnifiedSnapshot


def broken_properties(geometry: Geometry, snapshot: UnifiedSnapshot) -> list[str]:
    """What does not hold, by number; empty for a sound state."""
    found = [f"verifier: {line}" for line in snapshot.byte_accounting if not _is_loading(snapshot)]
    found += _spans(geometry, snapshot)
    for name, band in snapshot.bands.items():
        found += [f"{name} {line}" for line in _tables(geometry, name, band)]
    swa, full = snapshot.bands.get("swa"), snapshot.bands["full"]
    if swa is not None:
        found += [
            f"P6 {page}" for page, place in enumerate(swa.v2p) if place > 0 and full.v2p[page] <= 0
        ]
    return found


def _is_loading(snapshot: UnifiedSnapshot) -> bool:
    # The verifier counts bound pages of a floating band, and a reservation has no id yet.
    return any(band.pending_load for band in snapshot.bands.values())


def span_of(geometry: Geometry, name: str, band: BandState) -> range:
    """The pages of a band's span."""
    grid = geometry.grids()[name]  # type: ignore[index]
    if band.watermark is None:
        assert band.start is not None
        assert band.stop is not None
        return range(band.start, band.stop)
    up = (name == "full") == (geometry.bytes_shared.full_direction == "up")
    return range(grid.first, band.watermark) if up else range(band.watermark + 1, grid.pages)


def _spans(geometry: Geometry, snapshot: UnifiedSnapshot) -> list[str]:
    found, total = [], geometry.bytes_shared.total_bytes
    order = list(snapshot.bands)
    if geometry.bytes_shared.full_direction == "down":
        order.reverse()
    last = 0
    for name in order:
        grid = geometry.grids()[name]  # type: ignore[index]
        span = span_of(geometry, name, snapshot.bands[name])
        if not span:
            continue
        low, high = span.start * grid.page_bytes, span.stop * grid.page_bytes
        if low < max(last, grid.first * grid.page_bytes) or high > total:
            found.append(f"P1 {name} spans bytes {low} to {high}, the one before ends at {last}")
        last = high
    return found


def _tables(geometry: Geometry, name: str, band: BandState) -> list[str]:
    found = []
    grid = geometry.grids()[name]  # type: ignore[index]
    span = span_of(geometry, name, band)
    if (band.v2p[0], band.p2v[0], band.v2p[-1], band.p2v[-1]) != (0, 0, -1, -1):
        found.append("P7")
    bound = {page: place for page, place in enumerate(band.v2p) if page and place >= 0}
    if len(set(bound.values())) != len(bound):
        found.append("P3")
    if any(place not in span or band.p2v[place] != page for page, place in bound.items()):
        found.append("P2")
    owners = {place: page for place, page in enumerate(band.p2v) if place and page >= 0}
    if any(band.v2p[page] != place for place, page in owners.items()):
        found.append("P2 inverse")
    pending = [page for pages in band.pending for page in pages]
    away = [*band.holes, *pending]
    if len(set(away)) != len(away) or any(page not in span or page in owners for page in away):
        found.append(f"P4 {band.holes} {pending}")
    if len(span) != band.live + len(away) or band.live < len(owners):
        found.append(f"P8 {len(span)} != {band.live} + {len(away)}")
    if band.free_ids is not None:
        ids = sorted([*band.free_ids, *bound])
        if ids != list(range(grid.first, grid.pages)):
            found.append("P5")
    size = grid.page_size
    slots = [*range(-3, len(band.v2p) * size + 3)]
    places = [
        band.v2p[s // size] * size + s % size if 0 <= s < len(band.v2p) * size else 0 for s in slots
    ]
    if any(place >= grid.pages * size for place in places):
        found.append("P16")
    return found
