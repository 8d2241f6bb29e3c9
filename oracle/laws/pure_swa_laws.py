"""The laws of the allocator whose layers all slide: one pool, a mapping that never changes (contract_paged_swa §6.8, §15.4)."""

from __future__ import annotations

from msgspec import structs

from oracle.call import Call
from oracle.laws.family_laws import FamilyLaws
from oracle.laws.made_call import MadeCall
from oracle.laws.violation import CAPACITY_WITHIN_SIZE, IDENTITY_MAPPING, RETURNED_SLOTS, Violation
from oracle.laws.wording import near
from oracle.observation import Outcome, Snapshot
from oracle.ownership import Ownership

SIDES = ("full_available_size", "swa_available_size")


class PureSwaLaws(FamilyLaws):
    """The laws of a pool of slots, and that both sides are that pool."""

    def judge_call(self, made: MadeCall[Snapshot], books: Ownership) -> Violation | None:
        """Judge one call. A resize gives the one pool the SWA size."""
        call = made.call
        if call.method == "resize":
            made = structs.replace(made, call=structs.replace(call, size=call.size_swa))
        return super().judge_call(made, books) or _judge_translation(call, made.outcome)

    def judge_state(self, after: Snapshot, books: Ownership) -> Violation | None:
        """Judge the state, and that the mapping and both sides are what they always are."""
        return super().judge_state(after, books) or _judge_mapping(after) or _judge_sides(after)

    def view(self, state: Snapshot) -> Snapshot:
        """The pool without the mapping, which says nothing about owners. What waits may name slot 0, which is never released."""
        group = state.group
        if group is not None:
            group = [[slot for slot in entry if slot > 0] for entry in group]
        return structs.replace(state, mapping=None, group=group)


def _judge_translation(call: Call, outcome: Outcome) -> Violation | None:
    """A slot is its own peer."""
    if call.method != "translate_loc_from_full_to_swa" or outcome.value in (None, call.slots):
        return None
    return Violation(
        law=RETURNED_SLOTS,
        pool="swa",
        expected=f"the slots themselves: {near(call.slots, 0)}",
        got=near(outcome.value or (), 0) or "none",
    )


def _judge_mapping(after: Snapshot) -> Violation | None:
    """The mapping is the identity and its sentinel."""
    mapping = after.mapping or []
    identity = [*range(len(mapping) - 1), -1]
    if mapping == identity:
        return None
    pairs = zip(mapping, identity, strict=False)
    at = next((at for at, (got, want) in enumerate(pairs) if got != want), 0)
    return Violation(
        law=IDENTITY_MAPPING,
        pool="swa",
        expected="every slot maps to itself, and the last entry is -1",
        got=near(mapping, at) or "an empty mapping",
    )


def _judge_sides(after: Snapshot) -> Violation | None:
    """Both sides have the slots of the one pool left."""
    available = after.full.available
    for query in SIDES:
        if after.queries.get(query, available) != available:
            return Violation(
                law=CAPACITY_WITHIN_SIZE,
                pool="",
                expected=f"{query} {available}: both sides are one pool",
                got=f"{query} {after.queries[query]}",
            )
    return None
