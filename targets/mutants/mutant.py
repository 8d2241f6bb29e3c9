"""What a mutant is (see ``targets.mutants.registry`` for the list).

Guarantees nothing about the fault but its description; the tests show that each one differs from ``eager``.
"""

from __future__ import annotations

from dataclasses import dataclass

from oracle.finding import FindingKind
from oracle.geometry import Family
from targets.eager.target import AllocatorClasses


@dataclass(frozen=True)
class Mutant:
    """One fault. ``description`` is one sentence; ``kinds`` are the kinds of finding that the fault deserves, the one that
    it is there for first; ``classes`` are our allocators with the fault in the class that serves ``family``.
    """

    name: str
    description: str
    family: Family
    kinds: tuple[FindingKind, ...]
    classes: AllocatorClasses
