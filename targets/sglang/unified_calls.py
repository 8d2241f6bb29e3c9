"""One call on a release's unified allocator: which method it is, with which arguments, and what it answers.

Guarantees nothing about failures: what the allocator raises passes through (``unified_allocator`` classifies it).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from oracle.call import Call
from targets.call_arguments import Arguments
from targets.sglang.unified_release import Engine
from targets.sglang.unified_stream import Stream
from targets.sglang.unified_tree import ReleaseTree

GATES = ("disagg_move_gate", "host_transfer_move_gate")


RELEASE_NAMES: dict[str, tuple[str, ...]] = {
    "flush": ("flush_for_allocation", "flush_opportunistic"),
    "flush_deferred": ("flush_deferred_full_frees",),
    "translate": ("translate_kv_loc",),
    "set_move_gate": (),
    "begin_forward": ("set_latest_forward_done_event", "set_inflight_forward"),
    "fire_event": (),
    "finish_load": ("set_hicache_transfer_done_event",),
}
"""By which methods a release performs a call that has another name there; none where the caller does it by itself."""


def release_names(methods: Iterable[str]) -> frozenset[str]:
    """The releases' own names of calls."""
    return frozenset(name for method in methods for name in RELEASE_NAMES.get(method, (method,)))


STATES_METHODS = frozenset({"alloc", "free", "alloc_group_begin", "alloc_group_end"})
"""The calls for states that are made on the allocator of states, not on its band."""


