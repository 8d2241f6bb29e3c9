"""Which calls an allocator of each unified family takes (contract_unified §5 to §10)."""

from __future__ import annotations

_TOKENS = frozenset(
    {
        "alloc",
        "alloc_extend",
        "alloc_decode",
        "free",
        "free_segment",
        "free_segments",
        "free_group_begin",
        "free_group_end",
        "clear",
        "evict_to_free_tokens",
        "check_decode_capacity",
        "begin_forward",
        "fire_event",
    }
)
_PEERS = frozenset(
    {
        "alloc_extend_swa_tail",
        "free_swa",
        "free_full",
        "free_swa_segment",
        "free_full_segment",
        "free_full_segments",
        "ensure_capacity",
        "can_reserve",
        "set_full_to_swa_mapping",
        "finish_load",
    }
)
_STATES = frozenset(
    {"flush_deferred", "prepare_mamba_allocation", "full_tokens_before_mamba_recheck"}
)

UNIFIED_METHODS: dict[str, frozenset[str]] = {
    "unified-swa": _TOKENS | _PEERS | {"reclaim_plan"},
    "unified-mamba-swa": _TOKENS | _PEERS | _STATES,
    "unified-mamba": _TOKENS | _STATES,
}
"""The calls on the composite, by family. ``begin_forward`` and ``fire_event`` are the caller's stream, not a method."""

_BAND = frozenset({"free_segment", "flush", "translate", "set_move_gate"})
_LOAD = frozenset({"alloc_physical", "cancel_physical_reservation"})
_STATE_SLOTS = frozenset({"alloc", "free", "alloc_group_begin", "alloc_group_end"})

UNIFIED_BAND_METHODS: dict[str, frozenset[str]] = {
    "unified-swa": _BAND | _LOAD,
    "unified-mamba-swa": _BAND | _LOAD | _STATE_SLOTS | {"make_room", "compact_holes"},
    "unified-mamba": _BAND | _STATE_SLOTS,
}
"""The calls on a band: ``free_segment`` is asked of FULL only; ``alloc``, ``free`` and the alloc groups of the states only, that
is of the allocator of states above their band (§10); ``_LOAD``, ``make_room`` and ``compact_holes`` of SWA only."""
