"""The benchmark of allocators runs where there is no GPU, and prints a row for each call."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_table_has_a_row_for_each_call_and_names_where_it_was_measured() -> None:
    command = [sys.executable, "benchmarks/allocators.py", "--device", "cpu", "--targets", "eager"]
    command += ["--page-sizes", "1", "4", "--pages", "1", "8", "--rounds", "2"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    rows = [
        line.split("|")[1].strip() for line in done.stdout.splitlines() if " / - / - / " in line
    ]
    expected = {"alloc": 4, "alloc_extend": 2, "alloc_decode": 2, "free_swa_segment": 4}
    expected |= {"free_segment": 4, "group of 8 frees": 2}
    assert {name: rows.count(name) for name in rows} == expected
    assert "device: " in done.stdout
    assert "- eager: nowhere" in done.stdout, "eager waits nowhere in these calls"
