"""The probes on CUDA: each catches what is planted, and is silent where nothing is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from fused_bench import Wordy
from random_traces import random_trace

from oracle.call import Call
from oracle.geometry import Mode
from oracle.lockstep import Judging, run_trace
from targets.driver import perform
from targets.eager.hybrid_swa import HybridSWAAllocator
from targets.eager.target import AllocatorClasses, EagerTarget
from targets.fused.target import FusedTarget
from targets.hits import HitRecorder
from targets.probes import cuda_syncs
from targets.probes.cuda_syncs import PAGEABLE_COPY, BlindDetectorError, CudaSyncs
from targets.probes.launches import Launches
from targets.probes.probed_target import ProbedTarget

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]

WAITING: dict[str, Callable[[torch.Tensor], object]] = {
    "item": lambda values: values[0].item(),
    "a list": lambda values: values.tolist(),
    "a mask": lambda values: values[values > 0],
    "unique": torch.unique,
    "nonzero": torch.nonzero,
    "masked_select": lambda values: torch.masked_select(values, values > 0),
    "a tensor from a list": lambda values: torch.tensor([1, 2], device=values.device),
}


@pytest.mark.parametrize("what", WAITING)
def test_a_wait_is_seen(what: str) -> None:
    values = torch.tensor([3, 1, 1, 0], device="cuda")
    probe = CudaSyncs()
    with probe.watch():
        WAITING[what](values)
    assert probe.syncs, f"{what} was not seen"
    assert "test_probes_gpu.py" in probe.syncs[0]


def test_only_a_copy_from_pageable_memory_is_seen() -> None:
    pageable, pinned = torch.zeros(8), torch.zeros(8).pin_memory()
    probe = CudaSyncs()
    with probe.watch():
        pinned.to("cuda", non_blocking=True)
    assert probe.syncs == []
    with probe.watch():
        pageable.to("cuda", non_blocking=True)
    assert len(probe.syncs) == 1, probe.syncs
    assert PAGEABLE_COPY in probe.syncs[0]


def test_arithmetic_waits_for_nothing() -> None:
    values = torch.arange(8, device="cuda")
    probe = CudaSyncs()
    with probe.watch():
        values[values // 2] = values + 1
    assert probe.syncs == []


def test_a_blind_detector_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_syncs, "_SYNC_MESSAGE", "never said")
    with pytest.raises(BlindDetectorError, match="item"):
        CudaSyncs()


def test_every_launch_is_counted_and_copies_apart() -> None:
    values = torch.arange(8, device="cuda")
    probe = Launches()
    with probe.watch():
        values + 1
    assert len(probe.kernels) == 1, probe.kernels
    with probe.watch():
        (values + 1) * 2
        values.cpu()
    assert (len(probe.kernels), len(probe.copies)) == (2, 1), (probe.kernels, probe.copies)
    with probe.watch():
        values.view(2, 4)
    assert probe.kernels == []


@pytest.mark.parametrize("page_size", [1, 3, 16])
def test_fused_keeps_the_promise(page_size: int) -> None:
    probed = ProbedTarget(FusedTarget("cuda", exact=False), CudaSyncs(), Launches())
    for seed in range(4):
        trace = random_trace("hybrid-swa", page_size, seed, "legal", Mode())
        assert run_trace(trace, [probed], Judging(laws=False)).findings == [], f"seed {seed}"
    assert probed.tallies, "no call was watched"


class Counting(HybridSWAAllocator):
    """Asks the device whether a segment has peers."""

    def free_swa_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        if int(free_index.sum()) >= 0:
            super().free_swa_segment(free_index, start_pos=start_pos)


def test_the_judge_finds_a_planted_read() -> None:
    classes = AllocatorClasses(hybrid=Counting)
    probed = ProbedTarget(EagerTarget("cuda", name="counting", classes=classes), CudaSyncs())
    methods = set()
    for seed in range(12):
        trace = random_trace("hybrid-swa", 4, seed, "legal", Mode())
        for finding in run_trace(trace, [probed], Judging(laws=False)).findings:
            assert finding.kind == "sync", finding
            methods.add(finding.method)
    assert "free_swa_segment" in methods


def test_the_judge_finds_a_second_launch() -> None:
    probed = ProbedTarget(Wordy("cuda", exact=False), CudaSyncs(), Launches())
    found = set()
    for seed in range(12):
        trace = random_trace("hybrid-swa", 4, seed, "legal", Mode())
        for finding in run_trace(trace, [probed], Judging(laws=False)).findings:
            assert finding.kind == "launches", finding
            found.add((finding.method, finding.expected))
    assert ("free_swa_segment", "at most 1") in found
    assert ("alloc_extend", "at most 0: the call was refused") in found


class Asserting:
    """Asserts on the device that each slot given back is below 8."""

    def free(self, slots: torch.Tensor) -> None:
        torch._assert_async((slots < 8).all(), "invariant-check FAILED [slot.known]: below 8")


def test_a_failed_assert_costs_no_context() -> None:
    recorder = HitRecorder(has_counter=False)
    for slots, error in (((3,), ""), ((9,), "invariant:slot.known"), ((4,), "")):
        call = Call(method="free", slots=slots)
        assert perform(Asserting(), call, "cuda", observe=recorder).error == error
    assert torch.arange(3, device="cuda").tolist() == [0, 1, 2]
