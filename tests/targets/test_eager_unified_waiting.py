"""Segment frees, allocations and translations of our unified allocators read nothing back from the device (contract_unified §13)."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from unified_bench import UnifiedBench, three_pools, two_pools

from oracle.geometry import Geometry

WAITING = (
    "_unique", "unique", "nonzero", "masked_select", "_local_scalar_dense", "is_nonzero", "equal",
)  # fmt: skip


class _NeverWaits(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Refuses what makes the host wait for the device, or has a shape that depends on data."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        assert not name.startswith(WAITING), f"{name} waits for the device"
        if name.startswith(("index", "index_put")):
            for index in args[1] if isinstance(args[1], (list, tuple)) else ():
                assert index is None or index.dtype is not torch.bool, f"{name} by a mask"
        return func(*args, **(kwargs or {}))


GEOMETRIES = [
    pytest.param(make(page_size=page_size), id=f"{make.__name__}-{page_size}")
    for make in (two_pools, three_pools)
    for page_size in (1, 4)
]


def _quiet(geometry: Geometry) -> tuple[Any, torch.Tensor]:
    """An allocator that nobody observes, and a row."""
    allocator: Any = UnifiedBench(geometry).target.allocator  # type: ignore[attr-defined]
    allocator.signals.observer = None
    return allocator, allocator.alloc(16)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_segment_frees_have_a_fixed_shape(geometry: Geometry) -> None:
    allocator, row = _quiet(geometry)
    with _NeverWaits():  # type: ignore[no-untyped-call]
        allocator.free_swa_segment(row[:8], start_pos=0)
        allocator.free_full_segment(row[:8], start_pos=0)
        allocator.free_segment(row[8:], start_pos=8)
        again = allocator.alloc(16)
        allocator.free_swa_segment(again[:8], start_pos=0)
        allocator.full.table.translate(again)
        allocator.free_group_begin()
        allocator.free_full_segment(again[:8], start_pos=0)
        allocator.free_segment(again[8:], start_pos=8)
        allocator.free_group_end()


def test_a_set_shaped_free_is_seen_to_wait() -> None:
    allocator, row = _quiet(two_pools())
    with pytest.raises(AssertionError, match="by a mask"), _NeverWaits():  # type: ignore[no-untyped-call]
        allocator.free_swa(row)
