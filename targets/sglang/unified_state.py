"""The whole state of a release's unified allocator as plain lists (contract_unified §3, §4).

Guarantees that looking changes nothing but memoised capacities, and that the lists are copies. A pile or a query that a
release does not have is reported empty, or as the sum of the release's own answers that defines it.
"""

from __future__ import annotations

from typing import Any

from oracle.unified_observation import BandState, UnifiedSnapshot
from targets.sglang.state import queries_of, rest_of
from targets.sglang.unified_pools import BandKv

BAND_ATTRIBUTES = {
    "full": "full_attn_allocator",
    "swa": "swa_attn_allocator",
    "state": "mamba_allocator",
}
"""Where a composite keeps each band."""

PEERED_QUERIES = (
    "available_size",
    "full_available_size",
    "swa_available_size",
    "conserve_full_available_size",
    "conserve_swa_available_size",
    "schedulable_full_available_size",
    "schedulable_swa_available_size",
    "current_full_capacity",
    "current_swa_capacity",
    "size_full",
    "size_swa",
)
PAIR_QUERIES = ("available_size", "full_available_size", "size")
STATES_QUERIES = {
    "available_size": "state_available_size",
    "schedulable_available_size": "state_schedulable_size",
    "size": "state_size",
}
"""What is asked of the allocator of states, and the name that the answer has in a snapshot."""


def unified_snapshot(allocator: Any, kv: dict[Any, BandKv], states: Any) -> UnifiedSnapshot:
    """Bands, piles, queries, and the copies of the last call; ``states`` is the allocator of states, if there is one."""
    bands = {name: getattr(allocator, BAND_ATTRIBUTES[name]) for name in kv}
    return UnifiedSnapshot(
        bands={name: _band(band, kv[name]) for name, band in bands.items()},
        group_open=allocator.free_group is not None,
        token_pile=_pile(allocator, "free_group"),
        representative_pile=_pile(allocator, "free_page_reps_group"),
        full_token_pile=_pile(allocator, "full_free_group"),
        full_representative_pile=_pile(allocator, "full_page_reps_group"),
        queries=_queries(allocator, bands) | _states_queries(states),
        prepared=None if states is None else rest_of(states._alloc_iter),
        byte_accounting=list(allocator.verify_byte_accounting()),
        copies=sorted(copy for band in kv.values() for copy in band.copies),
    )


def _band(band: Any, kv: BandKv) -> BandState:
    floats = hasattr(band, "low_wm_page")
    owner = band.free_virtual_ids
    state = BandState(
        v2p=band.virtual_to_physical.tolist(),
        p2v=band.physical_to_virtual.tolist(),
        free_ids=None if owner is None else owner.tolist(),
        holes=band._free_phys_pages.tolist(),
        live=_live(band, floats),
        pending=[list(pages) for pages, *_ in band._pending_reuse.values()],
        pending_load=getattr(band, "_pending_hicache_load_pages", 0),
        available=band.available_size(),
        schedulable=band.schedulable_available_size(),
        allocated=band.allocated_count(),
        content=kv.content[:],
    )
    if floats:
        state.start, state.stop = band.low_wm_page, band.high_wm_page
        state.next_end = getattr(band, "_next_hole_end", "low")
        state.dirty = band._holes_dirty
    else:
        state.watermark = band.watermark_physical
    return state


def _live(band: Any, floats: bool) -> int:
    if floats:
        return int(band._live_pages())
    return int(band.live_page_count if band.lazy_compaction else band._allocated_pages())


def _pile(allocator: Any, name: str) -> list[list[int]]:
    return [entry.tolist() for entry in getattr(allocator, name, None) or ()]


def _queries(allocator: Any, bands: dict[Any, Any]) -> dict[str, int]:
    names = PEERED_QUERIES if "swa" in bands else PAIR_QUERIES
    answers: dict[str, int] = {}
    for name in names:
        answer = getattr(allocator, name, None)
        if answer is not None:
            answers[name] = int(answer() if callable(answer) else answer)
    for side in ("full", "swa") if "swa" in bands else ():
        if f"current_{side}_capacity" not in answers:
            held = bands[side].allocated_count()
            answers[f"current_{side}_capacity"] = answers[f"{side}_available_size"] + held
    return answers


def _states_queries(states: Any) -> dict[str, int]:
    if states is None:
        return {}
    answers = queries_of(states, tuple(STATES_QUERIES))
    named = {STATES_QUERIES[query]: answer for query, answer in answers.items()}
    return named | {"state_free_slots": len(states.free_slots)}
