"""The cursors that a caller passes with a row, right or wrong, and what is wrong with a call on it (contract_paged_swa §11.1).

In a row that is as its cursors say, the peers of [dead low, evicted) are gone and all others beyond the protected prefix are there.
"""

from __future__ import annotations

from typing import Protocol

from msgspec.structs import replace

from oracle import legality
from oracle.call import RowCursors
from oracle.ownership import Ownership, Request
from oracle.row_operations import Drifting


class Slipping(Protocol):
    """An operation whose caller may slip."""

    @property
    def stale(self) -> int:
        """Pages that the evicted cursor is behind."""

    @property
    def drift(self) -> int:
        """Slots that a cursor is off its page boundary."""

    @property
    def floorless(self) -> bool:
        """The floor is forgotten."""


def cursors_of(request: Request) -> RowCursors:
    """The row's cursors now. One that has grown since they were noted counts whole."""
    length = len(request.slots)
    if request.cursors.allocated == length:
        return request.cursors
    return replace(request.cursors, committed=length, allocated=length)


def shortened(request: Request, cursors: RowCursors) -> RowCursors:
    """``cursors`` clamped to the length of the row (§11.1, clamp)."""
    length = len(request.slots)
    return replace(
        cursors,
        evicted=min(cursors.evicted, length),
        floor=min(cursors.floor, length),
        committed=min(cursors.committed, length),
        allocated=length,
    )


def ceiling(length: int, page_size: int) -> int:
    """``length`` rounded up to whole pages."""
    return -(-length // page_size) * page_size


def dead_low(cursors: RowCursors, page_size: int) -> int:
    """Where window eviction begins (§11.1)."""
    if cursors.floor > cursors.protected:
        return ceiling(cursors.floor, page_size)
    return cursors.protected


def slipped(
    cursors: RowCursors, operation: Slipping, page_size: int, drifting: Drifting = "evicted"
) -> tuple[RowCursors, list[str]]:
    """What the caller of ``operation`` passes in place of ``cursors``, and which preconditions that breaks."""
    found = []
    passed = cursors
    if operation.stale and cursors.evicted > dead_low(cursors, page_size):
        passed = replace(passed, evicted=max(0, cursors.evicted - operation.stale * page_size))
        found.append(legality.STALE_CURSOR)
    drift = operation.drift % page_size
    if drift and drifting == "protected":
        passed = replace(passed, protected=passed.protected + drift)
        found.append(legality.UNALIGNED_PROTECTED)
    elif drift:
        passed = replace(passed, evicted=passed.evicted + drift)
    if passed.evicted % page_size:
        found.append(legality.UNALIGNED_CURSOR)
    if operation.floorless and cursors.floor > cursors.protected:
        passed = replace(passed, floor=0)
        found.append(legality.FLOOR_IGNORED)
    return passed, found


def eviction_breaches(books: Ownership, request: Request, cursors: RowCursors) -> list[str]:
    """Breaches of "what may be evicted has peers, and is this row's alone"."""
    start = max(cursors.evicted, dead_low(cursors, books.page_size))
    pages = range(start // books.page_size, books.page_count(request))
    return legality.holding(books, request, pages) + legality.mapped(books, request, pages)


def free_breaches(
    books: Ownership, request: Request, cursors: RowCursors, first_page: int
) -> list[str]:
    """Breaches of "the row is as its cursors say", from ``first_page`` to its end."""
    size = books.page_size
    pages = range(first_page, books.page_count(request))
    dead = [page for page in pages if dead_low(cursors, size) <= page * size < cursors.evicted]
    alive = [page for page in pages if page not in dead]
    return (
        legality.holding(books, request, pages)
        + legality.unmapped(books, request, dead)
        + legality.mapped(books, request, alive)
    )
