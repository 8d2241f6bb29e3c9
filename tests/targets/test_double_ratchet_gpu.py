"""A peer given back twice, under compute-sanitizer: what 0.5.23 stores where, and that ours stores nothing outside its tables.

Each run is a process of its own, with every tensor an allocation of its own, or a store in front of a table would lie in another
tensor. What the checker says is printed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("double_ratchet.py")
SANITIZER = "compute-sanitizer"
UNSUPPORTED = "Device not supported"
SECONDS = 200

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
    pytest.mark.skipif(shutil.which(SANITIZER) is None, reason=f"{SANITIZER} is not installed"),
]


def watched(target: str, times: int) -> str:
    """What the script and the checker said of ``target``; skips where the checker cannot watch this GPU."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "PYTORCH_NO_CUDA_MEMORY_CACHING": "1",
    }
    done = subprocess.run(
        [
            *(SANITIZER, "--tool", "memcheck", "--padding", "64", "--print-limit", "20"),
            *("--destroy-on-device-error", "kernel"),
            *(sys.executable, str(SCRIPT), target, "cuda", str(times)),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=SECONDS,
        env=environment,
    )
    print(done.stdout)
    if UNSUPPORTED.lower() in done.stdout.lower():
        pytest.skip(f"{SANITIZER} says: {UNSUPPORTED}")
    assert "call translate" in done.stdout, "the script ended before the holes were drawn"
    return done.stdout


def errors(said: str) -> int:
    """How many errors the checker counted."""
    summary = re.search(r"ERROR SUMMARY: (\d+) error", said)
    assert summary is not None, f"{SANITIZER} did not finish: {said[-2000:]}"
    return int(summary.group(1))


@pytest.mark.release
def test_a_peer_given_back_twice_makes_0_5_23_store_in_front_of_its_table() -> None:
    said = watched("sglang==0.5.23", 2)
    assert errors(said) > 0
    assert re.search(r"Invalid __global__ write of size 8 bytes", said), said[-4000:]


@pytest.mark.release
def test_a_peer_given_back_once_makes_no_error() -> None:
    said = watched("sglang==0.5.23", 1)
    assert errors(said) == 0
    assert "done" in said


def test_ours_stores_inside_its_tables_even_then() -> None:
    said = watched("fused", 2)
    assert errors(said) == 0
    assert "done" in said
