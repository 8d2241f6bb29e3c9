"""What a mutant is, and how a faulty class becomes one (see ``targets.mutants.registry`` for the list).

Guarantees that a mutant's name, family and description come from its class. Guarantees nothing about the fault; the tests
show that each one is found.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from oracle.finding import FindingKind
from oracle.geometry import Family
from targets.eager.families import AllocatorClasses, FurtherAllocator
from targets.eager.hisparse import HiSparseAllocator
from targets.eager.hisparse_dsv4 import DeepSeekV4HiSparseAllocator
from targets.eager.hybrid_swa import HybridSWAAllocator
from targets.eager.mamba_slots import MambaSlotAllocator
from targets.eager.page_interleave import PageInterleaveAllocator
from targets.eager.paged import PagedAllocator
from targets.eager.pure_swa import PureSWAAllocator
from targets.eager.swa_ring import RingSWAAllocator
from targets.eager.token import TokenAllocator
from targets.eager.unified.families import UNIFIED_CLASSES
from targets.eager.unified.full_and_state import FullAndStateAllocator
from targets.eager.unified.three_pools import ThreePoolAllocator
from targets.eager.unified.token_pool import TokenPool
from targets.eager.unified.two_pools import TwoPoolAllocator
from targets.rows.layer import RowLayer
from targets.rows.methods import ROWS_FAMILY

FaultyAllocator = TypeVar(
    "FaultyAllocator",
    bound=TokenAllocator
    | PagedAllocator
    | HybridSWAAllocator
    | TokenPool
    | FurtherAllocator
    | RowLayer,
)

_UNIFIED: dict[Family, type[TokenPool]] = {
    "unified-swa": TwoPoolAllocator,
    "unified-mamba-swa": ThreePoolAllocator,
    "unified-mamba": FullAndStateAllocator,
}


@dataclass(frozen=True)
class Mutant:
    """One fault. ``description`` is one sentence. ``kinds`` are the kinds of finding that the fault deserves; ``law`` among
    them promises that the laws find it with the prediction switched off. ``stands_for`` names known bugs of the same
    kind. ``equivalent`` says why nothing can tell the mutant from ``eager``, "" where something can.
    """

    name: str
    description: str
    family: Family
    kinds: tuple[FindingKind, ...]
    classes: AllocatorClasses
    stands_for: tuple[str, ...] = ()
    equivalent: str = ""


class FaultList:
    """Collects the faults of one module, in the order in which they stand there."""

    def __init__(self) -> None:
        self.mutants: list[Mutant] = []

    def add(
        self, *kinds: FindingKind, stands_for: tuple[str, ...] = (), equivalent: str = ""
    ) -> Callable[[type[FaultyAllocator]], type[FaultyAllocator]]:
        """Decorate a class that is ``eager``'s with one fault: its name and the first line of its docstring name the mutant."""

        def register(faulty: type[FaultyAllocator]) -> type[FaultyAllocator]:
            family, classes = _family_of(faulty)
            name = re.sub(r"(?<!^)(?=[A-Z])", "-", faulty.__name__).lower()
            description = (faulty.__doc__ or "").split("\n\n")[0]
            self.mutants.append(
                Mutant(
                    name=name,
                    description=" ".join(description.split()),
                    family=family,
                    kinds=kinds,
                    classes=classes,
                    stands_for=stands_for,
                    equivalent=equivalent,
                )
            )
            return faulty

        return register


def _family_of(faulty: type[object]) -> tuple[Family, AllocatorClasses]:
    if issubclass(faulty, TokenAllocator):
        return "token", AllocatorClasses(token=faulty)
    if issubclass(faulty, PagedAllocator):
        return "paged", AllocatorClasses(paged=faulty)
    further = _further_family_of(faulty)
    if further is not None:
        return further
    if issubclass(faulty, RowLayer):
        return ROWS_FAMILY, AllocatorClasses(rows=faulty)
    for family, sound in _UNIFIED.items():
        if issubclass(faulty, sound):
            return family, AllocatorClasses(unified={**UNIFIED_CLASSES, family: faulty})
    assert issubclass(faulty, HybridSWAAllocator)
    return "hybrid-swa", AllocatorClasses(hybrid=faulty)


def _further_family_of(faulty: type[object]) -> tuple[Family, AllocatorClasses] | None:
    if issubclass(faulty, PureSWAAllocator):
        return "pure-swa", AllocatorClasses(pure_swa=faulty)
    # A ring is a hybrid allocator too.
    if issubclass(faulty, RingSWAAllocator):
        return "swa-ring", AllocatorClasses(swa_ring=faulty)
    if issubclass(faulty, HiSparseAllocator):
        return "hisparse", AllocatorClasses(hisparse=faulty)
    if issubclass(faulty, DeepSeekV4HiSparseAllocator):
        return "hisparse-dsv4", AllocatorClasses(hisparse_dsv4=faulty)
    if issubclass(faulty, PageInterleaveAllocator):
        return "page-interleave", AllocatorClasses(page_interleave=faulty)
    if issubclass(faulty, MambaSlotAllocator):
        return "mamba-slots", AllocatorClasses(mamba_slots=faulty)
    return None
