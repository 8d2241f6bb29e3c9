"""Which calls an allocator of each further family takes (contract_paged_swa §6 to §9)."""

from __future__ import annotations

_FREES = frozenset(
    {
        "free",
        "free_full",
        "free_segment",
        "free_full_segment",
        "free_segments",
        "free_full_segments",
    }
)
_SWA_FREES = frozenset({"free_swa", "free_swa_segment"})
_GROUP = frozenset({"free_group_begin", "free_group_end"})
_TIER = frozenset(
    {
        "alloc",
        "alloc_extend",
        "alloc_decode",
        "alloc_logical_only",
        "alloc_device_buffer",
        "free_hisparse",
        "free_hisparse_indices",
        "clear",
    }
)

FAMILY_METHODS: dict[str, frozenset[str]] = {
    "pure-swa": _FREES
    | _SWA_FREES
    | _GROUP
    | {
        "alloc",
        "alloc_extend",
        "alloc_decode",
        "alloc_extend_swa_tail",
        "set_full_to_swa_mapping",
        "clear_full_to_swa_mapping",
        "translate_loc_from_full_to_swa",
        "clear",
        "resize",
    },
    "swa-ring": _FREES
    | _SWA_FREES
    | _GROUP
    | {
        "alloc_extend",
        "alloc_decode",
        "alloc_extend_swa_tail",
        "translate_loc_from_full_to_swa",
        "clear",
        "take_request_slots",
        "return_request_slots",
    },
    "hisparse": _FREES | _GROUP | _TIER | {"configure_spec_scratch", "request_slot_reserve"},
    "hisparse-dsv4": _FREES
    | _SWA_FREES
    | _GROUP
    | _TIER
    | {"alloc_extend_swa_tail", "translate_loc_from_full_to_swa"},
    "page-interleave": (_FREES - {"free_full", "free_full_segment", "free_full_segments"})
    | _GROUP
    | {
        "alloc",
        "alloc_extend",
        "alloc_decode",
        "alloc_cyclic",
        "merge_and_sort_free",
        "clear",
        "resize",
    },
    "hybrid-rows": _FREES
    | _SWA_FREES
    | _GROUP
    | {
        "alloc",
        "alloc_extend",
        "alloc_decode",
        "alloc_extend_swa_tail",
        "set_full_to_swa_mapping",
        "clear_full_to_swa_mapping",
        "translate_loc_from_full_to_swa",
        "clear",
        "evict_out_of_window",
        "free_row_segments",
        "free_row",
    },
    "mamba-slots": frozenset({"alloc", "free", "alloc_group_begin", "alloc_group_end", "clear"}),
}
"""The calls on the allocator itself. ``take_request_slots`` and ``return_request_slots`` are the caller's own pool of request
slots; methods that the family refuses (``NotImplementedError``) are among them, so that the refusal can be asked for."""

FAMILY_POOL_METHODS: dict[str, frozenset[str]] = {
    "swa-ring": frozenset({"free_segment", "merge_and_sort_free"}),
    "hybrid-rows": frozenset({"alloc", "free", "free_segment", "merge_and_sort_free"}),
}
"""The calls on a pool below (``Call.pool`` full)."""
