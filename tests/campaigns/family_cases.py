"""Geometries, traces, faults and damages of the further families, for the tests of the exporter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from oracle.family_sizes import FamilySizes
from oracle.geometry import Geometry
from oracle.operations import (
    Alloc,
    AllocCyclic,
    AllocGroupBegin,
    AllocGroupEnd,
    Decode,
    DeviceBuffer,
    Drain,
    EvictWindow,
    Free,
    FreeDevice,
    FreeDeviceBuffer,
    FreeRowSegments,
    FreeSegment,
    GroupBegin,
    GroupEnd,
    LogicalExtend,
    Release,
    ReleaseRow,
    RotatedExtend,
    RotatedPart,
    SlotReserve,
    SpecScratch,
    Translate,
)
from oracle.trace import Trace
from tests.campaigns.export_cases import trace

GEOMETRIES: dict[str, Geometry] = {
    "mamba-slots": Geometry(family="mamba-slots", size=8),
    "pure-swa": Geometry(family="pure-swa", size=16, need_sort=True),
    "swa-ring": Geometry(
        family="swa-ring",
        size=32,
        size_swa=16,
        page_size=4,
        sizes=FamilySizes(request_slots=3, ring=6),
    ),
    "page-interleave": Geometry(
        family="page-interleave",
        size=16,
        page_size=4,
        need_sort=True,
        sizes=FamilySizes(ranks=3),
    ),
    "hisparse": Geometry(family="hisparse", size=16, page_size=4, sizes=FamilySizes(ratio=2)),
    "hisparse-dsv4": Geometry(
        family="hisparse-dsv4",
        size=64,
        size_swa=64,
        page_size=8,
        sizes=FamilySizes(device_size=16),
    ),
    "hybrid-rows": Geometry(
        family="hybrid-rows",
        size=64,
        size_swa=64,
        page_size=4,
        sizes=FamilySizes(window=6),
    ),
}

EVERYTHING: dict[str, Trace] = {
    "mamba-slots": trace(
        GEOMETRIES["mamba-slots"],
        Alloc(amount=2),
        AllocGroupBegin(amount=3),
        Alloc(amount=1),
        Free(overwrite=True),
        AllocGroupEnd(),
    ),
    "pure-swa": trace(
        GEOMETRIES["pure-swa"],
        Alloc(amount=6),
        GroupBegin(),
        Free(count=2, overwrite=True),
        GroupEnd(),
        Translate(),
    ),
    "swa-ring": trace(
        GEOMETRIES["swa-ring"],
        Alloc(amount=6),
        Alloc(amount=4),
        Decode(),
        FreeSegment(method="free_swa_segment"),
        Release(),
    ),
    "page-interleave": trace(
        GEOMETRIES["page-interleave"],
        AllocCyclic(start=1, amount=2),
        RotatedExtend((RotatedPart(base=2, amount=2), RotatedPart(request=1, amount=1))),
        GroupBegin(),
        Free(count=3),
        GroupEnd(),
    ),
    "hisparse": trace(
        GEOMETRIES["hisparse"],
        Alloc(amount=2, unit="pages"),
        SpecScratch(cap=1, buffer=2),
        SlotReserve(amount=3),
        LogicalExtend(amount=1),
        DeviceBuffer(request=1, need=1),
        FreeDevice(),
        FreeDeviceBuffer(overwrite=True),
    ),
    "hisparse-dsv4": trace(
        GEOMETRIES["hisparse-dsv4"],
        Alloc(amount=2, unit="pages"),
        LogicalExtend(amount=8),
        GroupBegin(),
        Free(count=7),
        GroupEnd(),
    ),
    "hybrid-rows": trace(
        GEOMETRIES["hybrid-rows"],
        Alloc(amount=24),
        EvictWindow(),
        FreeRowSegments(page=1),
        ReleaseRow(overwrite=True),
    ),
}
"""For each family calls of every kind that it alone has."""

MUTANTS: dict[str, tuple[str, bool]] = {
    "rest-of-states-dropped": ("mamba-slots", True),
    "rest-of-states-in-front": ("mamba-slots", False),
    "sliding-frees-do-not-wait": ("pure-swa", False),
    "full-only-free-frees": ("pure-swa", True),
    "ring-rows-mapped": ("swa-ring", True),
    "ring-cost-not-rounded": ("swa-ring", False),
    "owner-by-page-pair": ("page-interleave", True),
    "base-left-open": ("page-interleave", True),
    "sum-of-classes-available": ("page-interleave", True),
    "device-page-kept": ("hisparse", True),
    "buffer-shares-places": ("hisparse", True),
    "device-not-counted": ("hisparse", False),
    "compressed-entries-left": ("hisparse-dsv4", True),
    "cursor-kept-after-eviction": ("hybrid-rows", False),
    "threshold-inside-a-page": ("hybrid-rows", True),
    "eviction-floor-ignored": ("hybrid-rows", True),
}
"""Faults: their family, and whether a law is broken by a caller who keeps the contract."""


def _put(tensor: torch.Tensor, index: int, value: int) -> None:
    tensor[index] = value


def _device_table(index: int, value: int) -> Callable[[Any], None]:
    def damage(allocator: Any) -> None:
        _put(allocator.full_to_hisparse_device_index_mapping, index, value)

    return damage


def _lose(allocator: Any) -> None:
    pool = allocator.hisparse_attn_allocator
    pool.free_pages = pool.free_pages[1:]


def _free_again(allocator: Any) -> None:
    pool = allocator.hisparse_attn_allocator
    pool.free_pages = torch.cat((pool.free_pages, torch.tensor([1])))


def _swap_classes(allocator: Any) -> None:
    allocator.class_free = allocator.class_free[::-1]


def _lie_about(name: str) -> Callable[[Any], None]:
    def damage(allocator: Any) -> None:
        setattr(allocator, name, lambda: 1000)

    return damage


def _forget_prepared(allocator: Any) -> None:
    allocator.prepared = None


def _state_twice(allocator: Any) -> None:
    allocator.free_slots = torch.cat((allocator.free_slots, allocator.free_slots[:1]))


def _padding_of_a_class(allocator: Any) -> None:
    allocator.class_free[1] = torch.cat((torch.tensor([1]), allocator.class_free[1]))


def _shown(family: str, *operations: Any) -> Trace:
    return trace(GEOMETRIES[family], *operations)


TWO_PAGES = Alloc(amount=2, unit="pages")
PREPARED = _shown("mamba-slots", Alloc(amount=2), AllocGroupBegin(amount=3))
SLIDING = _shown("pure-swa", Alloc(amount=4))
RINGED = _shown("swa-ring", Alloc(amount=6))
TURNED = _shown("page-interleave", TWO_PAGES)
BACKED = _shown("hisparse", Alloc(amount=8))
BUFFERED = _shown("hisparse", Alloc(amount=8), Alloc(amount=4), DeviceBuffer())
COMPRESSED = _shown("hisparse-dsv4", Alloc(amount=16))
EMPTIED = _shown("hisparse", Alloc(amount=8), Drain())

DAMAGE: dict[str, tuple[Trace, str, Callable[[Any], None]]] = {
    "states are lost": (PREPARED, "full.conservation", _forget_prepared),
    "a state is free twice": (PREPARED, "full.one-owner", _state_twice),
    "identity": (
        SLIDING,
        "swa.identity-mapping",
        lambda allocator: _put(allocator.full_to_swa_index_mapping, 3, 4),
    ),
    "sides": (SLIDING, "capacity-within-size", _lie_about("swa_available_size")),
    "ring": (RINGED, "ring-accounting", _lie_about("swa_available_size")),
    "ring mapped": (
        RINGED,
        "swa.mapping-support",
        lambda allocator: _put(allocator.full_to_swa_index_mapping, 4, 4),
    ),
    "classes": (TURNED, "full.page-class", _swap_classes),
    "padding of classes": (TURNED, "full.padding-page", _padding_of_a_class),
    "floor of classes": (TURNED, "capacity-within-size", _lie_about("available_size")),
    "no place": (BACKED, "device.mapping-support", _device_table(4, 0)),
    "stranger's place": (BACKED, "device.mapping-support", _device_table(20, 4)),
    "shared place": (BACKED, "device.mapping-injective", _device_table(5, 4)),
    "place in padding": (BACKED, "device.padding-page", _device_table(5, 1)),
    "offset": (BACKED, "device.page-offset", _device_table(5, 6)),
    "device page free": (BACKED, "device.one-owner", _free_again),
    "device page lost": (BACKED, "device.conservation", _lose),
    "buffer and place": (BUFFERED, "device.one-owner", _device_table(4, 12)),
    "buffer lost": (BUFFERED, "device.conservation", _lose),
    "tier queries": (BACKED, "capacity-within-size", _lie_about("available_size")),
    "device count": (
        BACKED,
        "device.capacity-within-size",
        lambda allocator: _lie_about("available_size")(allocator.hisparse_attn_allocator),
    ),
    "device not whole": (EMPTIED, "device.everything-returned", _lose),
    "place left": (EMPTIED, "device.everything-returned", _device_table(4, 4)),
    "compressed place": (COMPRESSED, "device.mapping-support", _device_table(3, 0)),
    "compressed queries": (COMPRESSED, "capacity-within-size", _lie_about("available_size")),
    "compressed page": (COMPRESSED, "device.conservation", _lose),
    "compressed peers": (
        COMPRESSED,
        "swa.mapping-support",
        lambda allocator: _put(allocator.logical_attn_allocator.full_to_swa_index_mapping, 8, 0),
    ),
}
"""For each law about states that these families add or word otherwise: a trace, the finding's quantity, and what breaks it."""
