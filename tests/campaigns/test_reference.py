"""``--reference``, and what ``fused`` says where its kernels do not run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from oracle.geometry import Geometry
from oracle.operations import Alloc, Release
from oracle.trace import Trace, encode_trace
from tests.campaigns.conftest import ROOT, RunCommand

pytest.importorskip("triton", reason="the target is fused")

TRACE = Trace(
    geometry=Geometry(family="paged", size=16, page_size=4),
    operations=(Alloc(amount=2, unit="pages"), Release()),
)


@pytest.mark.long
def test_the_switch_runs_the_torch_path_of_fused(command: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_bytes(encode_trace(TRACE))
    replayed = command("replay", "trace.json", "fused", "fused:reference", "eager", "--reference")
    assert replayed.returncode == 0, replayed.stderr
    assert "fused:reference: kernels torch, torch" in replayed.stdout
    assert replayed.stdout.count("clean.") == 2, "the target and its torch path are one"
    budget = ("--examples", "6", "--seed", "1", "--format", "json")
    fuzzed = command("fuzz", "fused", "--reference", *budget)
    assert fuzzed.returncode == 0, fuzzed.stderr
    assert [one["target"] for one in json.loads(fuzzed.stdout)["targets"]] == ["fused:reference"]


def test_a_cpu_without_the_interpreter_takes_it_too_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_bytes(encode_trace(TRACE))
    done = subprocess.run(
        [sys.executable, "-m", "campaigns", "replay", "trace.json", "fused"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TRITON_INTERPRET": "0"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "fused: kernels torch, as Triton does not interpret in this process" in done.stdout
