"""The operations that give slots or peers back by rows, pages and segments, right or wrong.

What ``oracle.operations`` says of fields holds here too.
"""

from __future__ import annotations

from typing import Literal

from oracle.operation_base import Base

SetMethod = Literal["free", "free_swa", "free_full"]
SegmentMethod = Literal["free_segment", "free_swa_segment", "free_full_segment"]
PluralMethod = Literal["free_segments", "free_full_segments"]
FreeMethod = Literal[
    "free",
    "free_swa",
    "free_full",
    "free_segment",
    "free_swa_segment",
    "free_full_segment",
    "free_page_ids",
]
Arrangement = Literal["ascending", "descending", "doubled"]
SegmentArrangement = Literal["ascending", "descending", "sharing"]


class Evict(Base, frozen=True, tag="evict"):
    """Window eviction: the first ``pages`` + 1 pages that still have peers lose them by ``free_swa_segment``."""

    request: int = 0
    pages: int = 0
    wide: bool = False
    overwrite: bool = False


class Free(Base, frozen=True, tag="free"):
    """A set-shaped free of ``count`` + 1 slots of a row."""

    method: SetMethod = "free"
    request: int = 0
    first: int = 0
    count: int = 0
    arrangement: Arrangement = "ascending"
    wide: bool = False
    overwrite: bool = False


class FreeSegment(Base, frozen=True, tag="free-segment"):
    """A segment free of ``pages`` + 1 pages. ``cut`` slots are left off the end of the last page, ``shift`` moves the
    start off its page boundary, ``direct`` calls the FULL pool itself."""

    method: SegmentMethod = "free_segment"
    request: int = 0
    page: int = 0
    pages: int = 0
    cut: int = 0
    shift: int = 0
    direct: bool = False
    wide: bool = False
    overwrite: bool = False


class FreeSegments(Base, frozen=True, tag="free-segments"):
    """Several segments of one row in one plural call: from ``page`` on, runs of ``runs`` pages, every second one left out."""

    method: PluralMethod = "free_segments"
    request: int = 0
    page: int = 0
    runs: tuple[int, ...] = (0,)
    arrangement: SegmentArrangement = "ascending"
    wide: bool = False
    overwrite: bool = False


class FreePages(Base, frozen=True, tag="free-pages"):
    """A free by page id of ``pages`` + 1 pages of a row."""

    request: int = 0
    page: int = 0
    pages: int = 0
    wide: bool = False
    overwrite: bool = False


class Release(Base, frozen=True, tag="release"):
    """A finished request gives everything back: tombstoned parts FULL-only first, then the rest, in plural segment calls."""

    request: int = 0
    wide: bool = False
    overwrite: bool = False


class StaleFree(Base, frozen=True, tag="stale-free"):
    """A range that was freed before is freed again: the ``age``-th newest one, by ``method``."""

    method: FreeMethod = "free"
    age: int = 0
    wide: bool = False
    overwrite: bool = False


class RawFree(Base, frozen=True, tag="raw-free"):
    """A free of raw slots (page ids for ``free_page_ids``), clamped to -1 and the last slot of the FULL pool."""

    method: FreeMethod = "free"
    slots: tuple[int, ...] = (0,)
    wide: bool = False


class EmptyFree(Base, frozen=True, tag="empty-free"):
    """A free of nothing; segment forms get ``start_pos``."""

    method: FreeMethod = "free"
    start_pos: int = 0
    wide: bool = False
