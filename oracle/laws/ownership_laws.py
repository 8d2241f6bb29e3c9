"""Pages: the padding page is nobody's, every other page has one owner, and none is lost
(contract_paged_swa §15.1, .2, .8).

Piles have no format here: a page that was given back in the open group may be anywhere or nowhere
until the group ends, but it is never twice in the free lists. A pile is only looked at for the
padding page, which is 0 in every format.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from oracle.laws.census import Census
from oracle.laws.violation import (
    CAPACITY_WITHIN_SIZE,
    CONSERVATION,
    EVERYTHING_RETURNED,
    ONE_OWNER,
    PADDING_PAGE,
    PoolName,
    Violation,
)
from oracle.laws.wording import holder_of, near
from oracle.observation import Snapshot
from oracle.ownership import Ownership


def judge_padding(after: Snapshot, censuses: list[Census]) -> Violation | None:
    """A padding page is in no free list and not staged, and 0 is in no pile but that of gathered
    slots, where it means unmapped.
    """
    for census in censuses:
        padding = census.pages.intersection(range(census.first))
        if padding:
            where = near(census.listed, census.listed.index(min(padding)))
            return _padding(census.pool, f"the {census.name} pages that can be handed out", where)
    for pool, entries in _piles(after):
        for entry in entries:
            if 0 in entry:
                return _padding(pool, "a pile", near(entry, entry.index(0)))
    return None


def judge_one_owner(census: Census, held: Collection[int], books: Ownership) -> Violation | None:
    """No page is twice among the free and staged ones, and none of them is ``held``."""
    if len(census.pages) < len(census.listed):
        at = next(at for at, page in enumerate(census.listed) if page in census.listed[:at])
        page = census.listed[at]
        return Violation(
            law=ONE_OWNER,
            pool=census.pool,
            expected=f"{census.name} page {page} is free or staged once",
            got=f"it is there again: {near(census.listed, at)}",
        )
    if census.pages.isdisjoint(held):
        return None
    page = min(census.pages.intersection(held))
    owner = "the peers of a live row are on"
    if census.pool == "full":
        owner = holder_of(books, page)
    elif census.pool == "device":
        owner = "a live key or a buffer has"
    return Violation(
        law=ONE_OWNER,
        pool=census.pool,
        expected=f"{census.name} page {page}, which {owner}, is not free",
        got=f"it can be handed out: {near(census.listed, census.listed.index(page))}",
    )


def judge_conservation(
    census: Census, held: Collection[int], deferred: set[int]
) -> Violation | None:
    """Each page of the pool is free, staged, held, or was given back in the open group; and there
    are no other pages.

    Expects that ``judge_one_owner`` found nothing.
    """
    listed, total, first, last = census.listed, census.total, census.first, census.last
    if listed and (min(listed) < first or max(listed) > last):
        at = next(at for at, page in enumerate(listed) if not first <= page <= last)
        return _lost(census, f"{census.name} has pages {first} to {last}", near(listed, at))
    if len(listed) + len(held) >= total:
        return None
    lost = set(range(first, last + 1)) - census.pages - set(held) - deferred
    if not lost:
        return None
    page = min(lost)
    return _lost(
        census,
        f"{census.name} page {page} is free, staged, deferred or held",
        f"it is nowhere; {len(lost)} of {total} pages are lost",
    )


def judge_capacity(census: Census, page_size: int, size: int) -> Violation | None:
    """``available`` counts the free and staged pages and is within ``size``; the staged count
    counts what is staged.

    ``size`` is the pool's size in slots.
    """
    state = census.state
    staged = len(census.listed) - len(state.free)
    slots = len(census.listed) * page_size
    if state.size != size:
        return _capacity(census, f"size {size}", f"size {state.size}")
    if not 0 <= state.available <= size:
        return _capacity(census, f"0 <= available <= {size}", f"available {state.available}")
    if state.available != slots:
        expected = f"available {slots}: {len(state.free)} free and {staged} staged pages"
        return _capacity(census, expected, f"available {state.available}")
    if state.staged_count != staged:
        return _capacity(census, f"staged count {staged}", f"staged count {state.staged_count}")
    return None


def judge_everything_returned(
    after: Snapshot, censuses: list[Census], page_size: int
) -> Violation | None:
    """With no live request and no open group both pools are whole, the size queries say so, and
    nothing is mapped.
    """
    whole: dict[str, int] = {}
    for census in censuses:
        whole[f"{census.pool}_available_size"] = census.total * page_size
        if len(census.listed) != census.total:
            return _unreturned(
                census.pool,
                f"all {census.total} {census.name} pages are free when no request is live",
                f"{len(census.listed)} are: {near(census.listed, 0)}",
            )
    whole["available_size"] = min(whole.values())
    for query, slots in whole.items():
        if after.queries.get(query, slots) != slots:
            return _unreturned("", f"{query} {slots}", f"{query} {after.queries[query]}")
    if after.mapping is not None and any(after.mapping[:-1]):
        at = next(at for at, value in enumerate(after.mapping) if value)
        return _unreturned(
            "swa", "nothing is mapped when no request is live", near(after.mapping, at)
        )
    return None


def _piles(after: Snapshot) -> Iterator[tuple[PoolName, list[list[int]]]]:
    yield "", after.group or []
    yield "full", after.full_only_pile
    yield "swa", after.swa_page_pile
    yield "full", after.full.group or []
    yield "full", after.full.page_pile
    if after.swa is not None:
        yield "swa", after.swa.group or []
        yield "swa", after.swa.page_pile


def _padding(pool: PoolName, where: str, got: str) -> Violation:
    expected = f"the padding page is not among {where}"
    return Violation(law=PADDING_PAGE, pool=pool, expected=expected, got=got)


def _lost(census: Census, expected: str, got: str) -> Violation:
    return Violation(law=CONSERVATION, pool=census.pool, expected=expected, got=got)


def _capacity(census: Census, expected: str, got: str) -> Violation:
    return Violation(law=CAPACITY_WITHIN_SIZE, pool=census.pool, expected=expected, got=got)


def _unreturned(pool: PoolName, expected: str, got: str) -> Violation:
    return Violation(law=EVERYTHING_RETURNED, pool=pool, expected=expected, got=got)
