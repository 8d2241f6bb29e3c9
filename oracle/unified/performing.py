"""What each call does on the reference allocators of the unified families, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oracle.call import Call
from oracle.fake_tree import FakeTree
from oracle.unified import band_alloc
from oracle.unified.pool import UnifiedPool

Value = Sequence[int] | None
Perform = Callable[[Any, Call], Value]
"""From a composite and a call, or from a band and a call, to the value of the outcome."""


class TreeFrees:
    """The frees that a tree makes, on a reference allocator (``oracle.fake_tree.TreeAllocator``)."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    def free_both(self, slots: Sequence[int], start_pos: int) -> None:
        """Both sides, through the composite."""
        self._pool.free_segment(slots, start_pos)

    def free_full_only(self, slots: Sequence[int], start_pos: int) -> None:
        """The FULL side, through the composite."""
        if "swa" in self._pool.bands:
            self._pool.free_full_segment(slots, start_pos)
        else:
            self._pool.free_segment(slots, start_pos)

    def free_swa(self, slots: Sequence[int], start_pos: int) -> None:
        """The SWA side, through the composite."""
        self._pool.free_swa_segment(slots, start_pos)

    def free_full_band(self, slots: Sequence[int], start_pos: int) -> None:
        """The FULL side, on the band itself."""
        self._pool.free_full_band(slots, start_pos)

    def free_state(self, state: int) -> None:
        """One state."""
        self._pool.wrapper.free([state])


def _evict(pool: Any, call: Call) -> Value:
    tree = FakeTree(call.tree, TreeFrees(pool)) if call.tree is not None else None
    if tree is not None:
        pool.evicted = tree.evicted
    verdict: bool | None = pool.evict(tree, call)
    return None if verdict is None else [int(verdict)]


def _check_decode(pool: Any, call: Call) -> Value:
    _evict(pool, call)
    return [int(pool.available_size() >= call.need)]


def _swa_need(call: Call) -> int:
    return call.need if call.need_swa is None else call.need_swa


def _plan(pool: Any, call: Call) -> Value:
    plan: tuple[int, int] | None = pool.reclaim_plan(
        call.need,
        _swa_need(call),
        (call.evictable_full, call.evictable_swa),
        empty=call.empty_pool,
        prefer_swa=call.prefer_swa,
    )
    return plan


ON_COMPOSITE: dict[str, Perform] = {
    "alloc": lambda pool, call: pool.alloc(call.need),
    "alloc_extend": lambda pool, call: pool.alloc_extend(call),
    "alloc_extend_swa_tail": lambda pool, call: pool.alloc_extend_swa_tail(call),
    "alloc_decode": lambda pool, call: pool.alloc_decode(call),
    "free": lambda pool, call: pool.free(call.slots),
    "free_swa": lambda pool, call: pool.free_swa(call.slots),
    "free_full": lambda pool, call: pool.free_full(call.slots),
    "free_segment": lambda pool, call: pool.free_segment(call.slots, call.start_pos),
    "free_swa_segment": lambda pool, call: pool.free_swa_segment(call.slots, call.start_pos),
    "free_full_segment": lambda pool, call: pool.free_full_segment(call.slots, call.start_pos),
    "free_segments": lambda pool, call: pool.free_segments(call.segments),
    "free_full_segments": lambda pool, call: pool.free_full_segments(call.segments),
    "free_group_begin": lambda pool, _: pool.free_group_begin(),
    "free_group_end": lambda pool, _: pool.free_group_end(),
    "flush_deferred": lambda pool, _: pool.flush_deferred(),
    "clear": lambda pool, _: pool.clear(),
    "ensure_capacity": lambda pool, call: [int(pool.ensure_capacity(call.need, _swa_need(call)))],
    "can_reserve": lambda pool, call: [int(pool.can_reserve(call, _swa_need(call)))],
    "reclaim_plan": _plan,
    "evict_to_free_tokens": _evict,
    "check_decode_capacity": _check_decode,
    "prepare_mamba_allocation": lambda pool, call: pool.prepare_states(call.need),
    "full_tokens_before_mamba_recheck": lambda pool, call: [pool.full_tokens_for_states(call.need)],
    "begin_forward": lambda pool, call: pool.begin_forward(call.event, call.slots),
    "fire_event": lambda pool, call: pool.fire_event(call.event),
    "set_full_to_swa_mapping": lambda pool, call: pool.bind_reserved(call.slots, call.peers),
    "finish_load": lambda pool, _: pool.finish_load(),
}


def _set_gate(pool: UnifiedPool, call: Call) -> Value:
    band = pool.bands[call.pool]  # type: ignore[index]
    pool.set_gate(band, call.gate, call.gate_state)
    return None


ON_BAND: dict[str, Perform] = {
    "flush": lambda pool, call: [pool.bands[call.pool].flush(urgent=call.urgent)],
    "translate": lambda pool, call: (
        [pool.state.v2p[state] for state in call.slots]
        if call.pool == "state"
        else pool.bands[call.pool].translate(call.slots)
    ),
    "set_move_gate": _set_gate,
    "free_segment": lambda pool, call: pool.free_full_band(call.slots, call.start_pos),
    "alloc": lambda pool, call: pool.wrapper.alloc(call.need),
    "free": lambda pool, call: pool.wrapper.free(call.slots),
    "alloc_group_begin": lambda pool, call: pool.wrapper.begin(call.need),
    "alloc_group_end": lambda pool, _: pool.wrapper.end(),
    "alloc_physical": lambda pool, call: band_alloc.alloc_physical(
        pool.bands[call.pool], call.need
    ),
    "cancel_physical_reservation": lambda pool, call: band_alloc.cancel_physical(
        pool.bands[call.pool], call.slots
    ),
    "make_room": lambda pool, call: [pool.swa.make_room(call.side, call.need)],
    "compact_holes": lambda pool, call: pool.swa.compact_holes(call.side),
}

SLOTS_RETURNED = frozenset(
    {
        "alloc",
        "alloc_extend",
        "alloc_extend_swa_tail",
        "alloc_decode",
        "translate",
        "alloc_physical",
    }
)
"""The calls that return a tensor."""
