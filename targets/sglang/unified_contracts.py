"""Which contract a release follows for the unified families: the table of contract_unified §12, row by row.

What ``targets.sglang.contracts`` says of rows holds here too: a lost page or an unflushed pile is a finding, never a row.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, structs

from oracle.contract import Contract, current_contract
from oracle.geometry import UNIFIED_FAMILIES

FIRST = 20
"""The first release 0.5.N whose unified allocators stand in modules of their own."""

PEERED = ("unified-swa", "unified-mamba-swa")


class UnifiedBehaviour(Struct, frozen=True):
    """One row: the releases 0.5.20 to 0.5.``last`` make ``choices``, newer ones those of the newest contract."""

    topic: str
    last: int
    choices: dict[str, Any]
    families: tuple[str, ...] = PEERED


class UnifiedAbsence(Struct, frozen=True):
    """The releases up to 0.5.``last`` do not have ``methods``."""

    methods: frozenset[str]
    last: int


BEHAVIOURS: tuple[UnifiedBehaviour, ...] = (
    UnifiedBehaviour("free_swa_segment", 22, {"unbound_pages": "filtered"}),
    UnifiedBehaviour("free_full_segment", 22, {"full_only_segments": "two-sided"}),
    UnifiedBehaviour("free_segment ps=1", 22, {"single_slot_segments": "set-shaped"}),
    UnifiedBehaviour("segment invariants", 22, {"invariants": frozenset()}),
    UnifiedBehaviour("evict", 22, {"eviction": "planned-without-stopping"}, ("unified-swa",)),
    UnifiedBehaviour(
        "evict: tri rewritten",
        22,
        {"eviction": "per-side", "eviction_verdict": "none", "capacity_gate": "ladder"},
        ("unified-mamba-swa",),
    ),
    UnifiedBehaviour("hole choice", 22, {"hole_choice": "list-head"}, UNIFIED_FAMILIES),
    UnifiedBehaviour("translate", 21, {"strange_ids": "undefined"}, UNIFIED_FAMILIES),
    UnifiedBehaviour("capacities: prefer_swa", 21, {"plan_prefers_swa": False}, ("unified-swa",)),
    UnifiedBehaviour("evict", 20, {"eviction": "per-side"}, ("unified-swa",)),
    UnifiedBehaviour(
        "capacities",
        20,
        {"eviction_takes_swa": False, "eviction_verdict": "none", "capacity_gate": "ladder"},
        ("unified-swa",),
    ),
    UnifiedBehaviour("capacities: tail", 20, {"tail_gate": "all-pages"}),
)
"""§12, the rows in which right allocators may differ. Of two rows of a topic the later one holds where both reach."""

ABSENCES: tuple[UnifiedAbsence, ...] = (
    UnifiedAbsence(frozenset({"reclaim_plan", "can_reserve", "ensure_capacity"}), 20),
    UnifiedAbsence(frozenset({"alloc_physical", "cancel_physical_reservation", "finish_load"}), 21),
)
"""§12, "capacities" and "load-back reservations"."""


def unified_contract(number: int, family: str, *, power_of_two_pages: bool) -> Contract | None:
    """The contract of 0.5.``number`` for a unified family, None where it has none."""
    if family not in UNIFIED_FAMILIES or number < FIRST:
        return None
    newest = current_contract(family, power_of_two_pages=power_of_two_pages)
    choices: dict[str, Any] = {}
    for row in BEHAVIOURS:
        if family in row.families and number <= row.last:
            choices.update(row.choices)
    absent = frozenset[str]().union(*(row.methods for row in ABSENCES if number <= row.last))
    return structs.replace(
        newest,
        methods=newest.methods - absent,
        pool_methods=newest.pool_methods - absent,
        **choices,
    )
