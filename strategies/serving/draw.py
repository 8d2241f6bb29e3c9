"""The simulator's dice.

Guarantees that a seed gives the same numbers on every version of Python: only ``random()`` is asked, whose sequence Python
promises to keep; how other methods use it is not promised.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

Item = TypeVar("Item")


class Draw:
    """Numbers drawn from ``seed``."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def below(self, bound: int) -> int:
        """A number from 0 to ``bound`` - 1."""
        return int(self._random.random() * bound)

    def between(self, least: int, most: int) -> int:
        """A number from ``least`` to ``most``, both included."""
        return least + self.below(most - least + 1)

    def chance(self, part: float) -> bool:
        """True in ``part`` of all cases."""
        return self._random.random() < part

    def pick(self, items: Sequence[Item]) -> Item:
        """One of ``items``, which must not be empty."""
        return items[self.below(len(items))]
