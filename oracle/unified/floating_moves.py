"""How the floating band gets out of the way of a neighbour (contract_unified §6).

Guarantees that every live page keeps its KV and its virtual page, and that no page is overwritten before it was read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.reference.raised import leave_undefined

if TYPE_CHECKING:
    from oracle.unified.floating_band import FloatingBand, Side


def make_room(band: FloatingBand, side: Side, target_bytes: int) -> None:
    """Open ``target_bytes`` on ``side``, or leave everything as it is. The band is not empty and may move."""
    low, high = band.region()
    page_bytes = band.grid.page_bytes
    open_bytes = band.open_bytes(side)
    live = band.live
    if open_bytes >= target_bytes or (high - low - live) * page_bytes < target_bytes:
        return
    need = -(-(target_bytes - open_bytes) // page_bytes)
    if need >= live:
        pack(band, low if side == "high" else high - live)
    else:
        _move_nearest(band, side, need)


def pack(band: FloatingBand, low: int) -> None:
    """Close all holes, in order, with the first live page at ``low``."""
    pages = _live_pages(band)
    moves = list(zip(pages, range(low, low + len(pages)), strict=True))
    moves = [(source, destination) for source, destination in moves if source != destination]
    _require_owners(band, moves)
    # What moves down goes in ascending order, what moves up in descending order: nothing is overwritten unread.
    for source, destination in moves:
        if destination < source:
            band.relocate(source, destination)
    for source, destination in reversed(moves):
        if destination > source:
            band.relocate(source, destination)
    band.start, band.stop = low, low + len(pages)
    band.holes = []


def _move_nearest(band: FloatingBand, side: Side, need: int) -> None:
    """The live pages nearest to ``side`` leave for the holes beyond them and for fresh pages at the far boundary."""
    pages = _live_pages(band)
    low, high = band.region()
    if side == "low":
        sources = pages[:need]
        beyond = sorted((hole for hole in band.holes if hole > sources[-1]), reverse=True)
        fresh = range(band.stop, high)
    else:
        sources = pages[::-1][:need]
        beyond = sorted(hole for hole in band.holes if hole < sources[-1])
        fresh = range(band.start - 1, low - 1, -1)
    destinations = [*beyond, *fresh][:need]
    if len(destinations) < need:
        return
    moves = list(zip(sources, destinations, strict=True))
    _require_owners(band, moves)
    for source, destination in moves:
        band.relocate(source, destination)
    left = sorted(set(pages) - set(sources) | set(destinations))
    band.start, band.stop = left[0], left[-1] + 1
    band.holes = sorted(set(range(band.start, band.stop)) - set(left))
    band.dirty = True
    band.absorb()


def _live_pages(band: FloatingBand) -> list[int]:
    holes = set(band.holes)
    return [page for page in range(band.start, band.stop) if page not in holes]


def _require_owners(band: FloatingBand, moves: list[tuple[int, int]]) -> None:
    """What a reservation that nothing protects becomes when it moves is said of an end band only (§5, hazard)."""
    owned = all(band.p2v[source] >= 0 for source, _ in moves)
    leave_undefined(unless=owned, reason="a reservation that moves with the floating band")
