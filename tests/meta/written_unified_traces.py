"""Traces of the unified families written by hand, each with one thing that a mutant gets wrong."""

from __future__ import annotations

from msgspec import structs

from oracle.byte_buffer import Buffer
from oracle.geometry import Geometry, Level, Mode
from oracle.operations import (
    Alloc,
    AllocGroupBegin,
    AllocGroupEnd,
    Base,
    BeginForward,
    Capacity,
    Clear,
    Drain,
    Evict,
    EvictForAlloc,
    ExtendTail,
    Flush,
    Free,
    FreeSegment,
    Gate,
    GroupBegin,
    GroupEnd,
    MakeRoom,
    RawFree,
    Release,
    Reserve,
    StateAlloc,
    StateFree,
)
from oracle.trace import Callers, Trace

TWO = Geometry(
    family="unified-swa",
    size=0,
    page_size=4,
    buffer=Buffer(total_bytes=1024, full_bytes=16, swa_bytes=8),
)
"""Ten pages fit on both sides at once."""
THREE = Geometry(
    family="unified-mamba-swa",
    size=64,
    size_swa=64,
    page_size=4,
    buffer=Buffer(total_bytes=2048, full_bytes=16, swa_bytes=8, state_bytes=96),
)
LOOSE_THREE = structs.replace(THREE, size=96, size_swa=96)
"""The same with caps that its bytes cannot reach."""
PAIR = Geometry(
    family="unified-mamba",
    size=0,
    page_size=4,
    buffer=Buffer(total_bytes=1024, full_bytes=16, state_bytes=96),
)
SMALL_THREE = Geometry(
    family="unified-mamba-swa",
    size=20,
    size_swa=20,
    page_size=4,
    buffer=Buffer(total_bytes=640, full_bytes=16, swa_bytes=8, state_bytes=40),
)
UNEVEN_THREE = Geometry(
    family="unified-mamba-swa",
    size=64,
    size_swa=64,
    page_size=4,
    buffer=Buffer(total_bytes=900, full_bytes=12, swa_bytes=20, state_bytes=96),
)
"""No grid of one band is one of another."""


def _trace(
    geometry: Geometry, *operations: Base, level: Level = "off", callers: Callers = "legal"
) -> Trace:
    return Trace(
        geometry=geometry,
        mode=Mode(level=level),
        callers=callers,
        operations=(*operations, Drain()),  # type: ignore[arg-type]
    )


_ALL = Alloc(0, "left")
_PAGES = tuple(Alloc(4) for _ in range(6))
"""Six rows of a page."""
_OLDEST_GONE = (*_PAGES, Release(request=5))
_ASK = EvictForAlloc(amount=1, unit="pages")
"""Two pages, of a tree that holds nothing."""
_DECODE = EvictForAlloc("check_decode_capacity", amount=1, unit="pages")
"""Whether two pages are there for a decode, of a tree that holds nothing."""
_HALF_OUT = (_ALL, Evict(pages=1), GroupBegin())

_FLUSHES = {
    "an eviction after a plain free that waits": _trace(
        TWO, _ALL, GroupBegin(), Free(count=7), _ASK
    ),
    "an eviction after a segment free that waits": _trace(
        TWO, _ALL, GroupBegin(), FreeSegment(pages=1), _ASK
    ),
    "an eviction after a plain FULL-only free that waits": _trace(
        TWO, *_HALF_OUT, Free("free_full", count=7), _ASK
    ),
    "an eviction after a FULL-only segment free that waits": _trace(
        TWO, *_HALF_OUT, FreeSegment("free_full_segment", pages=1), _ASK
    ),
    "an eviction from three pools after a free that waits": _trace(
        THREE, _ALL, GroupBegin(), FreeSegment(pages=1), _ASK
    ),
    "an eviction beside states after a free that waits": _trace(
        PAIR, _ALL, GroupBegin(), FreeSegment(pages=1), _ASK
    ),
    "a decode after a plain free that waits": _trace(
        TWO, _ALL, GroupBegin(), Free(count=7), _DECODE
    ),
    "a decode after a segment free that waits": _trace(
        TWO, _ALL, GroupBegin(), FreeSegment(pages=1), _DECODE
    ),
    "a decode after a plain FULL-only free that waits": _trace(
        TWO, *_HALF_OUT, Free("free_full", count=7), _DECODE
    ),
    "a decode after a FULL-only segment free that waits": _trace(
        TWO, *_HALF_OUT, FreeSegment("free_full_segment", pages=1), _DECODE
    ),
    "a decode from three pools after a free that waits": _trace(
        LOOSE_THREE, _ALL, GroupBegin(), FreeSegment(pages=1), _DECODE
    ),
    "a decode beside states after a free that waits": _trace(
        PAIR, _ALL, GroupBegin(), FreeSegment(pages=1), _DECODE
    ),
}

