"""The peers of every FULL slot that the caller's books say has one, looked up in a snapshot's
mapping.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from operator import floordiv

from oracle.ownership import Ownership


@dataclass(frozen=True, slots=True)
class Peers:
    """Parallel lists: a FULL slot with a peer, its FULL page, the peer, the peer's SWA page; and
    the pages as sets.

    A slot outside the mapping counts as unmapped (peer 0), so that a damaged target cannot stop the
    laws.
    """

    slots: list[int]
    full_pages: list[int]
    values: list[int]
    swa_pages: list[int]
    full: set[int]
    held: set[int]
    """SWA pages that are held because a live FULL slot maps to them."""

    def pairs(self) -> list[tuple[int, int]]:
        """Each FULL slot with its peer, in ascending order."""
        return sorted(zip(self.slots, self.values, strict=True))


def peers_of(mapping: list[int], books: Ownership) -> Peers:
    """Look up all of ``books.peered``. Cost: a few passes at C speed over those slots."""
    slots = list(books.peered)
    try:
        values = list(map(mapping.__getitem__, slots))
    except IndexError:
        length = len(mapping)
        values = [mapping[slot] if 0 <= slot < length else 0 for slot in slots]
    size = books.page_size
    if size == 1:
        return Peers(slots, slots, values, values, books.peered.copy(), set(values))
    full_pages = list(map(floordiv, slots, repeat(size)))
    swa_pages = list(map(floordiv, values, repeat(size)))
    return Peers(slots, full_pages, values, swa_pages, set(full_pages), set(swa_pages))
