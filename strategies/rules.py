"""Which kinds of operation a machine draws, how often, and from which arguments: the operation table seen by Hypothesis.

Guarantees a rule for each kind of the family that the target has the methods for (hostile kinds only for callers that
may be hostile). Hypothesis picks rules evenly, then switches some off for the whole example (swarm testing, by name);
the weights of the table become repeated rules and rules that rest most of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis.strategies import SearchStrategy

from oracle import operations as op
from oracle.contract import Contract
from oracle.geometry import Family
from oracle.trace import Callers
from strategies.arguments import arguments_of

NEEDED_METHODS: dict[type[op.Base], frozenset[str]] = {
    op.ExtendTail: frozenset({"alloc_extend_swa_tail"}),
    op.Recover: frozenset({"set_full_to_swa_mapping"}),
    op.TransferPeers: frozenset({"set_full_to_swa_mapping", "clear_full_to_swa_mapping"}),
    op.ReturnPeers: frozenset({"clear_full_to_swa_mapping"}),
    op.ClearMapping: frozenset({"clear_full_to_swa_mapping"}),
    op.Evict: frozenset({"free_swa"}),
    op.FreePages: frozenset({"free_page_ids"}),
    op.Resize: frozenset({"resize"}),
    op.Backup: frozenset({"backup_state"}),
    op.Restore: frozenset({"restore_state"}),
    op.FlushDeferred: frozenset({"flush_deferred"}),
    op.BeginForward: frozenset({"begin_forward"}),
    op.FireEvent: frozenset({"fire_event"}),
    op.BindReserved: frozenset({"set_full_to_swa_mapping"}),
    op.FinishLoad: frozenset({"finish_load"}),
    op.Translate: frozenset({"translate_loc_from_full_to_swa"}),
    op.LogicalExtend: frozenset({"alloc_logical_only"}),
    op.DeviceBuffer: frozenset({"alloc_device_buffer"}),
    op.FreeDeviceBuffer: frozenset({"free_hisparse_indices"}),
    op.FreeDevice: frozenset({"free_hisparse"}),
    op.SpecScratch: frozenset({"configure_spec_scratch"}),
    op.SlotReserve: frozenset({"request_slot_reserve"}),
    op.RotatedExtend: frozenset({"alloc_extend"}),
    op.AllocCyclic: frozenset({"alloc_cyclic"}),
    op.AllocGroupBegin: frozenset({"alloc_group_begin"}),
    op.AllocGroupEnd: frozenset({"alloc_group_end"}),
}
"""The methods without which an operation can do nothing, where its fields do not name its method."""

OFTEN = 6
"""Kinds of this weight or more have two rules: more copies cost more than they bring (hypothesis_engineering §9)."""

SELDOM = 1
"""Kinds of this weight or less rest in every second step."""


@dataclass(frozen=True)
class RuleSpecification:
    """One rule: its operation, a strategy for each drawn field, how often it is repeated, and whether it often rests."""

    kind: type[op.Base]
    arguments: dict[str, SearchStrategy[Any]]
    copies: int = 1
    rests: bool = False

    @property
    def name(self) -> str:
        """The rule's name in the programs that Hypothesis prints; swarm testing switches by it."""
        return op.kind_of(self.kind()).replace("-", "_")


def rules_for(family: Family, contract: Contract, callers: Callers) -> list[RuleSpecification]:
    """The rules of a machine for ``family``."""
    rules = []
    methods = contract.methods
    if family in op.STATEFUL:
        # The allocator of states is one below the composite.
        methods |= contract.pool_methods
    for row in op.OPERATION_TABLE:
        legal = callers == "legal"
        if family not in row.families or (row.hostile and legal):
            continue
        if not NEEDED_METHODS.get(row.operation, frozenset()) <= methods:
            continue
        arguments = arguments_of(row.operation, methods=contract.methods, legal=legal)
        if arguments is None:
            continue
        doubled = row.weight >= OFTEN or (row.hostile and callers == "hostile")
        rules.append(
            RuleSpecification(
                kind=row.operation,
                arguments=arguments,
                copies=2 if doubled else 1,
                rests=(row.weight <= SELDOM or family in row.seldom) and not row.hostile,
            )
        )
    return rules
