"""What is bound, and what the caller holds: the same, but for what waits in an open group and for prepared states."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from oracle.byte_buffer import BandName
from oracle.laws.unified_bands import bands_of
from oracle.laws.unified_names import BOUND_AGREES_WITH_BOOKS
from oracle.laws.unified_prepared import prepared_of
from oracle.laws.violation import CAPACITY_WITHIN_SIZE, EVERYTHING_RETURNED, Violation
from oracle.ownership import Ownership
from oracle.unified_observation import UnifiedSnapshot


class HeldPages:
    """The virtual pages of each band that the caller holds, and those that it gave back in the group that is open.

    Where a page waits is not known here: a free that some allocator defers may be done at once by another, so until the
    group ends such a page may be bound or not.
    """

    def __init__(self) -> None:
        self.held: dict[BandName, set[int]] = {"full": set(), "swa": set(), "state": set()}
        self.deferred: dict[BandName, set[int]] = {"full": set(), "swa": set(), "state": set()}

    def follow(self, books: Ownership) -> None:
        """Take in what the last operation changed in the books."""
        size = books.page_size
        now: dict[BandName, set[int]] = {
            "full": set(books.holders),
            "swa": {slot // size for slot in books.peered},
            "state": set(books.states),
        }
        for name, pages in now.items():
            if not books.group_open or name == "state":
                self.deferred[name].clear()
            else:
                self.deferred[name] |= self.held[name] - pages
                self.deferred[name] -= pages
        self.held = now

    def judge_bound(self, after: UnifiedSnapshot) -> Violation | None:
        """Each band binds the pages that the caller holds and no others, but those that wait in the open group and the prepared
        states, which nobody holds yet."""
        for name, band in bands_of(after):
            bound = {page for page, place in enumerate(band.v2p) if page and place > 0}
            missing = self.held[name] - bound
            if missing:
                page = min(missing)
                place = band.v2p[page] if 0 <= page < len(band.v2p) else "no entry"
                return _disagrees(
                    name, f"page {page}, which the caller holds, is bound", str(place)
                )
            stray = bound - self.held[name] - self.deferred[name]
            if name == "state":
                stray -= set(prepared_of(after))
            if stray:
                page = min(stray)
                expected = f"page {page}, which nobody holds, is unbound"
                return _disagrees(name, expected, f"it is bound to page {band.v2p[page]}")
        return None


def reserved_pages(books: Ownership) -> set[int]:
    """The physical SWA pages of reservations that are not bound."""
    return {slot // books.page_size for slots in books.reservations for slot in slots}


def judge_capacity(after: UnifiedSnapshot) -> Violation | None:
    """What a side has handed out and what its cap leaves make up the cap, in a group too (P9), and so for the states, prepared
    ones among those that are out; no size is negative."""
    queries = after.queries
    states, free = queries.get("state_size"), queries.get("state_available_size")
    if states is not None and free is not None:
        out = after.bands["state"].live
        if free != states - out:
            expected = f"state_available_size {states - out}: {out} of {states} are out"
            return Violation(CAPACITY_WITHIN_SIZE, "state", expected, str(free))
    for name, band in bands_of(after):
        cap, left = queries.get(f"size_{name}"), queries.get(f"conserve_{name}_available_size")
        if cap is not None and left is not None and left != cap - band.allocated:
            expected = f"conserve_{name}_available_size {cap - band.allocated}: {band.allocated} of {cap} are out"
            return Violation(CAPACITY_WITHIN_SIZE, name, expected, str(left))
        for size, slots in (("available", band.available), ("schedulable", band.schedulable)):
            if slots < 0:
                return Violation(CAPACITY_WITHIN_SIZE, name, f"{size} 0 or more", str(slots))
    return None


def judge_everything_returned(after: UnifiedSnapshot, books: Ownership) -> Violation | None:
    """With no live request, reservation and group nothing is bound or live; without held states, no state is but prepared ones."""
    if books.group_open:
        return None
    idle: list[BandName] = []
    if not books.requests and not books.reservations:
        idle += ["full", "swa"]
    if not books.states:
        idle.append("state")
    for name in idle:
        band = after.bands.get(name)
        if band is None:
            continue
        prepared = prepared_of(after) if name == "state" else []
        bound = _first_bound(band.v2p, prepared)
        if bound is not None:
            return _unreturned(name, "nothing is bound", f"virtual page {bound} is")
        if band.live != len(prepared):
            return _unreturned(name, f"live {len(prepared)}", f"live {band.live}")
        if band.pending_load and not books.loading:
            return _unreturned(name, "no page waits for a load", f"{band.pending_load} do")
    return None


def _first_bound(v2p: Iterable[int], prepared: Collection[int]) -> int | None:
    bound = (page for page, place in enumerate(v2p) if page and place > 0)
    return next((page for page in bound if page not in prepared), None)


def _disagrees(name: BandName, expected: str, got: str) -> Violation:
    return Violation(BOUND_AGREES_WITH_BOOKS, name, f"{name.upper()}: virtual {expected}", got)


def _unreturned(name: BandName, expected: str, got: str) -> Violation:
    text = f"{name.upper()}: {expected} when the caller holds nothing"
    return Violation(EVERYTHING_RETURNED, name, text, got)
