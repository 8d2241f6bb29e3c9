"""How an end band moves pages: by a flush in lazy mode, with each free otherwise (contract_unified §5).

Guarantees that only live pages move, each at most once in a call, and that a page under an event waits for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from targets.eager.unified.end_band import EndBand

MAX_MOVES = 4096


def flush(band: EndBand, *, urgent: bool) -> int:
    """Compact ``band``; how many pages moved. Urgent: nothing is spared and the watermark retreats over all holes."""
    if not band.lazy:
        return 0
    blocked = band.moves_blocked
    _drain(band, every=urgent and not blocked)
    if blocked:
        return 0
    holes = _absorb(band, sorted(band.holes.tolist()))
    band.holes = band.page_list(holes)
    sources, destinations = _pair(band, holes, urgent=urgent)
    band.assert_bound(sources)
    band.move_pages(sources, destinations)
    if urgent:
        if holes:
            # Before pages moved, the stream waited for the forward pass, which has written all that it was to write.
            band.in_flight = None
        band.watermark += -len(holes) if band.up else len(holes)
        band.holes = band.no_pages()
    elif sources:
        moved = len(sources)
        band.holes = band.page_list(holes[moved:] if band.up else holes[:-moved])
        _vacate(band, band.page_list(sources))
    return len(sources)


def _drain(band: EndBand, *, every: bool) -> None:
    """Holes again: pending pages whose event fired, or all of them (the stream waits)."""
    for event in list(band.pending):
        if every or event.fired:
            band.holes = torch.cat([band.holes, band.pending.pop(event)])


def _absorb(band: EndBand, holes: list[int]) -> list[int]:
    """Retreat the watermark over holes at the frontier; the others, ascending."""
    free = set(holes)
    while (frontier := band.watermark + (-1 if band.up else 1)) in free:
        free.discard(frontier)
        band.watermark = frontier
    return [hole for hole in holes if hole in free]


def _pair(band: EndBand, holes: list[int], *, urgent: bool) -> tuple[list[int], list[int]]:
    """Live pages from the frontier inward, and the holes from the own end outward that take them."""
    if not holes:
        return [], []
    skipped = set(holes).union(*(pages.tolist() for pages in band.pending.values()))
    written = set() if urgent else _written(band)
    if band.up:
        walk, places = range(band.watermark - 1, band.first - 1, -1), iter(holes)
    else:
        walk, places = range(band.watermark + 1, band.pages), reversed(holes)
    sources: list[int] = []
    destinations: list[int] = []
    for source in walk:
        if source in skipped:
            continue
        if source in written or (not urgent and len(sources) == MAX_MOVES):
            break
        destination = next(places, None)
        if destination is None or (source < destination) == band.up:
            break
        sources.append(source)
        destinations.append(destination)
    return sources, destinations


def _written(band: EndBand) -> set[int]:
    """The physical pages that the forward pass in flight writes (§5)."""
    if band.in_flight is None:
        return set()
    if band.in_flight.event.fired:
        band.in_flight = None
        return set()
    pages = band.representative_pages(band.in_flight.slots)
    return set(band.table.v2p[pages].tolist())


def _vacate(band: EndBand, sources: torch.Tensor) -> None:
    event = band.forward_done
    if event is None or event.fired:
        band.holes = torch.cat([band.holes, sources])
        return
    waiting = band.pending.get(event)
    band.pending[event] = sources if waiting is None else torch.cat([waiting, sources])


def release_compacting(band: EndBand, virtual: torch.Tensor) -> None:
    """Free distinct virtual pages of an eager band. Raises AssertionError for unbound ones or where moves are guarded."""
    physical = band.table.v2p[virtual]
    assert bool((physical >= 0).all()), f"{band.name} frees a page that is not bound"
    freed = sorted(physical.tolist())
    _assert_free_to_move(band, freed)
    band.table.unbind(virtual)
    band.return_ids(virtual)
    _compact(band, freed)


def release_places(band: EndBand, physical: torch.Tensor) -> None:
    """Free physical pages of an eager band. Raises AssertionError where moves are guarded."""
    freed = sorted(physical.tolist())
    _assert_free_to_move(band, freed)
    band.table.forget_physical(physical)
    _compact(band, freed)


def _assert_free_to_move(band: EndBand, freed: list[int]) -> None:
    assert band.gates == [None] * len(band.gates), f"{band.name} moves pages behind a gate"
    assert band.pending_load == 0, f"{band.name} moves pages during a load"
    low, high = (band.first, band.watermark) if band.up else (band.watermark + 1, band.pages)
    assert all(low <= page < high for page in freed), f"{band.name} frees pages beyond its span"


def _compact(band: EndBand, freed: list[int]) -> None:
    count = len(freed)
    if band.up:
        vacated = range(band.watermark - count, band.watermark)
        band.watermark -= count
    else:
        vacated = range(band.watermark + 1, band.watermark + 1 + count)
        band.watermark += count
    gone = set(freed)
    band.move_pages(
        [page for page in vacated if page not in gone],
        [page for page in freed if page not in vacated],
    )
    band.table.p2v[vacated.start : vacated.stop].fill_(-1)
