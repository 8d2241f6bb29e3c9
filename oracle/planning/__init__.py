"""How each kind of operation becomes calls: one planner for each row of the operation table."""

from __future__ import annotations

from typing import Any

from oracle import operations as op
from oracle.caller import Planner
from oracle.planning import allocations, frees, lifecycle, mapping, segments

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
):
    _register(_kind, _planner)
