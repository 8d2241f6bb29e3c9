"""One pool of a snapshot as the laws count it: the pages that can be handed out, and how many there
are at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from oracle.laws.violation import PoolName
from oracle.observation import PoolState


@dataclass(frozen=True, slots=True)
class Census:
    """Free pages followed by staged ones. ``total`` pages exist, from ``first`` on; the pages below
    are padding, not among them.
    """

    pool: PoolName
    state: PoolState
    listed: list[int]
    pages: set[int]
    total: int
    first: int = 1

    @property
    def last(self) -> int:
        """The last page."""
        return self.first + self.total - 1

    @property
    def name(self) -> str:
        """The pool's name in messages."""
        return self.pool.upper()


def census_of(pool: PoolName, state: PoolState, total: int, first: int = 1) -> Census:
    """The census of ``state``. Cost: one pass at C speed over the listed pages."""
    listed = [*state.free, *chain.from_iterable(state.staged)] if state.staged else state.free
    return Census(pool, state, listed, set(listed), total, first)
