"""The fused allocators compiled for a GPU: lockstep, launches, host syncs, and programs that wait for each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from eager_calls import Bench, hybrid
from fused_bench import WRAPPING, TooLong
from random_traces import random_trace
from torch.profiler import ProfilerActivity, profile

from oracle.geometry import FAMILIES, Geometry, Level, Mode
from oracle.lockstep import Judging, run_trace
from targets.eager.target import EagerTarget
from targets.fused.launcher import INTERPRET
from targets.fused.target import FusedTarget

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
    pytest.mark.skipif(bool(os.environ.get(INTERPRET)), reason="this process interprets kernels"),
]

PAGE_SIZES = [1, 3, 4, 16]
PAGE_SIZE, PAGES = 64, 40


@pytest.fixture(autouse=True)
def at_level_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SGLANG_INVARIANT_CHECK", "0")


@pytest.mark.parametrize("level", ["off", "warn", "strict"])
@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_it_does_what_is_predicted_and_what_eager_does(page_size: int, level: Level) -> None:
    targets = [FusedTarget("cuda"), EagerTarget("cpu")]
    for family in FAMILIES:
        if family == "token" and page_size > 1:
            continue
        for seed in range(4):
            trace = random_trace(family, page_size, seed, "mixed", Mode(level=level))
            session = run_trace(trace, targets, Judging(laws=False))
            assert session.findings == [], f"{family}, seed {seed}: {session.findings}"


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_a_legal_caller_gets_the_same_from_one_that_runs_ahead(page_size: int) -> None:
    target = FusedTarget("cuda", exact=False)
    for seed in range(8):
        trace = random_trace("hybrid-swa", page_size, seed, "legal", Mode())
        assert run_trace(trace, [target]).findings == [], f"seed {seed}"


def ahead() -> Bench:
    size = PAGE_SIZE * PAGES * 4
    return Bench(hybrid(size, size, PAGE_SIZE), target=FusedTarget("cuda", exact=False))


def test_a_page_named_by_programs_that_wait_for_each_other_is_given_each_time() -> None:
    subject = ahead()
    subject.fresh(PAGE_SIZE * PAGES)
    row = [page * PAGE_SIZE + slot for page in range(1, PAGES + 1) for slot in range(PAGE_SIZE)]
    subject.free(row * 2, "free_swa_segment")
    state = subject.state
    assert state.swa is not None
    assert state.swa.free[: 2 * PAGES] == [*range(1, PAGES + 1)] * 2
    assert state.mapping is not None
    assert not any(state.mapping[:-1])


def test_a_write_one_element_behind_a_buffer_is_found() -> None:
    (finding,) = run_trace(WRAPPING, [TooLong("cuda")]).findings
    assert (finding.kind, finding.quantity) == ("memory", "behind swa.list")


Prepared = Callable[[], None]


def on_device(values: list[int], dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype, device="cuda")


def operations() -> Iterator[tuple[str, Prepared]]:
    """Each sync-free call, ready to be made on an allocator that runs ahead."""
    allocator = ahead().target.allocator  # type: ignore[attr-defined]
    length = PAGE_SIZE * 8
    zero, count = torch.tensor([0]), torch.tensor([length])
    fresh = (zero.cuda(), zero, count.cuda(), count, on_device([-1], torch.int32), length)
    row = allocator.alloc_extend(*fresh).to(torch.int32)
    rows = allocator.alloc_extend(*fresh).to(torch.int32)
    after, last = torch.tensor([length + 1]), row[-1:].clone()
    after_on_device = after.cuda()
    single = ahead_of_slots()
    slots = single.alloc(8)
    yield "alloc_extend", lambda: allocator.alloc_extend(*fresh)
    yield "alloc_extend_swa_tail", lambda: allocator.alloc_extend_swa_tail(*fresh, PAGE_SIZE)
    yield "alloc_decode", lambda: allocator.alloc_decode(after_on_device, after, last)
    yield "free_swa_segment", lambda: allocator.free_swa_segment(row, start_pos=0)
    yield "free_full_segment", lambda: allocator.free_full_segment(row, start_pos=0)
    yield "free_segment", lambda: allocator.free_segment(rows, start_pos=0)
    yield "alloc", lambda: single.alloc(8)
    yield "free of single slots", lambda: single.free(slots)
    allocator.free_group_begin()
    more = allocator.alloc_extend(*fresh).to(torch.int32)
    yield "free_segment in a group", lambda: allocator.free_segment(more, start_pos=0)
    yield "free_group_end", allocator.free_group_end


def ahead_of_slots() -> Any:
    geometry = Geometry(family="hybrid-swa", size=64, size_swa=64)
    target = FusedTarget("cuda", exact=False)
    target.reset(geometry, Mode())
    return target.allocator


def test_each_call_is_one_launch_and_waits_for_nothing() -> None:
    # The first calls compile.
    for _, make in operations():
        make()
    for name, make in operations():
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as watched:
            torch.cuda.set_sync_debug_mode("error")
            try:
                make()
            finally:
                torch.cuda.set_sync_debug_mode("default")
            torch.cuda.synchronize()
        on_gpu = [
            event.name
            for event in watched.events()
            if event.device_type == torch.autograd.DeviceType.CUDA
        ]
        assert len(on_gpu) == 1, f"{name}: {on_gpu}"


def test_the_sync_detector_sees_a_set_shaped_free() -> None:
    subject = ahead()
    slots = on_device(list(subject.fresh(PAGE_SIZE)))
    torch.cuda.set_sync_debug_mode("error")
    try:
        with pytest.raises(RuntimeError, match="synchronizing"):
            subject.target.allocator.free(slots)  # type: ignore[attr-defined]
    finally:
        torch.cuda.set_sync_debug_mode("default")
