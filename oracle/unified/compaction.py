"""How an end band packs its pages towards its own end: lazily in a flush, eagerly in a free (contract_unified §5).

Guarantees that every live page keeps its KV and its virtual page. A lazy flush in the background never gives bytes back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.reference.raised import leave_undefined, require

if TYPE_CHECKING:
    from oracle.unified.end_band import EndBand

MOST_MOVES = 4096
"""The most moves of one flush that is not urgent."""


def flush(band: EndBand, *, urgent: bool) -> int:
    """Flush a lazy band; returns the number of moves."""
    if band.moves_blocked():
        _drain_pending(band, everything=False)
        return 0
    _drain_pending(band, everything=urgent)
    span = band.span()
    # Of damaged bands §11 knows the one of a double ratchet, whose hole is page -1.
    known = all(hole in span or hole == -1 for hole in band.holes)
    sound = known and len(set(band.holes)) == len(band.holes)
    leave_undefined(unless=sound, reason="a flush of holes that are no pages of the span")
    # §5 absorbs at the watermark from the sorted holes: where the band grows down, -1 comes before the hole that touches it,
    # and §11, which speaks of a band that grows up, does not say whether it is passed over.
    reached = band.grows_up or -1 not in band.holes or band.watermark + 1 not in band.holes
    leave_undefined(unless=reached, reason="a flush that meets -1 before the hole at the watermark")
    band.holes = sorted(band.holes)
    _absorb(band)
    moves = _moves(band, urgent=urgent)
    for source, _ in moves:
        require(band.p2v[source] >= 0, f"{band.name}: page {source} moves and has no owner")
    for source, destination in moves:
        band.relocate(source, destination)
    if urgent:
        if band.holes:
            # The forward pass in flight was waited for, so it writes nothing any more (§5, step 6).
            band.in_flight = None
        _retreat(band, len(band.holes))
        band.holes = []
    else:
        _keep_sources(band, [source for source, _ in moves])
    return len(moves)


def _drain_pending(band: EndBand, *, everything: bool) -> None:
    done = [event for event in band.pending if everything or event.fired]
    for event in done:
        band.holes = band.holes + band.pending.pop(event)


def _absorb(band: EndBand) -> None:
    """The watermark retreats over every hole that touches it."""
    step = -1 if band.grows_up else 1
    frontier = band.watermark - 1 if band.grows_up else band.watermark + 1
    while frontier in band.holes:
        band.holes = [hole for hole in band.holes if hole != frontier]
        frontier += step
        band.watermark += step


def _retreat(band: EndBand, count: int) -> None:
    enough = count <= band.span_pages()
    leave_undefined(unless=enough, reason="a watermark that retreats beyond the band's own end")
    band.watermark += -count if band.grows_up else count


def _moves(band: EndBand, *, urgent: bool) -> list[tuple[int, int]]:
    """The pairs of source and destination: from the watermark inwards, from the own end outwards, until they cross."""
    protected = frozenset() if urgent else _about_to_be_written(band)
    away = {page for pages in band.pending.values() for page in pages} | set(band.holes)
    span = band.span()
    inward = [page for page in (reversed(span) if band.grows_up else span) if page not in away]
    outward = band.holes if band.grows_up else band.holes[::-1]
    moves: list[tuple[int, int]] = []
    for source, destination in zip(inward, outward, strict=False):
        crossed = source < destination if band.grows_up else source > destination
        if crossed or source in protected or (len(moves) == MOST_MOVES and not urgent):
            break
        moves.append((source, destination))
    return moves


def _about_to_be_written(band: EndBand) -> frozenset[int]:
    """The pages that the forward pass in flight writes; one whose event has fired is forgotten."""
    if band.in_flight is not None and band.in_flight.event.fired:
        band.in_flight = None
    if band.in_flight is None:
        return frozenset()
    slots = band.translate(band.in_flight.slots)
    return frozenset(slot // band.grid.page_size for slot in slots)


def _keep_sources(band: EndBand, sources: list[int]) -> None:
    """After a flush in the background: used holes are gone, vacated pages are holes, now or when the forward pass is over."""
    used = len(sources)
    if used:
        band.holes = band.holes[used:] if band.grows_up else band.holes[:-used]
    event = band.forward_done
    if event is None or event.fired:
        band.holes = band.holes + sources
    elif sources:
        band.pending[event] = band.pending.get(event, []) + sources


def close_holes(band: EndBand, freed: list[int]) -> None:
    """Eager compaction: the span gives up as many pages as were freed, their survivors fill the holes, both ascending."""
    before = band.span()
    gone = set(freed)
    _retreat(band, len(freed))
    kept = band.span()
    survivors = [page for page in before if page not in kept and page not in gone]
    places = sorted(page for page in gone if page in kept)
    for source, destination in zip(survivors, places, strict=True):
        band.relocate(source, destination)
    for page in before:
        if page not in kept:
            band.p2v[page] = -1