_GROUPS = {
    "plain frees and segments in one group": _trace(
        TWO, Alloc(16), GroupBegin(), Free(count=3), FreeSegment(page=1), GroupEnd()
    ),
    "a segment without peers in front of one with peers": _trace(
        TWO,
        Alloc(16),
        Evict(),
        GroupBegin(),
        FreeSegment("free_full_segment"),
        FreeSegment(page=1),
        GroupEnd(),
    ),
    "a row overwritten after a plain free": _trace(
        TWO, Alloc(8), GroupBegin(), Free(count=7, wide=True, overwrite=True), GroupEnd()
    ),
    "a row overwritten after a segment free": _trace(
        TWO, Alloc(8), GroupBegin(), FreeSegment(pages=1, overwrite=True), GroupEnd()
    ),
    "a row overwritten after a FULL-only segment free": _trace(
        THREE,
        Alloc(8),
        Evict(pages=1),
        GroupBegin(),
        FreeSegment("free_full_segment", pages=1, overwrite=True),
        GroupEnd(),
    ),
    "a FULL-only free of a bound page in a group at level warn": _trace(
        TWO,
        Alloc(8),
        GroupBegin(),
        FreeSegment("free_full_segment"),
        level="warn",
        callers="hostile",
    ),
    "a segment without peers in a group at level warn": _trace(
        TWO, Alloc(8), Evict(), GroupBegin(), FreeSegment(), level="warn", callers="hostile"
    ),
    "a group begun inside a unified group": _trace(
        TWO, Alloc(8), GroupBegin(), Free(count=3), GroupBegin(), callers="hostile"
    ),
    "a clear in a unified group": _trace(TWO, Alloc(8), GroupBegin(), Free(count=7), Clear()),
    "a window eviction in a group": _trace(TWO, Alloc(8), GroupBegin(), Evict(), GroupEnd()),
}

_FREES = {
    "a window evicted twice": _trace(
        TWO,
        Alloc(8),
        FreeSegment("free_swa_segment"),
        FreeSegment("free_swa_segment"),
        callers="hostile",
    ),
    "a plain free of a row without its first peers": _trace(TWO, Alloc(8), Evict(), Free(count=7)),
    "the padding page freed as a peer": _trace(
        TWO, Alloc(8), RawFree("free_swa", (0,)), callers="hostile"
    ),
    "a segment freed on both sides": _trace(TWO, Alloc(8), FreeSegment()),
    "a page of a reservation": _trace(TWO, Alloc(8), Reserve()),
}

