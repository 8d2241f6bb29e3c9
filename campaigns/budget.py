"""How a campaign's budget is shared, and which seed each round gets.

Guarantees that equal options give equal shares and equal seeds, whatever ran before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

EXAMPLES_A_ROUND = 40
STEPS_AN_EXAMPLE = 50
SECONDS_BY_DEFAULT = 60.0


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
