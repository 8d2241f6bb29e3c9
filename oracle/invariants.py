"""The declared invariants of the allocators, and what each says at each level (contract_paged_swa §2).

Guarantees the bucket × level matrix, the rules of registration and how a level follows from environment variables.
It evaluates no predicate: who holds the values counts the false elements (``oracle.reference``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from msgspec import Struct

from oracle.contract import PEER_MAPPED, PEER_RELEASED, SEGMENT_BOUND, SEGMENT_RELEASED
from oracle.geometry import LEVELS, Level

Bucket = Literal["SOFTEN", "GUARD", "FATAL_CONTAINABLE", "FATAL_UNCONTAINABLE"]
Reaction = Literal["silent", "counted", "raised"]

BUCKETS: tuple[Bucket, ...] = ("SOFTEN", "GUARD", "FATAL_CONTAINABLE", "FATAL_UNCONTAINABLE")

REACTIONS: dict[Bucket, dict[Level, Reaction]] = {
    "SOFTEN": {"off": "silent", "warn": "counted", "strict": "counted"},
    "GUARD": {"off": "silent", "warn": "counted", "strict": "raised"},
    "FATAL_CONTAINABLE": {"off": "silent", "warn": "counted", "strict": "raised"},
    "FATAL_UNCONTAINABLE": {"off": "silent", "warn": "raised", "strict": "raised"},
}

LEVEL_VARIABLE = "SGLANG_INVARIANT_CHECK"
ASYNC_ASSERT_VARIABLE = "SGLANG_ENABLE_ASYNC_ASSERT"


class Invariant(Struct, frozen=True):
    """A property that is checked element by element and reported as its bucket says.

    ``recover`` mends the values at every level, whatever is reported; None where nothing can be mended.
    """

    name: str
    bucket: Bucket
    recover: Callable[[Any], Any] | None = None

    def reaction(self, level: Level) -> Reaction:
        """What a hit does at ``level``: nothing, move the counter, or raise (never two of them)."""
        return REACTIONS[self.bucket][level]


class Registry:
    """The invariants by name. A name is declared once.

    ``accepts_repeats``: an equal declaration of a name is the same one again (a module that declares is imported again);
    one that differs is always refused (contract_unified §11 B5).
    """

    def __init__(self, *, accepts_repeats: bool = False) -> None:
        self._accepts_repeats = accepts_repeats
        self._invariants: dict[str, Invariant] = {}

    def declare(
        self, name: str, bucket: Bucket, *, recover: Callable[[Any], Any] | None = None
    ) -> Invariant:
        """Register an invariant and return it (§2, Registry).

        Raises ``ValueError`` for a name that is taken, for an unknown bucket, and for a
        FATAL_UNCONTAINABLE invariant with a ``recover``: what cannot be contained cannot be mended.
        """
        if bucket not in BUCKETS:
            raise ValueError(f"bucket {bucket!r} of invariant {name!r} is none of {BUCKETS}")
        if bucket == "FATAL_UNCONTAINABLE" and recover is not None:
            raise ValueError(f"invariant {name!r} is FATAL_UNCONTAINABLE, so it takes no recover")
        declared = Invariant(name, bucket, recover)
        known = self._invariants.setdefault(name, declared)
        if known is not declared and not (self._accepts_repeats and known == declared):
            raise ValueError(f"invariant {name!r} is already declared: {known}")
        return known

    def __getitem__(self, name: str) -> Invariant:
        return self._invariants[name]

    def names(self) -> tuple[str, ...]:
        """Every declared name, in order of declaration."""
        return tuple(self._invariants)


class ResolvedLevel(Struct, frozen=True):
    """The level that an environment selects, and the warning that resolving it gives ("" for none)."""

    level: Level
    warning: str = ""


def resolve_level(environment: Mapping[str, str]) -> ResolvedLevel:
    """The level for the checks of one call, from ``environment`` (§2); nothing is cached.

    Raises ``ValueError`` for an integer that is no level, as each check then does.
    """
    text = environment.get(LEVEL_VARIABLE)
    if text is None:
        return ResolvedLevel("strict" if is_true(environment.get(ASYNC_ASSERT_VARIABLE)) else "off")
    try:
        number = int(text)
    except ValueError:
        return ResolvedLevel("off", f"{LEVEL_VARIABLE}={text!r} is no integer; it counts as 0")
    if not 0 <= number < len(LEVELS):
        raise ValueError(
            f"{LEVEL_VARIABLE}={number} is no level: use 0 (off), 1 (warn), 2 (strict)"
        )
    return ResolvedLevel(LEVELS[number])


def is_true(text: str | None) -> bool:
    """Whether a boolean environment variable is switched on: ``1`` or ``true`` in any case (§0)."""
    return text is not None and text.lower() in ("1", "true")


ALLOCATOR_INVARIANTS = Registry(accepts_repeats=True)
ALLOCATOR_INVARIANTS.declare(PEER_MAPPED, "FATAL_UNCONTAINABLE")
ALLOCATOR_INVARIANTS.declare(PEER_RELEASED, "GUARD")
ALLOCATOR_INVARIANTS.declare(SEGMENT_BOUND, "FATAL_UNCONTAINABLE")
ALLOCATOR_INVARIANTS.declare(SEGMENT_RELEASED, "FATAL_UNCONTAINABLE")
