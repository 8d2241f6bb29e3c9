"""The probe of host syncs on a CPU: it catches what is planted, and is silent where nothing waits."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from eager_calls import hybrid
from fused_bench import interpreted
from random_traces import random_trace

from oracle.call import Call
from oracle.geometry import FAMILIES, Mode
from oracle.lockstep import Judging, run_trace
from oracle.sync_free import SyncFree
from targets.eager.hybrid_swa import HybridSWAAllocator
from targets.eager.target import AllocatorClasses, EagerTarget
from targets.probes.host_reads import HostReads
from targets.probes.host_syncs import host_sync_probe
from targets.probes.probed_target import ProbedTarget

VALUES = torch.tensor([3, 1, 1, 0])

WAITING: dict[str, Callable[[], object]] = {
    "item": lambda: VALUES[0].item(),
    "a number": lambda: int(VALUES.sum()),
    "a truth value": lambda: bool((VALUES > 0).all()),
    "a list": VALUES.tolist,
    "an array": VALUES.numpy,
    "a comparison": lambda: torch.equal(VALUES, VALUES),
    "a copy to the host": VALUES.cpu,
}
SHAPED: dict[str, Callable[[], object]] = {
    "a mask": lambda: VALUES[VALUES > 0],
    "a masked write": lambda: VALUES.clone().__setitem__(VALUES > 0, VALUES[:3]),
    "nonzero": lambda: torch.nonzero(VALUES),
    "unique": lambda: torch.unique(VALUES),
    "masked_select": lambda: torch.masked_select(VALUES, VALUES > 0),
    "where": lambda: torch.where(VALUES > 0),
    "repeat_interleave": lambda: torch.repeat_interleave(VALUES, VALUES),
}
QUIET: dict[str, Callable[[], object]] = {
    "arithmetic": lambda: (VALUES // 2)[::2] + 1,
    "an index": lambda: VALUES[VALUES],
    "a filling": lambda: VALUES.clone().__setitem__(VALUES > 0, 7),
    "sorting": lambda: torch.sort(VALUES),
    "shapes": lambda: VALUES.numel() + VALUES.shape[0],
    "a length that is known": lambda: torch.repeat_interleave(VALUES, VALUES, output_size=5),
    "a tensor made on the host": lambda: torch.tensor([1, 2]).tolist(),
}


@pytest.mark.parametrize("what", WAITING)
def test_a_host_read_is_seen(what: str) -> None:
    probe = HostReads()
    with probe.watch():
        WAITING[what]()
    assert len(probe.syncs) == 1, probe.syncs
    assert "test_host_syncs.py" in probe.syncs[0]


@pytest.mark.parametrize("what", SHAPED)
def test_a_shape_that_depends_on_values_is_seen(what: str) -> None:
    probe = HostReads()
    with probe.watch():
        SHAPED[what]()
    assert probe.shapes, f"{what} was not seen"
    assert not probe.syncs


@pytest.mark.parametrize("what", QUIET)
def test_what_needs_no_values_is_not_reported(what: str) -> None:
    probe = HostReads()
    with probe.watch():
        QUIET[what]()
    assert (probe.syncs, probe.shapes) == ([], [])


def test_twins_on_the_host_and_what_is_computed_from_them_may_be_read() -> None:
    probe = HostReads()
    twin = torch.tensor([4, 5])
    with probe.watch([twin]):
        int((twin[1:] - 1).sum())
        assert probe.syncs == []
        int((twin + VALUES[:2]).sum())
    assert len(probe.syncs) == 1, "a sum with a tensor of the device lies on the device"


class Counting(HybridSWAAllocator):
    """Asks the device how many slots a segment has peers for."""

    def free_swa_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        mapped = self.full_to_swa_index_mapping[free_index.long()]
        if int((mapped > 0).sum()) >= 0:
            super().free_swa_segment(free_index, start_pos=start_pos)


def findings_of(target: EagerTarget, *, judged: bool = True, mode: Mode | None = None) -> list[str]:
    """What the judge says of syncs, over a few legal traces of every family."""
    probed = ProbedTarget(target, host_sync_probe("cpu"), judged=judged)
    found = []
    for family in FAMILIES:
        for page_size in (1,) if family == "token" else (1, 4):
            for seed in range(3):
                trace = random_trace(family, page_size, seed, "legal", mode or Mode())
                session = run_trace(trace, [probed], Judging(laws=False))
                found += [f"{finding.kind} {finding.method}" for finding in session.findings]
    assert probed.tallies, "no call was watched"
    return found


def test_eager_keeps_the_promise() -> None:
    assert findings_of(EagerTarget()) == []


def test_fused_keeps_the_promise() -> None:
    target = interpreted()
    probed = ProbedTarget(target, host_sync_probe("cpu"))
    for seed in range(2):
        trace = random_trace("hybrid-swa", 4, seed, "legal", Mode(), operations=25)
        assert run_trace(trace, [probed], Judging(laws=False)).findings == [], f"seed {seed}"


def test_the_judge_finds_a_planted_read_and_names_its_line() -> None:
    probed = ProbedTarget(
        EagerTarget(name="counting", classes=AllocatorClasses(hybrid=Counting)),
        host_sync_probe("cpu"),
    )
    findings = []
    for seed in range(12):
        trace = random_trace("hybrid-swa", 4, seed, "legal", Mode())
        findings += run_trace(trace, [probed], Judging(laws=False)).findings
    assert findings, "free_swa_segment was never called"
    assert {(finding.kind, finding.quantity) for finding in findings} == {("sync", "host sync")}
    assert {finding.method for finding in findings} == {"free_swa_segment"}
    assert "test_host_syncs.py" in findings[0].got


def test_a_release_is_tallied_and_not_judged() -> None:
    probed = ProbedTarget(
        EagerTarget(name="counting", classes=AllocatorClasses(hybrid=Counting)),
        host_sync_probe("cpu"),
        judged=False,
    )
    for seed in range(12):
        trace = random_trace("hybrid-swa", 4, seed, "legal", Mode())
        assert run_trace(trace, [probed], Judging(laws=False)).findings == []
    tally = probed.tallies["free_swa_segment"]
    assert 0 < tally.syncing == tally.calls, tally
    assert probed.tallies["alloc_extend"].syncing == 0


def test_the_end_of_a_group_is_sync_free_only_without_set_shaped_frees() -> None:
    promise = SyncFree(hybrid(), Mode())
    calls = ("free_group_begin", "free_segment", "free_group_end", "free_group_begin", "free_swa")
    promised = [promise.promised(Call(method=method)) for method in (*calls, "free_group_end")]
    assert promised == [True, True, True, True, False, False]
    assert promise.promised(Call(method="free_group_end"))


def test_nothing_is_promised_where_the_host_must_read_to_speak() -> None:
    for mode in (Mode(level="warn"), Mode(level="strict"), Mode(debug=True)):
        assert not SyncFree(hybrid(), mode).promised(Call(method="free_segment")), mode


def test_a_paged_pool_frees_segments_of_a_full_side_as_sets() -> None:
    promise = SyncFree(hybrid(), Mode())
    assert promise.promised(Call(method="free_full_segment"))
    assert not promise.promised(Call(method="free_full_segment", pool="full"))
