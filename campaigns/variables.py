"""The environment variables of kvoracle, and what happens to one that nobody reads.

Guarantees that a variable of ours which means nothing is refused with one sentence: one misspelt letter would otherwise fetch into
the wrong cache without a word.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from oracle.errors import UsageError

PREFIX = "KVORACLE_"
KNOWN_VARIABLES = ("KVORACLE_CACHE", "KVORACLE_KERNELS")


def is_ours(name: str) -> bool:
    """Whether a variable of that name is meant for kvoracle."""
    return name.startswith(PREFIX)


def check_variables(names: Iterable[str]) -> None:
    """Raise ``UsageError`` for the first of the ``names`` that is meant for kvoracle and that it does not know."""
    for name in sorted(names):
        if is_ours(name) and name not in KNOWN_VARIABLES:
            close = get_close_matches(name, KNOWN_VARIABLES, n=1)
            advice = (
                f"did you mean {close[0]}?" if close else f"known are {', '.join(KNOWN_VARIABLES)}"
            )
            raise UsageError(f"the environment variable {name} means nothing: {advice}")
