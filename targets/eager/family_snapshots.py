"""The whole state of our allocators of the further families, as plain lists (contract_paged_swa §14).

Guarantees what the table in ``oracle.observation.Snapshot`` says for each family; looking changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.observation import PoolState, Snapshot, new_pages_grid
from targets.eager.hisparse import HiSparseAllocator
from targets.eager.hisparse_dsv4 import DeepSeekV4HiSparseAllocator
from targets.eager.mamba_slots import MambaSlotAllocator
from targets.eager.page_interleave import PageInterleaveAllocator
from targets.eager.pure_swa import PureSWAAllocator
from targets.eager.snapshots import group_of, hybrid_queries, lists_of, pool_state, snapshot_of

if TYPE_CHECKING:
    from targets.eager.families import FixedAllocator
    from targets.request_slots import RequestSlots


def family_snapshot_of(allocator: FixedAllocator, request_slots: RequestSlots | None) -> Snapshot:
    """The state of an allocator of any family of fixed pools; ``request_slots`` is the caller's pool where there are rings."""
    if isinstance(allocator, PureSWAAllocator):
        return _pure_swa(allocator)
    if isinstance(allocator, HiSparseAllocator):
        return _hisparse(allocator)
    if isinstance(allocator, DeepSeekV4HiSparseAllocator):
        return _hisparse_dsv4(allocator)
    if isinstance(allocator, PageInterleaveAllocator):
        return _page_interleave(allocator)
    if isinstance(allocator, MambaSlotAllocator):
        return _mamba_slots(allocator)
    snapshot = snapshot_of(allocator)
    if request_slots is not None:
        snapshot.queries["free_request_slots"] = request_slots.available_size()
    return snapshot


def _pure_swa(allocator: PureSWAAllocator) -> Snapshot:
    slots = allocator.available_size()
    return Snapshot(
        full=pool_state(allocator.swa_attn_allocator),
        mapping=allocator.full_to_swa_index_mapping.tolist(),
        group=group_of(allocator.free_group),
        swa_set_pile=[],
        swa_page_pile=[],
        queries=hybrid_queries(allocator),
        new_pages=[allocator.new_pages_available(*pages) for pages in new_pages_grid(slots, slots)],
    )


def _hisparse(allocator: HiSparseAllocator) -> Snapshot:
    logical, device = allocator.logical_attn_allocator, allocator.hisparse_attn_allocator
    return Snapshot(
        full=pool_state(logical),
        device=pool_state(device),
        device_mapping=allocator.full_to_hisparse_device_index_mapping.tolist(),
        swa_set_pile=[],
        swa_page_pile=[],
        queries={
            "available_size": allocator.available_size(),
            "size": allocator.size,
            "size_full": allocator.size_full,
            "logical_available_size": logical.available_size(),
            "device_available_size": device.available_size(),
        },
        new_pages=[],
    )


def _hisparse_dsv4(allocator: DeepSeekV4HiSparseAllocator) -> Snapshot:
    logical, device = allocator.logical_attn_allocator, allocator.hisparse_attn_allocator
    snapshot = snapshot_of(logical)
    snapshot.group = group_of(allocator.free_group)
    snapshot.device = pool_state(device)
    snapshot.device_mapping = allocator.full_to_hisparse_device_index_mapping.tolist()
    snapshot.device_full_pile = lists_of(allocator.full_free_group)
    snapshot.queries = hybrid_queries(allocator) | {
        "logical_available_size": logical.available_size(),
        "device_available_size": device.available_size(),
    }
    snapshot.new_pages = []
    return snapshot


def _page_interleave(allocator: PageInterleaveAllocator) -> Snapshot:
    available = allocator.available_size()
    return Snapshot(
        full=PoolState(
            size=allocator.size,
            available=available,
            free=[],
            staged=[],
            staged_count=0,
            group=group_of(allocator.free_group),
            page_pile=lists_of(allocator.free_page_ids_group),
            all_free=allocator.get_all_free_pages().tolist(),
        ),
        classes=lists_of(allocator.class_free),
        class_staged=lists_of(allocator.class_staged),
        swa_set_pile=[],
        swa_page_pile=[],
        queries={
            "available_size": available,
            "size": allocator.size,
            "aggregate_free_size": allocator.aggregate_free_size(),
            "least_full_class": allocator.least_full_class(),
        },
        new_pages=[],
    )


def _mamba_slots(allocator: MambaSlotAllocator) -> Snapshot:
    available = allocator.available_size()
    return Snapshot(
        full=PoolState(
            size=allocator.size,
            available=available,
            free=allocator.free_slots.tolist(),
            staged=[],
            staged_count=0,
            group=None,
            page_pile=[],
        ),
        prepared=None if allocator.prepared is None else allocator.prepared.tolist(),
        swa_set_pile=[],
        swa_page_pile=[],
        queries={"available_size": available, "size": allocator.size},
        new_pages=[],
    )
