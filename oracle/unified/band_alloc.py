"""Allocation from one band by itself: with ids of its own, or of bare physical pages (contract_unified §5)."""

from __future__ import annotations

from collections.abc import Sequence

from oracle.reference.raised import leave_undefined, require
from oracle.unified.band import Band
from oracle.unified.end_band import EndBand
from oracle.unified.relief import relieve_band
from oracle.unified.token_ids import slots_of_pages


def alloc(band: Band, slots: int) -> list[int] | None:
    """Virtual slots of whole pages; None when ids or pages are short after relief."""
    pages = whole_pages(band, slots)
    if not pages:
        return []
    ids = take_ids(band, pages)
    return None if ids is None else slots_of_pages(ids, band.grid.page_size)


def take_ids(band: Band, pages: int) -> list[int] | None:
    """The next ``pages`` ids, bound; None with the ids in their place when something is short."""
    if pages > band.available_pages() and not relieve_band(band, pages):
        return None
    if pages > len(band.free_ids):
        return None
    places = band.take(pages)
    if places is None:
        return None
    ids, band.free_ids = band.free_ids[:pages], band.free_ids[pages:]
    band.bind(ids, places)
    return ids


def alloc_physical(band: Band, slots: int) -> list[int] | None:
    """Physical slots that wait for a copy from the host, with no ids."""
    pages = whole_pages(band, slots)
    if not pages:
        return []
    if pages > band.available_pages() and not relieve_band(band, pages):
        return None
    places = band.take(pages)
    if places is None:
        return None
    band.pending_load += pages
    return slots_of_pages(places, band.grid.page_size)


def cancel_physical(band: Band, slots: Sequence[int]) -> None:
    """Give physical slots back, their pages in the order given; an id that names one of the pages loses it.

    Pages of which nobody knows that they are loading, since the load was said to be over, are the caller's hazard (§5).
    """
    size = band.grid.page_size
    places = list(dict.fromkeys(slot // size for slot in slots)) if size > 1 else list(slots)
    known = all(0 < place < band.grid.pages for place in places)
    lazy = not isinstance(band, EndBand) or band.lazy
    leave_undefined(unless=known and lazy, reason="a reservation that cannot be cancelled so")
    loading = len(places) <= band.pending_load
    leave_undefined(
        unless=loading, reason="a reservation that is cancelled after its load was over"
    )
    band.pending_load -= len(places)
    for place in places:
        owner = band.p2v[place]
        if owner >= 0:
            band.v2p[owner] = -1
        band.p2v[place] = -1
    if places:
        band.release(places)


def whole_pages(band: Band, slots: int) -> int:
    """How many pages ``slots`` are; nothing for none. Raises the contract's assertion for a part of a page."""
    if slots <= 0:
        return 0
    size = band.grid.page_size
    require(slots % size == 0, f"{slots} slots are no whole pages of {size}")
    return slots // size
