"""Which section of the contract speaks of a method.

Guarantees a section for every method of every family.
"""

from __future__ import annotations

from oracle.geometry import BANDS, TWO_POOLS


def section(method: str, family: str) -> str:
    """Where the contract speaks of a method."""
    if family in BANDS:
        return f"contract_unified {_UNIFIED_SECTIONS.get(method, '§9')}"
    if method == "state":
        return "contract_paged_swa §1"
    if family in _FAMILY_SECTIONS:
        found = _FAMILY_SECTIONS[family]
    elif family in TWO_POOLS:
        found = _HYBRID_SECTIONS.get(method, "§6.3")
    else:
        found = _POOL_SECTIONS.get(method, "§5.5")
        found = "§4" if family == "token" and found.startswith("§5") else found
    return f"contract_paged_swa {found}"


_UNIFIED_SECTIONS = {
    "state": "§3", "alloc": "§8", "alloc_extend": "§8", "alloc_extend_swa_tail": "§8", "alloc_decode": "§8",
    "flush": "§5", "translate": "§5", "set_move_gate": "§4", "begin_forward": "§3", "fire_event": "§3",
    "ensure_capacity": "§8", "reclaim_plan": "§8", "can_reserve": "§8", "evict_to_free_tokens": "§10",
    "check_decode_capacity": "§10", "prepare_mamba_allocation": "§10", "make_room": "§6", "compact_holes": "§6",
    "full_tokens_before_mamba_recheck": "§10", "alloc_physical": "§5", "cancel_physical_reservation": "§5",
    "finish_load": "§5", "set_full_to_swa_mapping": "§5", "clear": "§3",
}  # fmt: skip
_HYBRID_SECTIONS = {
    "alloc": "§6.2", "alloc_extend": "§6.2", "alloc_extend_swa_tail": "§6.2", "alloc_decode": "§6.2",
    "free_group_begin": "§6.4", "free_group_end": "§6.4", "clear": "§6.7", "resize": "§1",
    "merge_and_sort_free": "§1", "set_full_to_swa_mapping": "§6.1", "clear_full_to_swa_mapping": "§6.1",
    "take_request_slots": "§6", "return_request_slots": "§6",
    "evict_out_of_window": "§11.2", "free_row_segments": "§11.3", "free_row": "§11.3",
    "translate_loc_from_full_to_swa": "§6", "backup_state": "§13.1", "restore_state": "§13.1",
    "free_segments": "§3", "free_full_segments": "§3",
}  # fmt: skip
_FAMILY_SECTIONS = {
    "pure-swa": "§6.8", "hisparse": "§7.1", "hisparse-dsv4": "§7.2", "mamba-slots": "§8", "page-interleave": "§9",
}  # fmt: skip
_POOL_SECTIONS = {
    "alloc": "§5.2", "alloc_extend": "§5.3", "alloc_decode": "§5.4", "free_group_begin": "§3",
    "free_group_end": "§5.5", "clear": "§1", "resize": "§1", "merge_and_sort_free": "§1",
    "free_full_segment": "§3", "free_segments": "§3", "free_full_segments": "§3",
    "backup_state": "§13.1", "restore_state": "§13.1",
}  # fmt: skip
