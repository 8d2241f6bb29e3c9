"""Traces of the further families written by hand, each with one thing that a mutant gets wrong."""

from __future__ import annotations

from oracle.family_sizes import FamilySizes
from oracle.geometry import Geometry, Mode
from oracle.operations import (
    Alloc,
    AllocCyclic,
    AllocGroupBegin,
    AllocGroupEnd,
    Base,
    Clear,
    Decode,
    DeviceBuffer,
    Evict,
    Extend,
    Free,
    FreeDevice,
    FreeDeviceBuffer,
    FreeSegment,
    GroupBegin,
    GroupEnd,
    LogicalExtend,
    Merge,
    Misuse,
    Part,
    RawFree,
    Release,
    Resize,
    RotatedExtend,
    RotatedPart,
    SlotReserve,
    SpecScratch,
    StaleFree,
)
from oracle.trace import Callers, Trace

STATES = Geometry(family="mamba-slots", size=6)
SLIDING = Geometry(family="pure-swa", size=8)
RING = Geometry(
    family="swa-ring",
    size=32,
    page_size=4,
    size_swa=16,
    sizes=FamilySizes(request_slots=3, ring=5),
)
CLASSES = Geometry(family="page-interleave", size=12, page_size=4, sizes=FamilySizes(ranks=3))
SORTED_CLASSES = Geometry(
    family="page-interleave", size=12, page_size=4, need_sort=True, sizes=FamilySizes(ranks=3)
)
TIER = Geometry(family="hisparse", size=16, page_size=4, sizes=FamilySizes(ratio=2))
SINGLES = Geometry(family="hisparse", size=4, sizes=FamilySizes(ratio=2))
FOURS = Geometry(
    family="hisparse-dsv4",
    size=64,
    page_size=16,
    size_swa=64,
    sizes=FamilySizes(device_size=16),
)
PAIRS = Geometry(
    family="hisparse-dsv4",
    size=32,
    page_size=8,
    size_swa=32,
    sizes=FamilySizes(device_size=8),
)


def _trace(
    geometry: Geometry,
    *operations: Base,
    callers: Callers = "legal",
    debug: bool = False,
) -> Trace:
    return Trace(
        geometry=geometry,
        mode=Mode(debug=debug),
        callers=callers,
        operations=operations,  # type: ignore[arg-type]
    )


_STATES = {
    "states that were taken out in advance": _trace(
        STATES, AllocGroupBegin(3), Alloc(1), Alloc(2), AllocGroupEnd(), Alloc(2)
    ),
    "a second begin": _trace(
        STATES, AllocGroupBegin(2), AllocGroupBegin(2, nested=True), Alloc(1), callers="hostile"
    ),
    "a clear while states are taken out": _trace(
        STATES, AllocGroupBegin(2), Clear(), Alloc(1), Alloc(1)
    ),
    "more states than there are": _trace(STATES, Alloc(4), AllocGroupBegin(3), AllocGroupEnd()),
    "states that come back": _trace(STATES, Alloc(2), Release(), Alloc(3)),
}

_SLIDING = {
    "the padding slot and a negative one": _trace(
        SLIDING, RawFree(slots=(0,)), RawFree(slots=(-1,)), callers="hostile"
    ),
    "a group that is given what is no slot": _trace(
        SLIDING, GroupBegin(), RawFree(slots=(0, -1)), GroupEnd(), callers="hostile"
    ),
    "a clear in a group of sliding layers": _trace(
        SLIDING, Alloc(4), GroupBegin(), Free(count=1), Clear(), GroupBegin()
    ),
    "a FULL-only free of sliding layers": _trace(SLIDING, Alloc(4), Free("free_full", count=1)),
    "SWA frees in a group of sliding layers": _trace(
        SLIDING,
        Alloc(4),
        GroupBegin(),
        Free("free_swa", count=1, wide=True, overwrite=True),
        Free(request=0, first=2, count=1, wide=True, overwrite=True),
        GroupEnd(),
    ),
    "more slots than there are": _trace(
        SLIDING, Alloc(2), Free(count=1), StaleFree(), callers="hostile"
    ),
    "more slots than there are, by the SWA form": _trace(
        SLIDING, Alloc(2), Free(count=1), StaleFree("free_swa"), callers="hostile"
    ),
    "sizes that differ": _trace(SLIDING, Resize(full=3, swa=5), Alloc(4)),
}

