"""Kernels on the tables of one band: bind, unbind, forget, translate (contract_unified §5, §16).

Guarantees that a negative index means the sentinel, the last entry, as in torch on a CPU; that nothing outside a table is touched;
and that within one launch of a single tile all is read before anything is written, and the last of several equal pages is bound.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
from __future__ import annotations

import triton
import triton.language as tl

from targets.fused.kernels_lists import floor_divide
from targets.fused.launcher import Kernel

TILE = 1024
BIND_TILE = 64
"""Pages that one program binds: it compares each with each."""


@triton.jit
def within(index, entries):
    """The index, or that of the sentinel for a negative one."""
    return tl.where(index < 0, entries - 1, index)


@triton.jit
def look_up(table, entries, index, inside):
    """The entries of a table; -1 for those not ``inside`` or past its end."""
    place = within(index, entries)
    return tl.load(table + place, mask=inside & (place < entries), other=-1)


@triton.jit
def forget(table, entries, index, inside):
    """Set entries to -1."""
    place = within(index, entries)
    tl.store(table + place, -1, mask=inside & (place < entries))


@triton.jit
def is_last(place, inside, TILE: tl.constexpr):  # noqa: N803
    """Which lanes of a tile have no equal one behind them."""
    lane = tl.arange(0, TILE)
    behind = lane[None, :] > lane[:, None]
    equal = (place[:, None] == place[None, :]) & inside[None, :] & behind
    return tl.sum(equal.to(tl.int32), 1) == 0


@triton.jit
def bind_pages(
    v2p, ids, p2v, pages, virtual, physical, inside,
    TILE: tl.constexpr,  # noqa: N803
):  # fmt: skip
    """Bind virtual to physical pages, lane by lane."""
    row = within(virtual, ids)
    mine = inside & (row < ids)
    tl.store(v2p + row, physical, mask=mine & is_last(row, mine, TILE))
    row = within(physical, pages)
    mine = inside & (row < pages)
    tl.store(p2v + row, virtual, mask=mine & is_last(row, mine, TILE))


def _bind(
    virtual, virtual_stride, physical, physical_stride, count, v2p, ids, p2v, pages,
    TILE: tl.constexpr,  # noqa: N803
):  # fmt: skip
    order = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = order < count
    order = order.to(tl.int64)
    bound = tl.load(virtual + order * virtual_stride, mask=inside, other=0)
    place = tl.load(physical + order * physical_stride, mask=inside, other=0)
    bind_pages(v2p, ids, p2v, pages, bound, place, inside, TILE)


def _unbind(
    virtual, stride, count, v2p, ids, p2v, pages, out,
    TILE: tl.constexpr,  # noqa: N803
):  # fmt: skip
    """``out`` gets the physical pages of ``virtual``, which are bound no longer."""
    order = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = order < count
    page = tl.load(virtual + order.to(tl.int64) * stride, mask=inside, other=0)
    physical = look_up(v2p, ids, page, inside)
    tl.debug_barrier()
    forget(v2p, ids, page, inside)
    forget(p2v, pages, physical, inside)
    tl.store(out + order, physical, mask=inside)


def _forget_physical(
    physical, stride, count, v2p, ids, p2v, pages,
    TILE: tl.constexpr,  # noqa: N803
):  # fmt: skip
    """Unbind physical pages and whatever virtual ones have them."""
    order = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = order < count
    page = tl.load(physical + order.to(tl.int64) * stride, mask=inside, other=0)
    virtual = look_up(p2v, pages, page, inside)
    tl.debug_barrier()
    forget(v2p, ids, virtual, inside)
    forget(p2v, pages, page, inside)


def _translate(
    slots, row_stride, column_stride, columns, count, page_size, v2p, ids, out,
    TILE: tl.constexpr,  # noqa: N803
):  # fmt: skip
    """``out`` gets the physical slots of rows of virtual ones, 0 where there is none."""
    index = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = index < count
    offset = (index // columns).to(tl.int64) * row_stride
    offset += (index % columns).to(tl.int64) * column_stride
    slot = tl.load(slots + offset, mask=inside, other=0).to(tl.int64)
    page = floor_divide(slot, page_size)
    # A negative slot is no slot; here it must not lead to the sentinel's place.
    known = inside & (page >= 0) & (page < ids)
    physical = tl.load(v2p + page, mask=known, other=-1)
    place = physical * page_size + (slot - page * page_size)
    tl.store(out + index, tl.where(physical < 0, 0, place), mask=inside)


bind = Kernel(_bind)
unbind = Kernel(_unbind)
forget_physical = Kernel(_forget_physical)
translate = Kernel(_translate)
