"""Traces written by hand, each with one thing that a mutant gets wrong: what a short exploration may miss by chance."""

from __future__ import annotations

from written_family_traces import WRITTEN_FAMILIES
from written_unified_traces import WRITTEN_UNIFIED

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
    FreeSegments,
    GroupBegin,
    GroupEnd,
    Load,
    Merge,
    Misuse,
    Part,
    RawFree,
    Recover,
    Release,
    Resize,
    StaleFree,
    Translate,
)
from oracle.trace import Callers, Trace


def _token(*operations: Base, need_sort: bool = False, callers: Callers = "hostile") -> Trace:
    return Trace(
        geometry=Geometry(family="token", size=8, need_sort=need_sort),
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
    size: int = 32,
    size_swa: int = 32,
    need_sort: bool = False,
    level: Level = "off",
    debug: bool = False,
    callers: Callers = "hostile",
) -> Trace:
    return Trace(
        geometry=Geometry(
            family="hybrid-swa",
            size=size,
            size_swa=size_swa,
            page_size=page_size,
            need_sort=need_sort,
        ),
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

# Leaves pages 3, 4, 1, 2 in front of the free list, so that the next row has them in this order.
_PAGES_OUT_OF_ORDER = (Alloc(8), Alloc(8), Release(request=1), Release(), Alloc(16))

_TOKEN = {
    "all slots": _token(Alloc(8), callers="legal"),
    "slots come back unsorted": _token(Alloc(4), Release(), Merge(), callers="legal"),
    "staged slots": _token(
        Alloc(8), Free(first=4), Free(), Merge(), need_sort=True, callers="legal"
    ),
    "too many slots with some staged": _token(
        Alloc(4), Release(), Alloc(1, "left"), need_sort=True, callers="legal"
    ),
    "slots overwritten in a group": _token(
        Alloc(4), GroupBegin(), Free(count=1, overwrite=True), GroupEnd(), callers="legal"
    ),
    "slots named twice": _token(Alloc(4), Free(arrangement="doubled")),
}

_PAGED = {
    "all pages": _paged(Alloc(32), callers="legal"),
    "one page too many": _paged(Alloc(28), Alloc(8), callers="legal"),
    "pages come back unsorted": _paged(*_PAGES_OUT_OF_ORDER[:4], Merge(), callers="legal"),
    "a segment in row order": _paged(*_PAGES_OUT_OF_ORDER, Release(), callers="legal"),
    "a FULL segment in row order": _paged(
        *_PAGES_OUT_OF_ORDER, FreeSegment("free_full_segment", pages=3), callers="legal"
    ),
    "a segment that ends inside its page": _paged(Alloc(8), FreeSegment(cut=1), callers="legal"),
    "slots named backwards": _paged(
        Alloc(8), Free(count=7, arrangement="descending"), callers="legal"
    ),
    "a merge": _paged(
        Alloc(16), FreePages(page=2, overwrite=True), FreePages(), Merge(), Alloc(4), Merge(),
        need_sort=True, callers="legal",
    ),
    "a merge because pages are short": _paged(
        Alloc(32), Release(), Alloc(16), need_sort=True, callers="legal"
    ),
    "a merge because the bound is short": _paged(
        Alloc(4), Alloc(24), Release(request=1), Extend((Part(0, 4),)),
        need_sort=True, callers="legal",
    ),
    "an extend that is too large": _paged(
        Alloc(8), Release(), Extend((Part(0, 1, "left"),)), need_sort=True, callers="legal"
    ),
    "a clear with staged pages": _paged(
        Alloc(8), Release(), Clear(), need_sort=True, callers="legal"
    ),
    "a smaller pool": _paged(Resize(full=2), callers="legal"),
    "two rows that end inside a page": _paged(
        Extend((Part(0, 6), Part(0, 5))), Decode(count=1), Decode(count=1), callers="legal"
    ),
    "two rows that open a page together": _paged(
        Extend((Part(0, 4), Part(0, 4))), Decode(count=1), callers="legal"
    ),
    "both piles of a group": _paged(
        Alloc(16), GroupBegin(), Free(count=3), FreeSegment(page=1, pages=1), GroupEnd(), callers="legal"
    ),
    "slots of pages overwritten in a group": _paged(
        Alloc(8), GroupBegin(), Free(count=7, overwrite=True), GroupEnd(), callers="legal"
    ),
    "segments that share a page": _paged(
        Alloc(16), FreeSegments(runs=(0, 0), arrangement="sharing")
    ),
    "segments in descending order": _paged(
        Alloc(16), FreeSegments(runs=(0, 0), arrangement="descending")
    ),
    "a page in both piles of a group": _paged(
        Alloc(8), GroupBegin(), FreePages(), RawFree("free_page_ids", (1,)), GroupEnd(),
        debug=True,
    ),
}  # fmt: skip

_HYBRID = {
    "slots when the SWA side is short": _hybrid(
        Alloc(4), Alloc(2), page_size=1, size_swa=4, callers="legal"
    ),
    "staged pages on both sides": _hybrid(Alloc(8), Release(), need_sort=True, callers="legal"),
    "two rows that go on inside a page": _hybrid(
        Extend((Part(0, 6), Part(0, 5))), Extend((Part(1, 1), Part(2, 1))), callers="legal"
    ),
    "peers beyond one byte": _hybrid(
        Alloc(320), page_size=64, size=512, size_swa=512, callers="legal"
    ),
    "a decode inside a page": _hybrid(Alloc(5), Decode(), callers="legal"),
    "an eviction in row order": _hybrid(
        *_PAGES_OUT_OF_ORDER, Evict(pages=3), FreeSegment("free_full_segment", pages=3),
        callers="legal",
    ),
    "FULL pages freed again": _hybrid(Alloc(4), RawFree("free_full", (8, 12)), FreeSegment()),
    "an unmapped page in a grouped set": _hybrid(
        Alloc(8), Evict(), GroupBegin(), Free("free_swa", count=7), GroupEnd(), callers="legal"
    ),
    "both FULL piles of a group": _hybrid(
        Alloc(16), GroupBegin(), Free(count=3), FreeSegment(page=1, pages=1), GroupEnd(), callers="legal"
    ),
    "a loaded row evicted at level warn": _hybrid(
        Load(), FreeSegment("free_swa_segment"), level="warn"
    ),
    "a half evicted row freed at level warn": _hybrid(
        Alloc(8), Evict(), FreeSegment(pages=1), level="warn"
    ),
    "live peers freed from the FULL pool alone at level warn": _hybrid(
        Alloc(4), Free("free_full", count=3), level="warn"
    ),
    "a plain free at level strict": _hybrid(
        Alloc(8), Free(count=7), level="strict", callers="legal"
    ),
    "smaller pools": _hybrid(Resize(full=2, swa=3), callers="legal"),
    "the sentinel": _hybrid(Alloc(4), Translate(sentinel=True), callers="legal"),
    "peers given to a mapped row": _hybrid(Alloc(4), Recover()),
    "a mapping of unequal lengths": _hybrid(Alloc(8), Misuse("uneven-mapping")),
    "a recovery": _hybrid(Alloc(8), Alloc(8), Evict(), Recover(), callers="legal"),
    "a group without frees": _hybrid(Alloc(8), GroupBegin(), GroupEnd(), callers="legal"),
}  # fmt: skip

_RARE = {
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
    "a group begun inside a group": _token(Alloc(4), GroupBegin(), Free(count=1), GroupBegin()),
    "a slot group that is cleared": _token(
        Alloc(4), GroupBegin(), Free(count=1), Clear(), callers="legal"
    ),
    "pages handed out that are free twice": _paged(
        Alloc(8), RawFree("free", (4,)), RawFree("free", (4,)), Extend((Part(0, 8),)), debug=True
    ),
    "page ids in a group that is cleared": _paged(
        Alloc(8), GroupBegin(), FreePages(), Clear(), callers="legal"
    ),
    "an empty FULL segment that starts inside a page": _paged(
        EmptyFree("free_full_segment", start_pos=1)
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

WRITTEN: dict[str, Trace] = {
    **_TOKEN,
    **_PAGED,
    **_HYBRID,
    **_RARE,
    **WRITTEN_UNIFIED,
    **WRITTEN_FAMILIES,
}
"""By what happens in it."""
