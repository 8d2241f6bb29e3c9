"""The page tables of a band and its ids: inverse to each other, no page shared, no id lost (P2, P3, P5, P6, P7)."""

from __future__ import annotations

from oracle.byte_buffer import BandName, Grid
from oracle.laws.unified_names import (
    ID_PARTITION,
    PHYSICAL_PAGE_SHARED,
    SENTINELS,
    SWA_BOUND_FULL_UNBOUND,
    TABLE_INVERSE,
)
from oracle.laws.violation import Violation
from oracle.laws.wording import near
from oracle.unified_observation import BandState, UnifiedSnapshot

UNBOUND = -1


def judge_sentinels(name: BandName, band: BandState, grid: Grid) -> Violation | None:
    """Both tables have an entry a page and one more, lead from padding to padding, and their last entries nowhere (P7)."""
    tables = (("v2p", band.v2p, grid.ids), ("p2v", band.p2v, grid.pages))
    for table, values, pages in tables:
        if len(values) != pages + 1:
            return Violation(SENTINELS, name, f"{table} has {pages + 1} entries", str(len(values)))
        for at, value in ((0, 0), (pages, UNBOUND)):
            if values[at] != value:
                return Violation(SENTINELS, name, f"{table}[{at}] is {value}", near(values, at))
    return None


def judge_bound_on_both(after: UnifiedSnapshot) -> Violation | None:
    """A virtual page that is bound on SWA is bound on FULL (P6)."""
    swa, full = after.bands.get("swa"), after.bands["full"]
    if swa is None:
        return None
    for page, place in enumerate(swa.v2p):
        if page and place > 0 and full.v2p[page] <= 0:
            return Violation(
                law=SWA_BOUND_FULL_UNBOUND,
                pool="swa",
                expected=f"virtual page {page}, which FULL does not bind, is unbound on SWA too",
                got=f"SWA binds it to page {place}",
            )
    return None


def judge_ids(name: BandName, band: BandState, grid: Grid) -> Violation | None:
    """Every id is free or bound, and once (P5). A band that has no ids of its own has nothing to judge."""
    ids = band.free_ids
    if ids is None:
        return None
    seen: set[int] = set()
    for at, page in enumerate(ids):
        if not grid.first <= page < grid.pages:
            return _ids(name, f"free ids are {grid.first} to {grid.pages - 1}", near(ids, at))
        if page in seen:
            return _ids(name, f"id {page} is free once", near(ids, at))
        if band.v2p[page] != UNBOUND:
            got = f"it is free and bound to page {band.v2p[page]}: {near(ids, at)}"
            return _ids(name, f"id {page} is free or bound", got)
        seen.add(page)
    for page in range(grid.first, grid.pages):
        if band.v2p[page] == UNBOUND and page not in seen:
            return _ids(name, f"id {page} is free or bound", "it is neither: it is lost")
    return None


def judge_shared(name: BandName, band: BandState) -> Violation | None:
    """No two virtual pages are bound to one physical page (P3)."""
    owner: dict[int, int] = {}
    for page, place in enumerate(band.v2p[:-1]):
        if place <= 0:
            continue
        if place in owner:
            return Violation(
                law=PHYSICAL_PAGE_SHARED,
                pool=name,
                expected=f"{name.upper()} page {place} has one virtual page",
                got=f"virtual pages {owner[place]} and {page} are both bound to it",
            )
        owner[place] = page
    return None


def judge_inverse(name: BandName, band: BandState, span: range) -> Violation | None:
    """A bound page lies in the span, and each table is the inverse of the other (P2)."""
    for page, place in enumerate(band.v2p[:-1]):
        if not page or place == UNBOUND:
            continue
        if place not in span:
            expected = (
                f"virtual page {page} is bound inside the span, {span.start} to {span.stop - 1}"
            )
            return _inverse(name, expected, near(band.v2p, page))
        if band.p2v[place] != page:
            got = f"p2v leads from {place} to {near(band.p2v, place)}"
            return _inverse(name, f"v2p leads from {page} to {place}, and p2v back", got)
    for place, page in enumerate(band.p2v[:-1]):
        if not place or page == UNBOUND:
            continue
        known = 0 < page < len(band.v2p) - 1
        if not known or band.v2p[page] != place:
            got = f"v2p leads from {page} to {near(band.v2p, page)}" if known else "no virtual page"
            return _inverse(name, f"p2v leads from {place} to {page}, and v2p back", got)
    return None


def _ids(name: BandName, expected: str, got: str) -> Violation:
    return Violation(law=ID_PARTITION, pool=name, expected=f"{name.upper()}: {expected}", got=got)


def _inverse(name: BandName, expected: str, got: str) -> Violation:
    return Violation(law=TABLE_INVERSE, pool=name, expected=f"{name.upper()}: {expected}", got=got)
