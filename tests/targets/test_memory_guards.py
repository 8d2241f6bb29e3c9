"""Guards around the buffers of ``fused``: a write one element too far is found, and writes inside are not."""

from __future__ import annotations

import pytest
import torch
from eager_calls import Bench, hybrid
from fused_bench import WRAPPING, TooLong, interpreted
from random_traces import random_trace

from oracle.finding import MemoryDamaged, raise_finding
from oracle.geometry import Mode
from oracle.lockstep import Judging, run_trace
from targets.fused import memory
from targets.fused.memory import GUARD_BYTES, DeviceBuffer, overwritten
from targets.probes.host_reads import HostReads
from targets.watching import attached

CPU = torch.device("cpu")


def test_a_write_one_element_too_far_is_a_finding() -> None:
    interpreted()
    target = TooLong()
    session = run_trace(WRAPPING, [target])
    (finding,) = session.findings
    assert (finding.kind, finding.quantity) == ("memory", "behind swa.list")
    assert finding.method == "free_segment"
    with pytest.raises(MemoryDamaged, match=r"writes behind swa\.list"):
        raise_finding(finding)
    again = run_trace(WRAPPING, [target])
    assert again.findings == [finding], "found again on buffers of its own, no sooner"


@pytest.mark.parametrize("page_size", [1, 3])
def test_nobody_else_writes_there(page_size: int) -> None:
    target = interpreted()
    for seed in range(3):
        trace = random_trace("hybrid-swa", page_size, seed, "mixed", Mode())
        assert run_trace(trace, [target], Judging(laws=False)).findings == [], f"seed {seed}"


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64])
def test_both_ends_are_guarded_whatever_the_dtype(dtype: torch.dtype) -> None:
    buffer = DeviceBuffer(5, dtype, CPU, zero=True)
    assert buffer.tensor.tolist() == [0] * 5
    assert buffer.address.tensor is buffer.tensor
    buffer.tensor.fill_(-1)
    assert overwritten({"it": buffer}) == []
    whole = torch.empty(0, dtype=dtype).set_(buffer.tensor.untyped_storage())
    place = GUARD_BYTES // dtype.itemsize
    whole[place - 1] = 0
    assert overwritten({"it": buffer}) == ["in front of it"]
    whole[place + 5] = 0
    assert overwritten({"it": buffer}) == ["in front of it", "behind it"]


def test_an_empty_buffer_is_guarded_too() -> None:
    assert overwritten({"it": DeviceBuffer(0, torch.int64, CPU)}) == []


def test_guards_are_left_out_where_a_sanitizer_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_guarded", True)
    memory.leave_out_guards()
    buffer = DeviceBuffer(3, torch.int64, CPU)
    assert buffer.tensor.untyped_storage().nbytes() == 24, "its end is the end of its memory"
    assert overwritten({"it": buffer}) == []


def test_no_guard_of_ours_is_counted_as_a_launch_of_the_allocator() -> None:
    subject = Bench(hybrid(), target=interpreted())
    pages = subject.target.allocator.full_side.pages  # type: ignore[attr-defined]
    subject.fresh(4)
    guarded = pages.handed_out
    assert guarded is not None, "slots that are handed out are guarded"
    with attached(HostReads()):
        subject.fresh(4)
    assert pages.handed_out is guarded