class Performer:
    """Performs calls on one allocator and on that of its states (None where it has none). ``tree`` is that of the last call, None where it had none."""

    def __init__(
        self, allocator: Any, bands: Mapping[Any, Any], states: Any, engine: Engine, device: str
    ) -> None:
        self._allocator = allocator
        self._bands = bands
        self._states = states
        self._engine = engine
        self._device = device
        self._stream = Stream()
        self._gates: dict[tuple[str, int], bool] = {}
        self.tree: ReleaseTree | None = None

    def perform(self, call: Call, arguments: Arguments) -> Any:
        """What the release answers: a tensor, a number, a verdict, a pair, None."""
        self.tree = None
        self._engine.prefer_swa = call.prefer_swa
        special = _SPECIAL.get(call.method)
        if special is not None:
            return special(self, call, arguments)
        subject = self._subject(call)
        return getattr(subject, call.method)(*arguments.positional, **arguments.named)

    def _subject(self, call: Call) -> Any:
        if call.pool == "composite":
            return self._allocator
        if call.pool == "state" and call.method in STATES_METHODS:
            return self._states
        return self._bands[call.pool]

    def _band(self, call: Call) -> Any:
        return self._bands[call.pool]

    def _clear(self, _call: Call, _: Arguments) -> None:
        self._allocator.clear()
        if self._states is not None:
            self._states.clear()

    def _flush(self, call: Call, _: Arguments) -> Any:
        band = self._band(call)
        return band.flush_for_allocation() if call.urgent else band.flush_opportunistic()

    def _flush_deferred(self, _call: Call, _: Arguments) -> Any:
        return self._allocator.flush_deferred_full_frees()

    def _ensure(self, call: Call, _: Arguments) -> Any:
        return self._allocator.ensure_capacity(call.need, _swa_need(call))

    def _can_reserve(self, call: Call, _: Arguments) -> Any:
        return self._allocator.can_reserve(
            call.need,
            _swa_need(call),
            full_evictable_tokens=call.evictable_full,
            swa_evictable_tokens=call.evictable_swa,
            empty_pool=call.empty_pool,
            require_token_slack=call.token_slack,
        )

    def _plan(self, call: Call, _: Arguments) -> Any:
        plan = self._allocator.reclaim_plan
        named: dict[str, Any] = {}
        if "prefer_swa" in inspect.signature(plan).parameters:
            named["prefer_swa"] = call.prefer_swa
        return plan(
            call.need,
            _swa_need(call),
            full_evictable_tokens=call.evictable_full,
            swa_evictable_tokens=call.evictable_swa,
            empty_pool=call.empty_pool,
            **named,
        )

    def _make_tree(self, call: Call) -> None:
        if call.tree is not None:
            self.tree = ReleaseTree(call.tree, self._allocator, self._device)

    def _evict(self, call: Call, _: Arguments) -> Any:
        self._make_tree(call)
        named = {} if call.need_swa is None else {"swa_num_tokens": call.need_swa}
        return self._allocator.evict_to_free_tokens(self.tree, call.need, **named)

    def _check_decode(self, call: Call, _: Arguments) -> Any:
        self._make_tree(call)
        return self._allocator.check_decode_capacity(num_tokens=call.need, tree_cache=self.tree)

    def _prepare_states(self, call: Call, _: Arguments) -> Any:
        return self._allocator.prepare_mamba_allocation(call.need)

    def _tokens_for_states(self, call: Call, _: Arguments) -> Any:
        return self._allocator.full_tokens_before_mamba_recheck(call.need)

    def _translate(self, call: Call, arguments: Arguments) -> Any:
        band, slots = self._band(call), arguments.positional[0]
        if call.pool == "state":
            return self._states.translate(slots.long())
        return band.translate_kv_loc(slots)

    def _set_gate(self, call: Call, _: Arguments) -> None:
        band = self._band(call)
        key = (call.pool, call.gate)
        self._gates.pop(key, None)
        if call.gate_state != "absent":
            self._gates[key] = call.gate_state == "open"
        if hasattr(band, GATES[1]):
            answer = self._gates.get(key)
            setattr(band, GATES[call.gate], None if answer is None else lambda: answer)
            return
        # 0.5.20 has one gate: its caller has both reasons answered there.
        answers = [self._gates[pool, gate] for pool, gate in self._gates if pool == call.pool]
        setattr(band, GATES[0], (lambda: all(answers)) if answers else None)

    def _begin_forward(self, call: Call, _: Arguments) -> None:
        event = self._stream.event(call.event)
        written = Arguments(call, self._device).index(call.slots).long()
        for name, band in self._bands.items():
            # States are written by kernels of their own, of which this call says nothing.
            if name != "state":
                band.set_latest_forward_done_event(event)
                band.set_inflight_forward(event, written)

    def _fire_event(self, call: Call, _: Arguments) -> None:
        self._stream.event(call.event).fired = True

    def _finish_load(self, _call: Call, _: Arguments) -> None:
        self._allocator.set_hicache_transfer_done_event("load", self._stream.completed())

    def _make_room(self, call: Call, _: Arguments) -> Any:
        return self._band(call).make_room(side=call.side, min_bytes=call.need)

    def _compact_holes(self, call: Call, _: Arguments) -> None:
        self._band(call).compact_holes(retreat_side=call.side)

    def _cancel(self, call: Call, arguments: Arguments) -> Any:
        return self._band(call).cancel_physical_reservation(arguments.index(call.slots))

    def _alloc_physical(self, call: Call, _: Arguments) -> Any:
        return self._band(call).alloc_physical(call.need)


def _swa_need(call: Call) -> int:
    return call.need if call.need_swa is None else call.need_swa


_SPECIAL: dict[str, Callable[[Performer, Call, Arguments], Any]] = {
    "clear": Performer._clear,
    "flush": Performer._flush,
    "flush_deferred": Performer._flush_deferred,
    "ensure_capacity": Performer._ensure,
    "can_reserve": Performer._can_reserve,
    "reclaim_plan": Performer._plan,
    "evict_to_free_tokens": Performer._evict,
    "check_decode_capacity": Performer._check_decode,
    "prepare_mamba_allocation": Performer._prepare_states,
    "full_tokens_before_mamba_recheck": Performer._tokens_for_states,
    "translate": Performer._translate,
    "set_move_gate": Performer._set_gate,
    "begin_forward": Performer._begin_forward,
    "fire_event": Performer._fire_event,
    "finish_load": Performer._finish_load,
    "make_room": Performer._make_room,
    "compact_holes": Performer._compact_holes,
    "cancel_physical_reservation": Performer._cancel,
    "alloc_physical": Performer._alloc_physical,
}
"""The calls that are not a method of the same name with the arguments of ``targets.call_arguments``."""
