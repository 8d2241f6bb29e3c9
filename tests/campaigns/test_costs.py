"""``kvoracle replay --costs``: a line for each method, and findings on our own targets only."""

from __future__ import annotations

from pathlib import Path

import pytest

from oracle.geometry import Geometry
from oracle.operations import Alloc, Release
from oracle.trace import Trace, encode_trace
from targets.probes.attaching import OURS
from targets.registry import known_targets
from tests.campaigns.conftest import RunCommand

pytest.importorskip("triton", reason="the targets are eager and fused")


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
