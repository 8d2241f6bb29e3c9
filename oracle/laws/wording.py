"""How the laws name slots, pages, readers and places in a list. Used only once a law is broken, so
speed is no matter.
"""

from __future__ import annotations

from collections.abc import Sequence

from oracle.ownership import Ownership

NEIGHBOURS = 3

Stamp = tuple[int, int]
"""A request and a position in its row."""


def near(values: Sequence[int], index: int) -> str:
    """The element at ``index`` in brackets between its neighbours: ``... 3, 5, [9], 2 ...``."""
    start, stop = max(0, index - NEIGHBOURS), min(len(values), index + NEIGHBOURS + 1)
    shown = ", ".join(
        f"[{values[at]}]" if at == index else str(values[at]) for at in range(start, stop)
    )
    return f"{'... ' if start else ''}{shown}{' ...' if stop < len(values) else ''}"


def reader_of(books: Ownership, slot: int) -> Stamp | None:
    """The oldest request that may still read the FULL slot, and at which position of its row."""
    for request in books.requests:
        for position, held in enumerate(request.slots):
            if held == slot and position // books.page_size not in request.gone:
                return request.identity, position
    return None


def reading(books: Ownership, slot: int) -> str:
    """``FULL slot 21 (request 3 position 5)``, or without the reader when no live row holds the
    slot.
    """
    reader = reader_of(books, slot)
    return f"FULL slot {slot}" + (f" ({place(reader)})" if reader else " (in no live row)")


def place(stamp: Stamp) -> str:
    """``request 3 position 5``."""
    return f"request {stamp[0]} position {stamp[1]}"


def holder_of(books: Ownership, page: int) -> str:
    """Which request holds the FULL page: ``request 3 holds``."""
    first = page * books.page_size
    for slot in range(first, first + books.page_size):
        reader = reader_of(books, slot)
        if reader is not None:
            return f"request {reader[0]} holds"
    return "the caller's books hold"
