"""Segment frees of the fused unified allocators wait for no device, at any page size (contract_unified §13)."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from fused_bench import interpreted
from unified_bench import UnifiedBench, three_pools, two_pools

from oracle.geometry import Geometry
from targets.probes.host_reads import HostReads

GEOMETRIES = [
    pytest.param(make(page_size=page_size, total_bytes=16_384, lazy=True), id=f"{make.__name__}-{page_size}")
    for make in (two_pools, three_pools)
    for page_size in (1, 3, 4, 16)
]  # fmt: skip


def unobserved(geometry: Geometry) -> Any:
    """An allocator whose checks nobody hears of."""
    allocator: Any = UnifiedBench(geometry, None, interpreted()).target.allocator  # type: ignore[attr-defined]
    allocator.signals.observer = None
    return allocator


@pytest.fixture(autouse=True)
def at_level_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SGLANG_INVARIANT_CHECK", "0")


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_segment_frees_wait_for_nothing(geometry: Geometry, dtype: torch.dtype) -> None:
    allocator, size = unobserved(geometry), geometry.page_size
    probe = HostReads()
    length = 3 * size - (size > 1)
    gone, whole, waiting = (allocator.alloc(3 * size).to(dtype)[:length] for _ in range(3))
    with probe.watch():
        allocator.free_swa_segment(gone, start_pos=0)
        allocator.free_full_segment(gone, start_pos=0)
        allocator.free_segment(whole, start_pos=0)
        allocator.free_group_begin()
        allocator.free_swa_segment(waiting[:size], start_pos=0)
        allocator.free_full_segment(waiting[:size], start_pos=0)
        allocator.free_segment(waiting[size:], start_pos=size)
        allocator.free_group_end()
    assert (probe.syncs, probe.shapes) == ([], [])
    assert allocator.full.live == allocator.swa.live == 0


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_allocations_that_fit_wait_for_nothing(geometry: Geometry) -> None:
    allocator, size = unobserved(geometry), geometry.page_size
    row = allocator.alloc(4 * size)
    allocator.free_segment(row[: 2 * size], start_pos=0)
    lengths = (torch.tensor([0]), torch.tensor([0]), torch.tensor([5]), torch.tensor([5]))
    last = torch.tensor([-1])
    after = torch.tensor([6])
    probe = HostReads()
    with probe.watch([lengths[1], lengths[3], after]):
        allocator.alloc(size)
        slots = allocator.alloc_extend(*lengths, last, 5)
        allocator.alloc_extend_swa_tail(*lengths, last, 5, 3)
        allocator.alloc_decode(after.clone(), after, slots[-1:])
        allocator.bands["swa"].table.translate(slots)
    assert (probe.syncs, probe.shapes) == ([], [])


def test_the_probe_sees_a_set_shaped_free_and_a_flush() -> None:
    allocator = unobserved(two_pools())
    row = allocator.alloc(16)
    probe = HostReads()
    with probe.watch():
        allocator.free_swa(row[:8])
    assert probe.shapes
    with probe.watch():
        allocator.swa.flush(urgent=False)
    assert probe.syncs
