"""How a floating band moves its pages: aside, or together (contract_unified §6).

Guarantees that pages keep their order in a pack, and that nothing changes when there is no place for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oracle.call import Side
    from targets.eager.unified.floating_band import FloatingBand


def make_room(band: FloatingBand, side: Side, min_bytes: int) -> None:
    """Open ``min_bytes`` on ``side``: by a few pages that leap over the others, or by all of them moving to the far edge."""
    size, opened = band.page_bytes, band.open_bytes(side)
    low, high = band.region
    if band.moves_blocked or opened >= min_bytes or band.transparent:
        return
    if (high - low - band.live) * size < min_bytes:
        return
    need = -(-(min_bytes - opened) // size)
    if need >= band.live:
        _pack(band, low if side == "high" else high - band.live)
    else:
        _leap(band, side, need)


def pack_away_from(band: FloatingBand, side: Side) -> None:
    """Close the holes; the frontier on ``side`` retreats."""
    _pack(band, band.start if side == "high" else band.stop - band.live)


def _live_pages(band: FloatingBand) -> list[int]:
    holes = set(band.holes.tolist())
    return [page for page in range(band.start, band.stop) if page not in holes]


def _pack(band: FloatingBand, start: int) -> None:
    pages = _live_pages(band)
    pairs = [(page, start + k) for k, page in enumerate(pages) if page != start + k]
    sources = [source for source, _ in pairs]
    band.assert_bound(sources)
    band.move_pages(sources, [place for _, place in pairs])
    band.start, band.stop = start, start + len(pages)
    band.holes = band.no_pages()


def _leap(band: FloatingBand, side: Side, need: int) -> None:
    pages = _live_pages(band)
    low, high = band.region
    holes = sorted(band.holes.tolist())
    if side == "high":
        sources = pages[-need:][::-1]
        inner = [hole for hole in holes if hole < sources[-1]]
        fresh = list(range(band.start - 1, low - 1, -1))
    else:
        sources = pages[:need]
        inner = [hole for hole in reversed(holes) if hole > sources[-1]]
        fresh = list(range(band.stop, high))
    places = (inner + fresh)[:need]
    if len(places) < need:
        return
    band.assert_bound(sources)
    band.move_pages(sources, places)
    live = sorted({*pages, *places}.difference(sources))
    band.start, band.stop = live[0], live[-1] + 1
    taken = set(live)
    band.holes = band.page_list([p for p in range(band.start, band.stop) if p not in taken])
    band.dirty = True
    band.absorb()
