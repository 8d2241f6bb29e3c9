"""Performs a ``Call`` on one of our unified allocators, and writes the fake KV of what it returned.

Guarantees the same as ``targets.driver.perform``: whatever is raised becomes part of the outcome, and the caller overwrites what
it passed after the returned slots were read. Numbers count on from call to call (``oracle.kv_content``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import torch

from oracle.fake_tree import FakeTree
from oracle.kv_content import written_by
from oracle.observation import Eviction, Outcome
from targets.call_arguments import Arguments
from targets.driver import classify, finish
from targets.eager.unified.eviction import TreeFrees
from targets.watching import watching, watching_now

if TYPE_CHECKING:
    from oracle.call import Call
    from targets.hits import HitRecorder

STATIC_FORMS = frozenset(
    {
        "alloc", "alloc_extend", "alloc_extend_swa_tail", "alloc_decode", "free", "free_swa",
        "free_full", "free_segment", "free_swa_segment", "free_full_segment", "free_segments",
        "free_full_segments", "free_group_begin", "free_group_end", "set_full_to_swa_mapping",
        "clear", "alloc_group_begin",
    }
)  # fmt: skip
"""Calls whose arguments are those of the allocators of fixed pools."""

STATE_FORMS = frozenset({"alloc", "free", "alloc_group_begin", "alloc_group_end"})
"""Calls on pool ``state`` that the allocator of states takes and not its band."""

GATE_ANSWERS = {"closed": False, "open": True, "absent": None}


class Performer:
    """Makes calls on ``allocator`` with tensors on ``device``; the invariants that were hit are read from ``observe``."""

    def __init__(self, allocator: Any, device: str, observe: HitRecorder) -> None:
        self._allocator = allocator
        self._device = device
        self._observe = observe
        self._number = 1

    def perform(self, call: Call) -> Outcome:
        """Make ``call`` and say what came of it. Raises nothing that the allocator raises."""
        self._observe.restart()
        self._allocator.copies.clear()
        arguments = Arguments(call, self._device, separate=watching_now())
        tree = self._tree(call)
        value, dtype, error, message = None, "", "", ""
        try:
            with watching(arguments.twins):
                result = self._invoke(call, arguments, tree)
            value, dtype = _as_value(result)
            finish(self._device)
        except Exception as raised:  # noqa: BLE001 (everything an allocator raises is an observation)
            value, dtype = None, ""
            error, message = classify(raised), str(raised)
        if call.overwrite:
            arguments.overwrite()
        evicted: tuple[Eviction, ...] = tuple(tree.evicted) if tree is not None else ()
        outcome = Outcome(
            value=value,
            error=error,
            message=message,
            hits=self._observe.hits,
            counted=self._observe.counts,
            dtype=dtype,
            evicted=evicted,
        )
        self._write(call, outcome)
        return outcome

    def _tree(self, call: Call) -> FakeTree | None:
        if call.tree is None:
            return None
        return FakeTree(call.tree, TreeFrees(self._allocator, self._device))

    def _invoke(self, call: Call, arguments: Arguments, tree: FakeTree | None) -> Any:
        special = _SPECIAL.get(call.method)
        if special is not None:
            return special(self._allocator, call, arguments, tree)
        method = getattr(self._subject(call), call.method)
        if call.method in STATIC_FORMS:
            return method(*arguments.positional, **arguments.named)
        return method()

    def _subject(self, call: Call) -> Any:
        if call.pool == "composite":
            return self._allocator
        if call.pool == "state" and call.method in STATE_FORMS:
            return self._allocator.state_slots
        return self._allocator.bands[call.pool]

    def _write(self, call: Call, outcome: Outcome) -> None:
        slots, names = written_by(call, outcome)
        if not slots:
            return
        for band in (self._allocator.bands[n] for n in names if n in self._allocator.bands):
            v2p, size = band.table.v2p.tolist(), band.page_size
            # Of slots that share a place the last one is read, which a device alone would not promise.
            written: dict[int, int] = {}
            for number, slot in enumerate(slots, self._number):
                virtual = slot // size
                page = v2p[virtual] if -len(v2p) <= virtual < len(v2p) else 0
                # A damaged allocator may name pages that the band has not got.
                if 0 < page <= band.pages:
                    written[page * size + slot % size] = number
            band.table.content[self._on_device(written)] = self._on_device(written.values())
        self._number += len(slots)

    def _on_device(self, values: Iterable[int]) -> torch.Tensor:
        return torch.tensor(list(values), dtype=torch.int64, device=self._device)


def _as_value(result: Any) -> tuple[tuple[int, ...] | None, str]:
    if result is None:
        return None, ""
    if isinstance(result, torch.Tensor):
        return tuple(result.tolist()), str(result.dtype).removeprefix("torch.")
    if isinstance(result, tuple):
        return result, ""
    return (int(result),), ""


def _other_side(call: Call) -> int:
    return call.need if call.need_swa is None else call.need_swa


def _reclaim_plan(allocator: Any, call: Call, *_: Any) -> Any:
    return allocator.reclaim_plan(
        call.need,
        _other_side(call),
        evictable_full=call.evictable_full,
        evictable_swa=call.evictable_swa,
        empty_pool=call.empty_pool,
        prefer_swa=call.prefer_swa,
    )


def _can_reserve(allocator: Any, call: Call, *_: Any) -> Any:
    return allocator.can_reserve(
        call.need,
        _other_side(call),
        evictable_full=call.evictable_full,
        evictable_swa=call.evictable_swa,
        empty_pool=call.empty_pool,
        require_token_slack=call.token_slack,
    )


def _evict(allocator: Any, call: Call, _arguments: Arguments, tree: FakeTree | None) -> Any:
    return allocator.evict_to_free_tokens(
        tree, call.need, call.need_swa, prefer_swa=call.prefer_swa
    )


def _check_decode(allocator: Any, call: Call, _arguments: Arguments, tree: FakeTree | None) -> Any:
    return allocator.check_decode_capacity(
        tree, call.need, call.need_swa, prefer_swa=call.prefer_swa
    )


def _translate(allocator: Any, call: Call, arguments: Arguments, _tree: Any) -> Any:
    slots = arguments.positional[0]
    if call.pool == "state":
        return allocator.state_slots.translate(slots)
    return allocator.bands[call.pool].table.translate(slots)


def _begin_forward(allocator: Any, call: Call, arguments: Arguments, _tree: Any) -> None:
    allocator.begin_forward(call.event, arguments.index(call.slots).to(torch.int64))


def _set_move_gate(allocator: Any, call: Call, *_: Any) -> None:
    allocator.bands[call.pool].gates[call.gate] = GATE_ANSWERS[call.gate_state]


def _cancel(allocator: Any, call: Call, arguments: Arguments, _tree: Any) -> None:
    allocator.cancel_physical_reservation(arguments.index(call.slots))


_SPECIAL: dict[str, Callable[..., Any]] = {
    "flush": lambda a, call, *_: a.bands[call.pool].flush(urgent=call.urgent),
    "ensure_capacity": lambda a, call, *_: a.ensure_capacity(call.need, _other_side(call)),
    "reclaim_plan": _reclaim_plan,
    "can_reserve": _can_reserve,
    "evict_to_free_tokens": _evict,
    "check_decode_capacity": _check_decode,
    "prepare_mamba_allocation": lambda a, call, *_: a.prepare_mamba_allocation(call.need),
    "full_tokens_before_mamba_recheck": (
        lambda a, call, *_: a.full_tokens_before_mamba_recheck(call.need)
    ),
    "translate": _translate,
    "set_move_gate": _set_move_gate,
    "begin_forward": _begin_forward,
    "fire_event": lambda a, call, *_: a.fire_event(call.event),
    "alloc_physical": lambda a, call, *_: a.alloc_physical(call.need),
    "cancel_physical_reservation": _cancel,
    "make_room": lambda a, call, *_: a.bands[call.pool].make_room(call.side, call.need),
    "compact_holes": lambda a, call, *_: a.bands[call.pool].compact_holes(call.side),
}
"""How the calls that only unified allocators have are made."""
