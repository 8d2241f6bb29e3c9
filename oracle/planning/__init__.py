"""How each kind of operation becomes calls: one planner for each row of the operation table."""

from __future__ import annotations

from typing import Any

from oracle import operations as op
from oracle.caller import Caller, Plan, Planner
from oracle.geometry import BANDS, Family
from oracle.planning import (
    allocations,
    capacity,
    device,
    duplicates,
    frees,
    lifecycle,
    mapping,
    moves,
    rotation,
    row_ends,
    rows,
    segments,
    state_groups,
    states,
    tree,
)

PLANNERS: dict[type[op.Base], Planner] = {}


def _register(kind: type[op.Base], planner: Any) -> None:
    PLANNERS[kind] = planner


for _kind, _planner in (
    (op.Alloc, allocations.plan_alloc),
    (op.Extend, allocations.plan_extend),
    (op.ExtendTail, allocations.plan_extend_tail),
    (op.Decode, allocations.plan_decode),
    (op.Fork, allocations.plan_fork),
    (op.Load, allocations.plan_load),
    (op.Recover, mapping.plan_recover),
    (op.TransferPeers, mapping.plan_transfer_peers),
    (op.ReturnPeers, mapping.plan_return_peers),
    (op.ClearMapping, mapping.plan_clear_mapping),
    (op.Translate, mapping.plan_translate),
    (op.Evict, segments.plan_evict),
    (op.Free, frees.plan_free),
    (op.FreePages, frees.plan_free_pages),
    (op.StaleFree, frees.plan_stale_free),
    (op.RawFree, frees.plan_raw_free),
    (op.EmptyFree, frees.plan_empty_free),
    (op.FreeSegment, segments.plan_free_segment),
    (op.FreeSegments, segments.plan_free_segments),
    (op.Release, segments.plan_release),
    (op.GroupBegin, lifecycle.plan_group_begin),
    (op.GroupEnd, lifecycle.plan_group_end),
    (op.Merge, lifecycle.plan_merge),
    (op.Clear, lifecycle.plan_clear),
    (op.Resize, lifecycle.plan_resize),
    (op.Backup, lifecycle.plan_backup),
    (op.Restore, lifecycle.plan_restore),
    (op.Misuse, lifecycle.plan_misuse),
    (op.Drain, lifecycle.plan_drain),
    (op.Flush, moves.plan_flush),
    (op.FlushDeferred, lifecycle.plan_flush_deferred),
    (op.Capacity, capacity.plan_capacity),
    (op.EvictForAlloc, capacity.plan_evict_for_alloc),
    (op.StateAlloc, states.plan_state_alloc),
    (op.StateFree, states.plan_state_free),
    (op.StateRoom, states.plan_state_room),
    (op.BandTranslate, states.plan_band_translate),
    (op.Gate, moves.plan_gate),
    (op.BeginForward, moves.plan_begin_forward),
    (op.FireEvent, moves.plan_fire_event),
    (op.Reserve, moves.plan_reserve),
    (op.BindReserved, moves.plan_bind_reserved),
    (op.CancelReserved, moves.plan_cancel_reserved),
    (op.FinishLoad, moves.plan_finish_load),
    (op.MakeRoom, moves.plan_make_room),
    (op.LogicalExtend, allocations.plan_logical_extend),
    (op.DeviceBuffer, device.plan_device_buffer),
    (op.FreeDeviceBuffer, device.plan_free_device_buffer),
    (op.FreeDevice, device.plan_free_device),
    (op.SpecScratch, device.plan_spec_scratch),
    (op.SlotReserve, device.plan_slot_reserve),
    (op.RotatedExtend, rotation.plan_rotated_extend),
    (op.AllocCyclic, rotation.plan_alloc_cyclic),
    (op.AllocGroupBegin, state_groups.plan_alloc_group_begin),
    (op.AllocGroupEnd, state_groups.plan_alloc_group_end),
    (op.EvictWindow, rows.plan_evict_window),
    (op.ReleaseRow, rows.plan_release_row),
    (op.FreeRowSegments, rows.plan_free_row_segments),
    (op.OverAllocate, rows.plan_over_allocate),
    (op.RollBack, rows.plan_roll_back),
    (op.Insert, tree.plan_insert),
    (op.InsertAgain, duplicates.plan_insert_again),
    (op.HitPrefix, tree.plan_hit_prefix),
    (op.EvictNodePeers, tree.plan_evict_node_peers),
    (op.EvictNode, tree.plan_evict_node),
    (op.RecoverNode, tree.plan_recover_node),
    (op.LoadNode, tree.plan_load_node),
):
    _register(_kind, _planner)


OWN_PLANNERS: dict[tuple[type[op.Base], str], Planner] = {}
"""Planners that one family has in place of the common one."""


def _register_own(kind: type[op.Base], family: Family, planner: Any) -> None:
    OWN_PLANNERS[kind, family] = planner


_register_own(op.Alloc, "page-interleave", rotation.plan_rotated_alloc)
_register_own(op.ExtendTail, "hybrid-rows", rows.plan_preallocate)
_register_own(op.Release, "hybrid-rows", rows.plan_plain_release)
_register_own(op.Drain, "hybrid-rows", row_ends.plan_row_drain)

_FAMILIES = {kind.operation: kind.families for kind in op.OPERATION_TABLE}


def planner_of(kind: type[op.Base], family: Family) -> Planner:
    """The planner of an operation; one that makes no call where the family lacks the operation."""
    families = _FAMILIES.get(kind, op.EVERYWHERE)
    lacks = family not in families
    if lacks and (family in BANDS or family in op.FURTHER or not families & op.STATIC):
        return _plan_nothing
    return OWN_PLANNERS.get((kind, family), PLANNERS[kind])


def _plan_nothing(_caller: Caller, _operation: op.Base) -> Plan:
    yield from ()
