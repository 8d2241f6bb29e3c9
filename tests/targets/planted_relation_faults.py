"""Allocators that break one relation and nothing else that it does not look at: for each relation a fault in front of ``eager``.

For the pairs of a relation and a family that no mutant stands for (``tests.targets.broken_relations`` has those).
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from oracle.call import Call
from oracle.contract import Contract
from oracle.geometry import Geometry, Mode
from oracle.observation import Outcome
from oracle.trace import RelationName
from oracle.unified_observation import AnySnapshot
from targets.registry import make_target

EVICTIONS = frozenset({"free_swa_segment", "evict_out_of_window"})


class PlantedTarget:
    """``eager`` with the fault of ``relation`` in front of it."""

    def __init__(self, relation: RelationName) -> None:
        self.versions: dict[str, str] = {}
        self.name = f"planted:{relation}"
        self._eager = make_target("eager")
        self._fault = FAULTS[relation]
        self.geometry = Geometry(family="token", size=1)
        self.group_open = self.prepared = False
        self.evictions = 0

    def contract(self, family: str) -> Contract | None:
        return self._eager.contract(family)

    def reset(self, geometry: Geometry, mode: Mode) -> None:
        self.geometry = geometry
        self.group_open = self.prepared = False
        self.evictions = 0
        self._eager.reset(geometry, mode)

    def snapshot(self) -> AnySnapshot:
        return self._eager.snapshot()

    def apply(self, call: Call) -> Outcome:
        outcome = self._fault(self, call)
        if call.method in ("free_group_begin", "free_group_end"):
            self.group_open = call.method == "free_group_begin"
        if call.method in ("alloc_group_begin", "alloc_group_end"):
            self.prepared = call.method == "alloc_group_begin"
        return outcome

    def made(self, call: Call) -> Outcome:
        """What the call does where the fault is not."""
        return self._eager.apply(call)


def _frees_in_groups_forgotten(target: PlantedTarget, call: Call) -> Outcome:
    frees = call.method.startswith(("free", "evict_out_of"))
    if target.group_open and frees and call.method != "free_group_end":
        return Outcome()
    return target.made(call)


def _segments_forgotten(target: PlantedTarget, call: Call) -> Outcome:
    return Outcome() if call.method.endswith("_segment") else target.made(call)


def _rows_reversed(target: PlantedTarget, call: Call) -> Outcome:
    outcome = target.made(call)
    value = outcome.value
    return outcome if value is None else replace(outcome, value=tuple(reversed(value)))


def _both_sides_forgotten(target: PlantedTarget, call: Call) -> Outcome:
    return Outcome() if call.method in ("free", "free_segment") else target.made(call)


def _every_second_eviction_forgotten(target: PlantedTarget, call: Call) -> Outcome:
    target.evictions += call.method in EVICTIONS
    forgotten = call.method in EVICTIONS and target.evictions % 2 == 0
    return Outcome() if forgotten else target.made(call)


def _rows_reversed_in_odd_pools(target: PlantedTarget, call: Call) -> Outcome:
    pages = target.geometry.size // target.geometry.page_size
    return _rows_reversed(target, call) if pages % 2 else target.made(call)


def _prepared_states_shifted(target: PlantedTarget, call: Call) -> Outcome:
    outcome = target.made(call)
    if target.prepared and outcome.value:
        return replace(outcome, value=tuple(slot + 1 for slot in outcome.value))
    return outcome


def _flushes_forgotten(target: PlantedTarget, call: Call) -> Outcome:
    return Outcome() if call.method == "flush_deferred" else target.made(call)


def _evictions_refused_in_groups(target: PlantedTarget, call: Call) -> Outcome:
    if target.group_open and call.method in ("evict_to_free_tokens", "check_decode_capacity"):
        return Outcome(value=(2,))
    return target.made(call)


FAULTS: dict[RelationName, Callable[[PlantedTarget, Call], Outcome]] = {
    "grouped": _frees_in_groups_forgotten,
    "segment-form": _segments_forgotten,
    "extend-in-two": _rows_reversed,
    "each-side": _both_sides_forgotten,
    "evict-in-two": _every_second_eviction_forgotten,
    "spare-pages": _rows_reversed_in_odd_pools,
    "alloc-group": _prepared_states_shifted,
    "flush-deferred": _flushes_forgotten,
    "eviction-in-group": _evictions_refused_in_groups,
}
