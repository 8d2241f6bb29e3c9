"""Traces written by hand for the mutants that a short exploration may miss: each needs a rare state, reached here on purpose."""

from __future__ import annotations

from oracle.geometry import Geometry, Level, Mode
from oracle.operations import (
    Alloc,
    Base,
    Clear,
    ClearMapping,
    Decode,
    Drain,
    EmptyFree,
    Evict,
    Extend,
    ExtendTail,
    Free,
    FreePages,
    FreeSegment,
    GroupBegin,
    GroupEnd,
    Part,
    RawFree,
    Recover,
    StaleFree,
)
from oracle.trace import Callers, Trace


def _token(*operations: Base, callers: Callers = "hostile") -> Trace:
    return Trace(
        geometry=Geometry(family="token", size=8),
        callers=callers,
        operations=(*operations, Drain()),  # type: ignore[arg-type]
    )


def _paged(
    *operations: Base,
    need_sort: bool = False,
    debug: bool = False,
    callers: Callers = "hostile",
) -> Trace:
    return Trace(
        geometry=Geometry(family="paged", size=32, page_size=4, need_sort=need_sort),
        mode=Mode(debug=debug),
        callers=callers,
        operations=(*operations, Drain()),  # type: ignore[arg-type]
    )


def _hybrid(
    *operations: Base,
    page_size: int = 4,
    size_swa: int = 32,
    level: Level = "off",
    debug: bool = False,
    callers: Callers = "hostile",
) -> Trace:
    return Trace(
        geometry=Geometry(family="hybrid-swa", size=32, size_swa=size_swa, page_size=page_size),
        mode=Mode(level=level, debug=debug),
        callers=callers,
        operations=(*operations, Drain()),  # type: ignore[arg-type]
    )


_RECOVERY_OF_FREED_PEERS = (
    Alloc(4),
    GroupBegin(),
    Free("free_swa", count=3),
    Recover(),
    GroupEnd(),
)

# The unaligned tail maps two FULL pages to one SWA page. Freed with the first of them, it is still the
# peer of the second, so the page-id pile brings it again and debug mode raises before the set pile.
_SET_PILE_IS_LEFT = (
    ExtendTail(amount=9, tail=6, aligned=False),
    Alloc(4),
    Free("free_swa", request=1, first=4),
    GroupBegin(),
    FreeSegment("free_swa_segment", request=1, page=2),
    Free("free_swa"),
    GroupEnd(),
)

WRITTEN: dict[str, Trace] = {
    "a group of two set-shaped SWA frees": _hybrid(
        Alloc(8),
        GroupBegin(),
        Free("free_swa"),
        Free("free_swa", first=4),
        GroupEnd(),
        callers="legal",
    ),
    "new peers in the group that freed the old ones": _hybrid(
        *_RECOVERY_OF_FREED_PEERS, callers="legal"
    ),
    "new peers for a row that was freed in the group": _hybrid(
        Alloc(4), GroupBegin(), Free(count=3), Recover(freed=True), GroupEnd()
    ),
    "a row that grows inside its page": _paged(
        Extend((Part(0, 2),)), Extend((Part(1, 2),)), callers="legal"
    ),
    "a group that is ended twice": _token(
        Alloc(2), GroupBegin(), Free(count=1), GroupEnd(), GroupEnd()
    ),
    "an empty segment that starts inside a page": _paged(EmptyFree("free_segment", start_pos=1)),
    "page ids overwritten in a group": _paged(
        Alloc(8), GroupBegin(), FreePages(pages=1, overwrite=True), GroupEnd(), callers="legal"
    ),
    "a row overwritten in a group": _hybrid(
        Alloc(8), GroupBegin(), Free(count=7, overwrite=True), GroupEnd(), callers="legal"
    ),
    "a staged page named twice": _paged(
        Alloc(8), RawFree("free_page_ids", (1, 1)), need_sort=True, debug=True
    ),
    "representatives that do not name the pages": _paged(
        Alloc(8), RawFree("free_segment", (4, 8)), debug=True
    ),
    "a decode when the SWA side is full": _hybrid(
        Alloc(4), Alloc(4), Decode(), size_swa=8, callers="legal"
    ),
    "a page named twice by id": _paged(Alloc(8), RawFree("free_page_ids", (1, 1))),
    "a page freed in two parts of one group": _paged(
        Alloc(4),
        GroupBegin(),
        Free(count=1),
        StaleFree("free"),
        GroupEnd(),
    ),
    "a begin after an end that raised": _hybrid(*_SET_PILE_IS_LEFT, GroupBegin(), debug=True),
    "a clear in a group": _hybrid(
        Alloc(8), GroupBegin(), Free("free_swa"), Clear(), callers="legal"
    ),
    "a group end whose SWA side raises": _hybrid(
        Alloc(8),
        Alloc(4),
        GroupBegin(),
        FreeSegment("free_swa_segment", request=1, pages=1),
        Free(request=0, count=3),
        StaleFree("free_swa_segment", age=1),
        GroupEnd(),
    ),
    "a FULL-only free of live peers at level strict": _hybrid(
        Alloc(4), Free("free_full", count=3), level="strict"
    ),
    "a begin inside a group": _hybrid(Alloc(8), GroupBegin(), Free("free_swa"), GroupBegin()),
    "a decode after an unaligned tail in debug mode": _hybrid(
        ExtendTail(amount=6, tail=5, aligned=False), Decode(), debug=True
    ),
    "a decode inside a tombstoned page": _hybrid(Alloc(6), Evict(pages=1), Decode()),
    "a tail on slots with entries left over": _hybrid(
        Alloc(8), Free("free_full", count=7), ExtendTail(amount=8, tail=4)
    ),
    "a need that is not whole pages": _paged(Alloc(0, "edge")),
    "a need that is not whole pages in debug mode": _paged(Alloc(0, "edge"), debug=True),
    "a repeated free at page size 1": _hybrid(
        Alloc(4), Free("free_swa", count=1), StaleFree("free_swa"), page_size=1
    ),
    "a live peer freed from the FULL pool alone in a group": _hybrid(
        Alloc(4), GroupBegin(), Free("free_full", count=3), GroupEnd(), level="strict"
    ),
    "a segment whose pages share an SWA page": _hybrid(
        ExtendTail(amount=10, tail=5, aligned=False),
        ClearMapping(first=5),
        FreeSegment("free_swa_segment", page=1, pages=1),
    ),
}
"""By what happens in it."""
