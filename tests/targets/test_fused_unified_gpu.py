"""The fused unified allocators compiled for a GPU: many checked steps, launches, and host syncs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from unified_bench import full_and_states, three_pools, two_pools
from unified_traces import unified_trace

from oracle.geometry import UNIFIED_FAMILIES, Family, Geometry, Mode
from oracle.lockstep import run_trace
from oracle.trace import Callers
from targets.eager.target import EagerTarget
from targets.fused.launcher import INTERPRET
from targets.fused.target import FusedTarget
from targets.probes.cuda_syncs import CudaSyncs
from targets.probes.launches import Launches

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
    pytest.mark.skipif(bool(os.environ.get(INTERPRET)), reason="this process interprets kernels"),
]

STEPS = 50_000
SHARDS = 8
PAGE_SIZES = [1, 4, 16]


@pytest.fixture(autouse=True)
def at_level_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SGLANG_INVARIANT_CHECK", "0")


def checked(family: Family, callers: Callers, first_seed: int, steps: int) -> int:
    """How many steps were made and agreed with the prediction and the laws: ``steps`` or a few more."""
    target = FusedTarget("cuda")
    made, seed = 0, first_seed
    while made < steps:
        session = run_trace(unified_trace(family, seed, callers), [target])
        found = [finding for finding in session.findings if finding.kind != "hazard"]
        assert not found, f"{family}, seed {seed}, {callers}: {found[0]}"
        made += session.steps
        seed += 1
    print(f"{made} checked steps of {family}, {callers} callers, seeds {first_seed} to {seed - 1}")
    return made


@pytest.mark.parametrize("shard", range(SHARDS))
def test_legal_callers_get_what_is_predicted(shard: int) -> None:
    """All shards together make 50,000 steps."""
    share = -(-STEPS // SHARDS)
    assert checked("unified-swa", "legal", 1_000_000 * (shard + 1), share) >= share


@pytest.mark.parametrize("callers", ["mixed", "hostile"])
@pytest.mark.parametrize("family", UNIFIED_FAMILIES)
def test_other_callers_get_what_is_predicted_too(family: Family, callers: Callers) -> None:
    assert checked(family, callers, 0, 1_000) >= 1_000


@pytest.mark.parametrize("family", UNIFIED_FAMILIES)
def test_it_does_what_eager_does_on_the_cpu(family: Family) -> None:
    targets = [FusedTarget("cuda"), EagerTarget("cpu")]
    for seed in range(8):
        session = run_trace(unified_trace(family, seed, "legal"), targets)
        assert session.findings == [], f"{family}, seed {seed}: {session.findings[0]}"


def ahead(page_size: int) -> Any:
    """An allocator of two pools that runs ahead of its checks, with room for thousands of pages."""
    target = FusedTarget("cuda", exact=False)
    target.reset(two_pools(page_size=page_size, total_bytes=1 << 20), Mode())
    return target.allocator


def row_of(allocator: Any, pages: int) -> torch.Tensor:
    """A strided int32 row that ends inside its last page."""
    slots = allocator.alloc(pages * allocator.page_size)
    table = torch.zeros((slots.numel(), 2), dtype=torch.int32, device="cuda")
    table[:, 1] = slots
    return table[: slots.numel() - (allocator.page_size > 1), 1]


def frees(page_size: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """The segment frees, ready to be made, in a legal order."""
    allocator = ahead(page_size)
    first, second, third = (row_of(allocator, 200) for _ in range(3))
    yield "free_swa_segment", lambda: allocator.free_swa_segment(first, start_pos=0)
    yield "free_full_segment", lambda: allocator.free_full_segment(first, start_pos=0)
    yield "free_segment", lambda: allocator.free_segment(second, start_pos=0)
    allocator.free_group_begin()
    yield "free_segment in a group", lambda: allocator.free_segment(third, start_pos=0)
    yield "free_group_end", allocator.free_group_end


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_segment_frees_are_one_launch_and_wait_for_nothing(page_size: int) -> None:
    # The first calls compile.
    for _, make in frees(page_size):
        make()
    syncs, launches = CudaSyncs(), Launches()
    for name, make in frees(page_size):
        with syncs.watch():
            torch.cuda.set_sync_debug_mode("error")
            make()
        assert syncs.syncs == [], f"{name} at page size {page_size}: {syncs.syncs}"
    for name, make in frees(page_size):
        with launches.watch():
            make()
        assert len(launches.kernels) == 1, f"{name} at page size {page_size}: {launches.kernels}"
        assert launches.copies == [], f"{name} at page size {page_size}: {launches.copies}"
    print(f"page size {page_size}: no host sync and one launch in each segment free")


def state_group(geometry: Geometry) -> Iterator[tuple[int, Callable[[], object]]]:
    """The calls of a group of states, ready to be made, and how many launches each is."""
    target = FusedTarget("cuda", exact=False)
    target.reset(geometry, Mode())
    allocator: Any = target.allocator
    slots = allocator.state_slots
    yield 1, lambda: slots.alloc_group_begin(4)
    yield 0, lambda: slots.alloc(1)
    yield 1, lambda: slots.alloc(2)
    yield 1, slots.alloc_group_end


@pytest.mark.parametrize("geometry", [full_and_states(), three_pools()])
def test_states_that_are_taken_out_in_advance_wait_for_nothing(geometry: Geometry) -> None:
    # The first calls compile.
    for _, make in state_group(geometry):
        make()
    syncs, launches = CudaSyncs(), Launches()
    for number, (_, make) in enumerate(state_group(geometry)):
        with syncs.watch():
            make()
        assert syncs.syncs == [], f"call {number}: {syncs.syncs}"
    for number, (expected, make) in enumerate(state_group(geometry)):
        with launches.watch():
            make()
        assert len(launches.kernels) == expected, f"call {number}: {launches.kernels}"


def test_the_detector_sees_a_set_shaped_free() -> None:
    allocator = ahead(4)
    slots = allocator.alloc(8)
    syncs = CudaSyncs()
    with syncs.watch():
        allocator.free(slots)
    assert syncs.syncs, "a free that depends on values was not seen to wait"


def test_large_segments_agree_with_the_cpu() -> None:
    answers = []
    for target in (FusedTarget("cuda"), EagerTarget("cpu")):
        target.reset(two_pools(page_size=2, total_bytes=1 << 18), Mode())
        allocator: Any = target.allocator
        row, kept = allocator.alloc(2 * 2000), allocator.alloc(2 * 900)
        allocator.free_swa_segment(row[:3000], start_pos=0)
        allocator.free_full_segment(row[:3000], start_pos=0)
        allocator.free_segment(row[3000:], start_pos=3000)
        moved = allocator.full.flush(urgent=False) + allocator.swa.flush(urgent=True)
        allocator.alloc(2 * 1500)
        answers.append((moved, kept.tolist(), target.snapshot()))
    assert answers[0] == answers[1]
