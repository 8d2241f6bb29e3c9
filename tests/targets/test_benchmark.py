"""The benchmark of allocators runs where there is no GPU, and prints a row for each call."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.long
def test_the_table_has_a_row_for_each_call_and_names_where_it_was_measured() -> None:
    command = [sys.executable, "benchmarks/allocators.py", "--device", "cpu", "--targets", "eager"]
    command += ["--page-sizes", "1", "4", "--pages", "1", "8", "--rounds", "2"]
    done = subprocess.run(
        command,
        cwd=ROOT,
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


def test_the_benchmarks_run_in_a_checkout_that_is_not_installed(tmp_path: Path) -> None:
    for name in ("engine.py", "allocators.py"):
        done = _without_this_package(tmp_path, name, "--help")
        assert done.returncode == 0, done.stderr
        assert "--rounds" in done.stdout


def test_impossible_rounds_are_one_sentence(tmp_path: Path) -> None:
    done = _without_this_package(tmp_path, "engine.py", "--rounds", "0")
    assert done.returncode == 2
    assert "'0' is no whole number of 1 or more" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_a_benchmark_lacks_is_one_sentence(tmp_path: Path) -> None:
    # With -S there are no installed packages at all.
    done = subprocess.run(
        [sys.executable, "-S", str(ROOT / "benchmarks" / "engine.py")],
        cwd=tmp_path,
        env={},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("the benchmarks need torch, which is not installed: ")
    assert done.stderr.count("\n") == 1


def _without_this_package(
    folder: Path, name: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    hidden = folder / "sitecustomize.py"
    # An editable installation is a finder that would find this package wherever it is.
    hidden.write_text(
        "import sys\n"
        "sys.meta_path[:] = [one for one in sys.meta_path if '__editable__' not in repr(one)]\n"
    )
    return subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / name), *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
    )
