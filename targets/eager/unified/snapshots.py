"""The whole state of one of our unified allocators, as plain lists (contract_unified §3).

Guarantees that looking changes nothing and that the lists are copies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oracle.unified_observation import BandState, UnifiedSnapshot
from targets.eager.unified.byte_accounting import verify_byte_accounting
from targets.eager.unified.chain import low_to_high
from targets.eager.unified.end_band import EndBand
from targets.eager.unified.floating_band import FloatingBand
from targets.eager.unified.state_room import StateRoom

if TYPE_CHECKING:
    import torch

    from targets.eager.unified.band import Band
    from targets.eager.unified.token_pool import TokenPool

PEERED_QUERIES = (
    "available_size", "full_available_size", "swa_available_size",
    "conserve_full_available_size", "conserve_swa_available_size",
    "schedulable_full_available_size", "schedulable_swa_available_size",
    "current_full_capacity", "current_swa_capacity", "size_full", "size_swa",
)  # fmt: skip
STATE_QUERIES = (
    "state_available_size", "state_schedulable_size", "state_size", "state_free_slots",
)  # fmt: skip
QUERIES = {
    "unified-swa": PEERED_QUERIES,
    "unified-mamba-swa": PEERED_QUERIES + STATE_QUERIES,
    "unified-mamba": ("available_size", "full_available_size", "size", *STATE_QUERIES),
}
"""What each family can be asked."""


def unified_snapshot_of(allocator: TokenPool) -> UnifiedSnapshot:
    """Tables, lists, piles, content and the answers of the size queries."""
    order = low_to_high(allocator.geometry, allocator.bands)
    group: Any = getattr(allocator, "group", None)
    prepared = allocator.state_slots.prepared if isinstance(allocator, StateRoom) else None
    return UnifiedSnapshot(
        bands={name: _band(band) for name, band in allocator.bands.items()},
        group_open=group is not None,
        token_pile=_pile(group, "tokens"),
        representative_pile=_pile(group, "representatives"),
        full_token_pile=_pile(group, "full_tokens"),
        full_representative_pile=_pile(group, "full_representatives"),
        queries={name: _answer(allocator, name) for name in QUERIES[allocator.geometry.family]},
        byte_accounting=verify_byte_accounting(order),
        copies=sorted(allocator.copies),
        prepared=_listed(prepared),
    )


def _answer(allocator: TokenPool, name: str) -> int:
    attribute = getattr(allocator, name)
    return int(attribute() if callable(attribute) else attribute)


def _pile(group: Any, name: str) -> list[list[int]]:
    return [] if group is None else [entry.tolist() for entry in getattr(group, name)]


def _band(band: Band) -> BandState:
    state = BandState(
        v2p=band.table.v2p.tolist(),
        p2v=band.table.p2v.tolist(),
        free_ids=_listed(band.free_ids),
        holes=band.holes.tolist(),
        live=band.live,
        pending=[pages.tolist() for pages in band.pending.values()],
        pending_load=band.pending_load,
        available=band.available_size(),
        schedulable=band.schedulable_available_size(),
        allocated=band.allocated_count,
        content=band.table.content.tolist(),
    )
    if isinstance(band, EndBand):
        state.watermark = band.watermark
    elif isinstance(band, FloatingBand):
        state.start, state.stop = band.start, band.stop
        state.next_end, state.dirty = band.next_end, band.dirty
    return state


def _listed(tensor: torch.Tensor | None) -> list[int] | None:
    return None if tensor is None else tensor.tolist()
