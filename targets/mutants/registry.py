"""The list of mutants.

Guarantees that names are unique and that each mutant's fault sits in the class of its family. Builds no allocator.
"""

from __future__ import annotations

from targets.eager.target import EagerTarget
from targets.mutants import (
    content_faults,
    debug_faults,
    hisparse_dsv4_faults,
    hisparse_faults,
    hybrid_allocation_faults,
    hybrid_group_faults,
    hybrid_lifecycle_faults,
    hybrid_segment_faults,
    hybrid_set_faults,
    hybrid_signal_faults,
    mamba_slots_faults,
    page_free_faults,
    page_interleave_faults,
    page_list_faults,
    page_plan_faults,
    pure_swa_faults,
    row_faults,
    swa_ring_faults,
    token_faults,
    unified_band_faults,
    unified_capacity_faults,
    unified_group_faults,
    unified_state_faults,
)
from targets.mutants.mutant import Mutant

_MODULES = (
    token_faults,
    page_list_faults,
    page_plan_faults,
    page_free_faults,
    debug_faults,
    hybrid_allocation_faults,
    hybrid_segment_faults,
    hybrid_set_faults,
    hybrid_group_faults,
    hybrid_signal_faults,
    hybrid_lifecycle_faults,
    content_faults,
    unified_group_faults,
    unified_band_faults,
    unified_capacity_faults,
    unified_state_faults,
    mamba_slots_faults,
    pure_swa_faults,
    swa_ring_faults,
    page_interleave_faults,
    hisparse_faults,
    hisparse_dsv4_faults,
    row_faults,
)


def _by_name() -> dict[str, Mutant]:
    named: dict[str, Mutant] = {}
    for module in _MODULES:
        for mutant in module.FAULTS.mutants:
            if mutant.name in named:
                raise ValueError(f"two mutants are called {mutant.name}")
            named[mutant.name] = mutant
    return named


MUTANTS: dict[str, Mutant] = _by_name()


def make_mutant(name: str, device: str = "cpu") -> EagerTarget:
    """The target ``mutant:NAME``. Raises KeyError for a name that is not in ``MUTANTS``."""
    return EagerTarget(device, name=f"mutant:{name}", classes=MUTANTS[name].classes)
