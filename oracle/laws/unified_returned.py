"""What an allocation of a unified allocator hands out: virtual slots of free ids, states, and physical pages for a load."""

from __future__ import annotations

from collections.abc import Collection

from oracle.call import Call
from oracle.laws import returned_laws
from oracle.laws.call_laws import ALLOCATIONS
from oracle.laws.census import Census
from oracle.laws.violation import RETURNED_SLOTS, PoolName, Violation
from oracle.laws.wording import near
from oracle.observation import PoolState
from oracle.ownership import Ownership
from oracle.unified_observation import BandState, UnifiedSnapshot


def judge_handed_out(
    call: Call,
    value: tuple[int, ...],
    before: UnifiedSnapshot,
    after: UnifiedSnapshot,
    books: Ownership,
) -> Violation | None:
    """As many as were asked for, distinct, no padding, nobody else's, and whole pages or what a row's page goes on with."""
    size = books.page_size
    if call.method in ALLOCATIONS and call.pool == "composite":
        return returned_laws.judge_returned(call, value, _ids_of(before.bands["full"]), books)
    if call.method == "alloc" and call.pool == "state":
        free = {*(before.bands["state"].free_ids or ())}
        if call.need == 1:
            free.update(before.prepared or ())
        return judge_pages("state", value, call.need, 1, free - set(books.states))
    if call.method == "alloc_physical" and call.pool == "swa":
        reserved = {slot // size for slots in books.reservations for slot in slots}
        count = -(-call.need // size) * size
        return judge_pages("swa", value, count, size, _unbound(after.bands["swa"]) - reserved)
    return None


def _ids_of(band: BandState) -> Census:
    """The ids of a band as a pool of pages: which are free, and how many there are. Reserved ones are never free."""
    ids = band.free_ids or []
    pool = PoolState(
        size=0, available=0, free=ids, staged=[], staged_count=0, group=None, page_pile=[]
    )
    return Census("full", pool, ids, set(ids), len(band.v2p) - 2)


def _unbound(band: BandState) -> set[int]:
    """The pages of a band that no virtual page is on; page 0 is padding."""
    return {page for page, owner in enumerate(band.p2v[:-1]) if page and owner < 0}


def judge_pages(
    pool: PoolName, value: tuple[int, ...], count: int, size: int, allowed: Collection[int]
) -> Violation | None:
    """``count`` slots on whole, distinct pages of ``size`` that are ``allowed``."""
    if len(value) != count:
        return _returned(pool, f"{count} slots", f"{len(value)} slots")
    seen: set[int] = set()
    for at in range(0, count, size):
        page = value[at] // size
        if value[at : at + size] != tuple(range(page * size, (page + 1) * size)):
            return _returned(pool, f"whole pages of {size} slots", near(value, at))
        if page not in allowed:
            return _returned(pool, f"only free pages, and page {page} was not", near(value, at))
        if page in seen:
            return _returned(pool, f"page {page} once", near(value, at))
        seen.add(page)
    return None


def _returned(pool: PoolName, expected: str, got: str) -> Violation:
    return Violation(law=RETURNED_SLOTS, pool=pool, expected=expected, got=got)
