"""How a campaign's budget is shared, and which seed each round gets.

Guarantees that equal options give equal shares and equal seeds, whatever ran before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

EXAMPLES_A_ROUND = 40
STEPS_AN_EXAMPLE = 50
SECONDS_BY_DEFAULT = 60.0
SECONDS_A_DEATH = 10.0
"""What the death of a child takes from the seconds of its family, so that a target that always dies comes to an end."""


class Share(NamedTuple):
    """What one family of one target gets: ``seconds`` or ``examples``, the other is None."""

    seconds: float | None = None
    examples: int | None = None

    def left(self, deaths: int, spent: float) -> Share | None:
        """What is left for another child when so many died, who explored for ``spent`` seconds; None when nothing is.

        How far a child was that died depends on the machine, so of examples half is left, whatever it did.
        """
        if self.seconds is not None:
            seconds = self.seconds - spent - deaths * SECONDS_A_DEATH
            return Share(seconds=seconds) if seconds > 0 else None
        examples = (self.examples or 0) >> deaths
        return Share(examples=examples) if examples else None


def share_examples(examples: int, parts: int) -> list[int]:
    """``examples`` over ``parts``, the first ones getting what is left over; at least one each."""
    return [
        max(1, examples // parts + (1 if part < examples % parts else 0)) for part in range(parts)
    ]


def share_seconds(seconds: float, targets: int, workers: int) -> float:
    """The seconds for one target, so that ``targets`` of them take ``seconds`` on ``workers`` processes together."""
    return seconds * min(workers, targets) / targets


def seed_of(seed: int, parts: Sequence[object]) -> int:
    """A 63-bit seed derived from ``seed`` and what it is for (say a family and the number of the round)."""
    text = "/".join(str(part) for part in (seed, *parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