_BANDS = {
    "holes at two places": _trace(TWO, Alloc(16), FreeSegment(), FreeSegment(page=2), Alloc(4)),
    "holes at two places beside states": _trace(
        PAIR, Alloc(16), FreeSegment(), FreeSegment(page=2), Alloc(4)
    ),
    "a flush without urgency": _trace(TWO, *_OLDEST_GONE, Flush()),
    "two flushes under one event": _trace(
        TWO, *_OLDEST_GONE, BeginForward(request=4), Flush(), Release(request=3), Flush()
    ),
    "a flush of what a forward pass writes": _trace(TWO, *_OLDEST_GONE, BeginForward(), Flush()),
    "a flush of what a forward pass wrote that an urgent flush waited for": _trace(
        TWO,
        *_PAGES[:3],
        BeginForward(count=1),
        Release(request=2),
        Flush(urgent=True),
        Release(),
        Flush(),
    ),
    "a flush behind a closed gate": _trace(TWO, *_OLDEST_GONE, Gate(), Flush()),
    "holes of the middle band closed": _trace(
        THREE,
        Alloc(16),
        FreeSegment("free_swa_segment", page=2),
        MakeRoom(side="low", compact=True),
    ),
    "holes of the middle band used twice": _trace(
        THREE,
        Alloc(24),
        FreeSegment("free_swa_segment", page=1, pages=3),
        Alloc(4),
        Alloc(4),
    ),
    "a middle band with nothing in it": _trace(THREE, Alloc(4), Release()),
    "a middle band between uneven neighbours": _trace(
        UNEVEN_THREE, StateAlloc(count=0), Alloc(4), StateAlloc(count=1), _ALL
    ),
    "the middle band behind a closed gate": _trace(
        SMALL_THREE, Alloc(8), Gate(band=1), MakeRoom(side="high", pages=7)
    ),
}

_CAPACITY = {
    "an allocation that fits after a flush only": _trace(
        TWO,
        *[Alloc(4) for _ in range(10)],
        Evict(request=9),
        Evict(request=8),
        ExtendTail(amount=4, tail=0),
    ),
    "a plan for a full pool": _trace(
        TWO,
        _ALL,
        Evict(pages=1),
        Capacity("reclaim_plan", amount=1, evictable_full=2, evictable_swa=2),
    ),
    "a question for what fits after a flush only": _trace(
        TWO,
        *[Alloc(4) for _ in range(10)],
        Release(request=9),
        Release(request=4),
        Evict(request=0),
        Evict(request=1),
        Evict(request=2),
        Capacity("ensure_capacity", amount=2),
    ),
    "a row of all that is left beside states": _trace(PAIR, StateAlloc(), _ALL),
    "an allocation that fits beside a hole": _trace(TWO, *_OLDEST_GONE, Alloc(8)),
    "a tail with peers for its end": _trace(TWO, ExtendTail(amount=8, tail=4)),
    "holes among states": _trace(PAIR, StateAlloc(count=2), StateFree(index=1)),
}

_PART_OUT = (
    AllocGroupBegin(4),
    StateAlloc(),
    StateAlloc(count=1),
    AllocGroupEnd(),
    StateAlloc(count=1),
)
_TWICE = (
    AllocGroupBegin(2),
    StateAlloc(),
    AllocGroupBegin(2, nested=True),
    StateAlloc(),
    AllocGroupEnd(),
)

_STATES = {
    "a group of states with a rest": _trace(PAIR, *_PART_OUT),
    "a group of states with a rest in three pools": _trace(THREE, *_PART_OUT),
    "a group of states begun twice": _trace(PAIR, *_TWICE, callers="hostile"),
    "a group of states begun twice in three pools": _trace(THREE, *_TWICE, callers="hostile"),
    "a clear in a group of states": _trace(
        THREE, AllocGroupBegin(2), Clear(), StateAlloc(), StateAlloc()
    ),
    "a group of more states than there are": _trace(
        PAIR, StateAlloc(count=6), AllocGroupBegin(8), StateAlloc(), AllocGroupEnd()
    ),
    "a group of states that fits after pages moved": _trace(
        THREE, Alloc(16), StateAlloc(count=2), AllocGroupBegin(6), StateAlloc(), AllocGroupEnd()
    ),
}

WRITTEN_UNIFIED: dict[str, Trace] = {
    **_FLUSHES,
    **_GROUPS,
    **_FREES,
    **_BANDS,
    **_CAPACITY,
    **_STATES,
}
"""By what happens in it."""
