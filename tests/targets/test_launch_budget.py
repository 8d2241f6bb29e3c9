"""The budget of launches through Triton's interpreter: the judge finds what launches more, and is silent where nothing does."""

from __future__ import annotations

from typing import Any

import pytest
from eager_calls import hybrid
from fused_bench import Wordy, interpreted
from random_traces import random_trace

from oracle.call import Call
from oracle.costs import Costs
from oracle.finding import Finding
from oracle.geometry import Family, Mode
from oracle.launch_budget import LaunchBudget
from oracle.lockstep import Judging, run_trace
from oracle.observation import Outcome
from targets.eager.target import EagerTarget
from targets.fused.target import FusedTarget
from targets.probes.host_syncs import host_sync_probe
from targets.probes.launcher_launches import LauncherLaunches
from targets.probes.probed_target import ProbedTarget

ONE = ["alloc_extend", "alloc_decode", "free_segment", "free_swa_segment", "free_full_segment"]


def findings_of(
    target: EagerTarget, family: Family, page_size: int, seeds: int
) -> tuple[list[Finding], ProbedTarget]:
    probed = ProbedTarget(target, host_sync_probe("cpu"), LauncherLaunches())
    findings: list[Finding] = []
    for seed in range(seeds):
        trace = random_trace(family, page_size, seed, "legal", Mode(), operations=25)
        findings += run_trace(trace, [probed], Judging(laws=False)).findings
    return findings, probed


def test_a_second_launch_is_found() -> None:
    interpreted()
    findings, _ = findings_of(Wordy(), "hybrid-swa", 4, 12)
    assert {(finding.kind, finding.quantity) for finding in findings} == {("launches", "launches")}
    by_method = {finding.method: finding for finding in findings}
    assert by_method["free_swa_segment"].got == "2 (translate, free_segment)"
    assert by_method["free_swa_segment"].expected == "at most 1"
    assert by_method["alloc_extend"].got == "1 (translate)"
    assert by_method["alloc_extend"].expected == "at most 0: the call was refused"


def test_fused_keeps_the_budget() -> None:
    interpreted()
    for family, page_size in (("token", 1), ("paged", 4), ("hybrid-swa", 1)):
        findings, _ = findings_of(FusedTarget(), family, page_size, 3)  # type: ignore[arg-type]
        assert findings == [], (family, page_size)
    findings, probed = findings_of(FusedTarget(), "hybrid-swa", 4, 14)
    assert findings == []
    most = {name: probed.tallies[name].most_launches for name in ONE if name in probed.tallies}
    assert most == dict.fromkeys(ONE, 1), "each of them was called, and launched once"


def test_a_target_that_promises_nothing_is_not_judged() -> None:
    interpreted()
    target = Wordy()
    target.keeps_launch_budget = False
    findings, probed = findings_of(target, "hybrid-swa", 4, 4)
    assert findings == []
    assert probed.tallies["free_swa_segment"].most_launches == 2


@pytest.mark.parametrize(
    ("method", "value", "most"),
    [("alloc_extend", (4,), 1), ("alloc_extend", None, 0), ("free_segment", None, 1)],
)
def test_what_is_granted_is_one_launch_and_nothing_for_a_refusal(
    method: Any, value: tuple[int, ...] | None, most: int
) -> None:
    budget = LaunchBudget(hybrid(), Mode())
    call, outcome = Call(method=method), Outcome(value=value, costs=Costs())
    assert budget.of(call, outcome) == most
    assert budget.of(call, Outcome(error="AssertionError")) is None
    budget.follow(("double-free",))
    assert budget.of(call, outcome) is None


def test_nothing_is_granted_where_the_host_looks_or_pages_wait_for_a_merge() -> None:
    outcome = Outcome(value=(4,))
    for mode in (Mode(level="warn"), Mode(level="strict"), Mode(debug=True)):
        assert LaunchBudget(hybrid(), mode).of(Call(method="free_segment"), outcome) is None
    sorting = LaunchBudget(hybrid(need_sort=True), Mode())
    assert sorting.of(Call(method="alloc_extend"), outcome) is None
    assert sorting.of(Call(method="free_segment"), outcome) == 1
    assert LaunchBudget(hybrid(), Mode()).of(Call(method="free_swa"), outcome) is None
