"""``--costs``: a replay ends with a line for each method, and a fuzz finds what waits, on our own targets only."""

from __future__ import annotations

import io
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from campaigns.messages import Broken, Discovered, FuzzJob, Refused, Tally, Where, decode_event
from campaigns.report import render
from campaigns.verdict import FINDINGS, FamilyVerdict, SavedFinding, TargetVerdict, Verdict
from campaigns.worker import Worker
from oracle.finding import Finding
from oracle.geometry import Geometry
from oracle.operations import Alloc, Release
from oracle.trace import Trace, encode_trace
from targets import registry
from targets.eager.target import AllocatorClasses, EagerTarget
from targets.eager.unified.families import UNIFIED_CLASSES
from targets.eager.unified.two_pools import TwoPoolAllocator
from targets.probes.attaching import OURS
from targets.registry import known_targets
from tests.campaigns.conftest import RunCommand

pytest.importorskip("triton", reason="the targets are eager and fused")


@pytest.mark.long
def test_each_method_is_told_with_what_its_calls_cost(command: RunCommand, tmp_path: Path) -> None:
    geometry = Geometry(family="hybrid-swa", size=16, size_swa=16, page_size=4)
    trace = Trace(geometry=geometry, operations=(Alloc(amount=2, unit="pages"), Release()))
    (tmp_path / "trace.json").write_bytes(encode_trace(trace))
    done = command("replay", "trace.json", "fused", "eager", "--costs")
    assert done.returncode == 0, done.stdout + done.stderr
    costs = [
        line.split("  ")[-1].strip() for line in done.stdout.splitlines() if " calls, " in line
    ]
    quiet = "1 calls, 0 waited, 0 with shapes by value, at most"
    assert costs == [
        f"alloc_extend: {quiet} 1 launches",
        f"free_segments: {quiet} 1 launches",
        f"alloc_extend: {quiet} 0 launches",
        f"free_segments: {quiet} 0 launches",
    ], done.stdout


def test_only_targets_of_ours_are_judged() -> None:
    names = {known.specification.partition(":")[0] for known in known_targets()}
    assert set(OURS) <= names
    assert not any(name.startswith("sglang") for name in OURS)


class Reading(TwoPoolAllocator):
    """A window eviction reads its slots."""

    def free_swa_segment(self, slots: torch.Tensor, *, start_pos: int) -> None:
        if int(slots.sum()) >= 0:
            super().free_swa_segment(slots, start_pos=start_pos)


def _fuzz_planted(monkeypatch: pytest.MonkeyPatch, folder: Path, *, costs: bool) -> set[str]:
    """The kinds of what a child finds on an allocator of ours that waits for the device."""

    def planted(_specification: str, *, device: str, **_: Any) -> EagerTarget:
        classes = AllocatorClasses(unified={**UNIFIED_CLASSES, "unified-swa": Reading})
        return EagerTarget(device, name="mutant:reading", classes=classes)

    monkeypatch.setattr(registry, "make_target", planted)
    job = FuzzJob(
        where=Where(target="mutant:reading", journal=str(folder / "journal")),
        families=("unified-swa",),
        asked=True,
        callers="legal",
        level="off",
        debug=None,
        laws_only=False,
        seed=1,
        examples=20,
        costs=costs,
    )
    events = io.BytesIO()
    with monkeypatch.context() as patch:
        patch.setattr("oracle.lockstep.Session.journal", None)
        Worker(events, threading.Event()).do(job)
    told = [decode_event(line) for line in events.getvalue().splitlines()]
    assert not [event for event in told if isinstance(event, Broken | Refused)], told
    return {event.finding.kind for event in told if isinstance(event, Discovered)}


def test_a_fuzz_with_costs_finds_a_wait_on_an_allocator_of_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert _fuzz_planted(monkeypatch, tmp_path, costs=True) == {"sync"}
    assert _fuzz_planted(monkeypatch, tmp_path, costs=False) == set()


def test_a_finding_of_the_probe_fails_the_run() -> None:
    finding = Finding(
        family="unified-swa",
        kind="sync",
        quantity="host sync",
        breach="",
        index=0,
        operation="evict",
        method="free_swa_segment",
        expected="none: the call is sync-free",
        got="item at two_pools.py:1",
        target="eager",
        versions={},
    )
    saved = SavedFinding(finding=finding, signature="0" * 8, operations=1)
    family = FamilyVerdict("unified-swa", Tally(), [saved])
    verdict = Verdict(targets=[TargetVerdict("eager", {}, [family])])
    assert verdict.exit_code() == FINDINGS
    saved.trace_file = "trace.json"
    assert "kvoracle replay trace.json eager --costs" in render(verdict, 200)


@pytest.mark.long
def test_a_fuzz_with_costs_still_makes_programs(command: RunCommand) -> None:
    done = command(
        "fuzz", "eager", "--family", "unified-swa", "--callers", "hostile", "--examples", "10",
        "--seed", "3", "--costs",
    )  # fmt: skip
    assert "    script  " in done.stdout, done.stdout + done.stderr


@pytest.mark.long
def test_our_own_unified_allocators_pass_a_fuzz_with_costs(command: RunCommand) -> None:
    done = command(
        "fuzz", "eager", "--family", "unified-swa", "--callers", "legal", "--examples", "10",
        "--seed", "3", "--costs",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "costs" in done.stdout + done.stderr
