"""How each kind of operation becomes calls: one planner for each row of the operation table."""

from __future__ import annotations

from typing import Any

from oracle import operations as op
from oracle.caller import Caller, Plan, Planner
from oracle.geometry import BANDS, Family
from oracle.planning import (
    allocations,
    capacity,
    frees,
    lifecycle,
    mapping,
    moves,
    segments,
    states,
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
):
    _register(_kind, _planner)


_FAMILIES = {kind.operation: kind.families for kind in op.OPERATION_TABLE}


def planner_of(kind: type[op.Base], family: Family) -> Planner:
    """The planner of an operation; one that makes no call where a unified family, or every other one, lacks the operation."""
    families = _FAMILIES.get(kind, op.EVERYWHERE)
    if family not in families and (family in BANDS or families <= op.UNIFIED):
        return _plan_nothing
    return PLANNERS[kind]


def _plan_nothing(_caller: Caller, _operation: op.Base) -> Plan:
    yield from ()