_RING = {
    "rows of two requests in rings": _trace(RING, Alloc(8), Alloc(3), Evict(), Release(), Decode()),
    "frees beside a ring": _trace(
        RING,
        Alloc(16),
        Free("free_swa", count=3),
        FreeSegment("free_swa_segment"),
        Free(count=3),
        FreeSegment(page=1),
    ),
    "a segment that starts inside a page of a ring": _trace(
        RING, Alloc(16), FreeSegment(shift=1), callers="hostile"
    ),
    "a tail that is too long": _trace(RING, Misuse("tail-too-long"), callers="hostile"),
}

_CLASSES = {
    "rows that go on in the next class": _trace(
        CLASSES,
        RotatedExtend((RotatedPart(0, 1, "pages"), RotatedPart(0, 0, "pages"))),
        RotatedExtend((RotatedPart(1, 1, "pages"),)),
        AllocCyclic(1, 2, "pages"),
        Free(count=3),
        Release(),
        RotatedExtend((RotatedPart(0, 2, "pages"),)),
    ),
    "more pages than the classes have": _trace(CLASSES, Alloc(7, "pages"), Alloc(7, "pages")),
    "merged classes": _trace(SORTED_CLASSES, Alloc(20), Alloc(4), Release(1), Merge(), Alloc(20)),
    "a class that is short": _trace(
        SORTED_CLASSES,
        Alloc(20),
        Alloc(4),
        Release(1),
        Alloc(4, "pages"),
        Alloc(1, "pages"),
    ),
}

_TIER = {
    "the life of a row with a device": _trace(
        TIER,
        Alloc(12),
        FreeDevice(count=3),
        FreeSegment(),
        GroupBegin(),
        Free(first=4),
        GroupEnd(),
        Release(),
    ),
    "part of a page on the device": _trace(TIER, Alloc(8), FreeDevice(first=1), Alloc(4)),
    "buffers of a row": _trace(
        TIER, Alloc(6), DeviceBuffer(pages=1, need=1), Alloc(8), DeviceBuffer(pages=1), Release()
    ),
    "padding places named": _trace(
        TIER, Alloc(4), DeviceBuffer(), FreeDeviceBuffer(padding=True), callers="hostile"
    ),
    "a row that goes on after a page that has no place": _trace(
        TIER, Alloc(4), FreeDevice(count=3), Extend((Part(1, 2),)), debug=True
    ),
    "slots that come back from a short device": _trace(
        SINGLES, LogicalExtend(0, 1), Alloc(3), Alloc(2), Alloc(1)
    ),
    "what requests reserve": _trace(
        TIER,
        SpecScratch(2, 3),
        SlotReserve(3, True),
        SlotReserve(3),
        SpecScratch(1, 1, 1),
        SpecScratch(2, 0),
        SlotReserve(5),
        callers="hostile",
    ),
}

_FOURS = {
    "the life of a row above a compressed device": _trace(
        PAIRS,
        Alloc(16),
        FreeSegment(),
        FreeDevice(count=7),
        Release(),
        Alloc(5),
        Extend((Part(1, 9),)),
    ),
    "frees in a group above a device": _trace(
        PAIRS,
        Alloc(24),
        GroupBegin(),
        Free("free_swa", count=7),
        FreeDevice(count=7),
        Free("free_full", count=7),
        Free(first=8, count=7),
        GroupEnd(),
    ),
    "a FULL-only group above a device": _trace(
        PAIRS,
        Alloc(16),
        FreeDevice(count=15),
        Free("free_swa", count=7),
        GroupBegin(),
        Free("free_full", count=7),
        GroupEnd(),
    ),
    "padding places of a compressed device named": _trace(
        PAIRS, Alloc(8), DeviceBuffer(), FreeDeviceBuffer(padding=True), callers="hostile"
    ),
    "compressed buffers": _trace(
        FOURS, Alloc(44), DeviceBuffer(pages=2), Release(), Alloc(12), DeviceBuffer(need=1)
    ),
    "a buffer whose newest place moves": _trace(FOURS, Alloc(32), DeviceBuffer(pages=1, need=1)),
    "a row that goes on inside a four": _trace(FOURS, Alloc(21), Extend((Part(1, 7),))),
}

WRITTEN_FAMILIES: dict[str, Trace] = {
    **_STATES,
    **_SLIDING,
    **_RING,
    **_CLASSES,
    **_TIER,
    **_FOURS,
}
"""By what happens in it."""
