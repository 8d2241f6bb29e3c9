"""The whole state of a release's allocator of a further family, as the table in ``oracle.observation.Snapshot`` has it.

Guarantees that looking changes nothing, also not the iterator of states that were taken out in advance. Which attribute is
reported as which field:

| field | attribute |
|---|---|
| ``device``, ``device_mapping`` | ``hisparse_attn_allocator``, ``full_to_hisparse_device_index_mapping`` |
| ``device_full_pile`` | ``full_free_group`` of the compressed allocator |
| ``classes``, ``class_staged`` | ``class_free_pages``, ``class_release_pages`` |
| ``prepared`` | ``_alloc_iter`` |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oracle.observation import PoolState, Snapshot, new_pages_grid
from targets.request_slots import RequestSlots
from targets.sglang.state import (
    QUERIES,
    group_of,
    lists_of,
    pool_state,
    queries_of,
    release_snapshot,
    rest_of,
)

TIER_QUERIES = ("available_size", "size", "size_full")
CLASS_QUERIES = ("available_size", "size", "aggregate_free_size", "least_full_class")
SLOT_QUERIES = ("available_size", "size")


def further_snapshot(
    allocator: Any, family: str, request_slots: RequestSlots | None = None
) -> Snapshot:
    """All lists, piles, mappings and the answers of the size queries; ``request_slots`` is the caller's pool where there are rings."""
    if request_slots is not None:
        snapshot = release_snapshot(allocator, hybrid=True)
        snapshot.queries["free_request_slots"] = request_slots.available_size()
        return snapshot
    return _READERS[family](allocator)


def _pure_swa(allocator: Any) -> Snapshot:
    slots = allocator.available_size()
    return Snapshot(
        full=pool_state(allocator.swa_attn_allocator),
        mapping=allocator.full_to_swa_index_mapping.tolist(),
        group=group_of(allocator),
        swa_set_pile=lists_of(getattr(allocator, "swa_free_group", ())),
        swa_page_pile=lists_of(getattr(allocator, "swa_page_ids_group", ())),
        queries=queries_of(allocator, QUERIES),
        new_pages=[
            bool(allocator.new_pages_available(*pages)) for pages in new_pages_grid(slots, slots)
        ],
    )


def _hisparse(allocator: Any) -> Snapshot:
    logical = allocator.logical_attn_allocator
    return Snapshot(
        full=pool_state(logical),
        device=pool_state(allocator.hisparse_attn_allocator),
        device_mapping=allocator.full_to_hisparse_device_index_mapping.tolist(),
        group=group_of(allocator),
        swa_set_pile=[],
        swa_page_pile=[],
        queries=queries_of(allocator, TIER_QUERIES) | _pools(allocator),
        new_pages=[],
    )


def _hisparse_dsv4(allocator: Any) -> Snapshot:
    snapshot = release_snapshot(allocator.logical_attn_allocator, hybrid=True)
    snapshot.group = group_of(allocator)
    snapshot.device = pool_state(allocator.hisparse_attn_allocator)
    snapshot.device_mapping = allocator.full_to_hisparse_device_index_mapping.tolist()
    snapshot.device_full_pile = lists_of(allocator.full_free_group)
    snapshot.queries = queries_of(allocator, QUERIES) | _pools(allocator)
    snapshot.new_pages = []
    return snapshot


def _pools(allocator: Any) -> dict[str, int]:
    return {
        "logical_available_size": allocator.logical_attn_allocator.available_size(),
        "device_available_size": allocator.hisparse_attn_allocator.available_size(),
    }


def _page_interleave(allocator: Any) -> Snapshot:
    return Snapshot(
        full=PoolState(
            size=allocator.size,
            available=allocator.available_size(),
            free=[],
            staged=[],
            staged_count=0,
            group=group_of(allocator),
            page_pile=lists_of(allocator.free_page_ids_group),
            all_free=allocator.get_all_free_pages().tolist(),
        ),
        classes=lists_of(allocator.class_free_pages),
        class_staged=lists_of(allocator.class_release_pages),
        swa_set_pile=[],
        swa_page_pile=[],
        queries=queries_of(allocator, CLASS_QUERIES),
        new_pages=[],
    )


def _mamba_slots(allocator: Any) -> Snapshot:
    return Snapshot(
        full=PoolState(
            size=allocator.size,
            available=allocator.available_size(),
            free=allocator.free_slots.tolist(),
            staged=[],
            staged_count=0,
            group=None,
            page_pile=[],
        ),
        prepared=rest_of(allocator._alloc_iter),
        swa_set_pile=[],
        swa_page_pile=[],
        queries=queries_of(allocator, SLOT_QUERIES),
        new_pages=[],
    )


_READERS: dict[str, Callable[[Any], Snapshot]] = {
    "pure-swa": _pure_swa,
    "hisparse": _hisparse,
    "hisparse-dsv4": _hisparse_dsv4,
    "page-interleave": _page_interleave,
    "mamba-slots": _mamba_slots,
}
