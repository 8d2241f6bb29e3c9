"""``kvoracle replay --sanitizer``: what compute-sanitizer reports is a finding, and what it could not see is said.

A script stands in for the program: it runs what it is given and writes the report of a test.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from campaigns.command_line import main
from campaigns.sanitizer import Sanitizer, SanitizerError, find_sanitizer, findings_of, read_report
from oracle.errors import UsageError
from oracle.geometry import Geometry
from oracle.operations import Alloc, Release
from oracle.trace import Trace, encode_trace
from tests.campaigns.conftest import ROOT

STAND_IN = f"""#!{sys.executable}
import pathlib, subprocess, sys
here = pathlib.Path(__file__).parent
options, command = sys.argv[1:], []
while options and options[0].startswith("--"):
    name, value, *options = options
    if name == "--log-file":
        log = value
    (here / "options").open("a").write(f"{{name}} {{value}}\\n")
code = subprocess.run(options).returncode
if (here / "report").exists():
    pathlib.Path(log).write_text((here / "report").read_text())
sys.exit(code)
"""

CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
WRITES_TOO_FAR = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 8 bytes
=========     at _copy_two+0x290 in /src/targets/fused/kernels_lists.py:67
=========     by thread (3,0,0) in block (0,0,0)
=========     Access to 0x7f32c8000218 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f32c8000200 of size 24 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: launch in driver.c:40 [0x2a1]
=========
========= Invalid __global__ write of size 8 bytes
=========     at _copy_two+0x290 in /src/targets/fused/kernels_lists.py:67
=========     by thread (4,0,0) in block (0,0,0)
=========     Access to 0x7f32c8000220 is out of bounds
=========
========= Invalid __global__ read of size 4 bytes
=========     at _extend+0x10 in /src/targets/fused/kernels_rows.py:127
=========     by thread (0,0,0) in block (0,0,0)
=========
========= Target application returned an error
========= ERROR SUMMARY: 3 errors
"""
RACES = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at _free_sets+0x80 in kernels_sets.py:73
=========     and Read access at _free_sets+0xa0 in kernels_sets.py:75 [15 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
UNWRITTEN = """========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 8 bytes
=========     at _take(long *, int)+0x70 in /src/targets/fused/kernels_lists.py:41
=========     by thread (31,0,0) in block (1,0,0)
=========     Address 0x7f3c7ec000f8
=========
========= Host API memory access error at host access to 0x7f7fcdc01200 of size 400 bytes
=========     Uninitialized access at 0x7f7fcdc01300 on access by cudaMemcpyAsync source
=========     Saved host backtrace up to driver entry point at error
=========     Host Frame: [0x1fe264]
=========                in /usr/lib/x86_64-linux-gnu/libcuda.so.1
=========
========= Host API memory access error at host access to 0x7f7fcdc09900 of size 16 bytes
=========     Uninitialized access at 0x7f7fcdc09908 on access by cudaMemcpyAsync source
=========     Saved host backtrace up to driver entry point at error
=========     Host Frame: [0x1fe264]
=========                in /usr/lib/x86_64-linux-gnu/libcuda.so.1
=========
========= ERROR SUMMARY: 3 errors
"""
BLIND = """========= COMPUTE-SANITIZER
========= Error: Target application terminated before first instrumented API call
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the program, first on PATH, and with the trace that is replayed."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "compute-sanitizer"
    program.write_text(STAND_IN)
    program.chmod(0o755)
    trace = Trace(
        geometry=Geometry(family="paged", size=16, page_size=4),
        operations=(Alloc(amount=2, unit="pages"), Release()),
    )
    (tmp_path / "trace.json").write_bytes(encode_trace(trace))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return folder


def replay(target: str, tool: str) -> Result:
    return CliRunner().invoke(main, ["replay", "trace.json", target, "--sanitizer", tool])


def test_what_it_reports_is_a_finding_for_each_error_of_a_kernel(stand_in: Path) -> None:
    (stand_in / "report").write_text(WRITES_TOO_FAR)
    result = replay("eager", "memcheck")
    assert result.exit_code == 1, result.output
    said = " ".join(result.stdout.split())
    assert "compute-sanitizer memcheck: 2 different errors" in said
    assert "eager: findings 2, hazards 0." in said
    assert "0 alloc alloc(12) -> [4..15]" in said, "the replay itself is told as ever"
    options = (stand_in / "options").read_text()
    assert "--tool memcheck" in options
    assert "--report-api-errors no" in options


def test_what_nobody_wrote_is_a_finding_where_it_is_read(stand_in: Path) -> None:
    (stand_in / "report").write_text(UNWRITTEN)
    result = replay("eager", "initcheck")
    assert result.exit_code == 1, result.output
    said = " ".join(result.stdout.split())
    assert "compute-sanitizer initcheck: 2 different errors" in said
    assert "eager: findings 2, hazards 0." in said
    options = (stand_in / "options").read_text().splitlines()
    assert "--tool initcheck" in options
    assert "--target-processes application-only" in options
    assert not any(option.startswith("--report-api-errors") for option in options)


def test_silence_is_clean(stand_in: Path) -> None:
    (stand_in / "report").write_text(CLEAN)
    result = replay("eager", "initcheck")
    assert result.exit_code == 0, result.output
    assert "compute-sanitizer initcheck: 0 different errors" in result.stdout
    assert "eager: clean." in result.stdout


@pytest.mark.parametrize("report", [BLIND, ""])
def test_a_report_of_nothing_is_no_clean_bill(stand_in: Path, report: str) -> None:
    if report:
        (stand_in / "report").write_text(report)
    result = replay("eager", "memcheck")
    assert result.exit_code == 2
    assert result.stderr.startswith("kvoracle: compute-sanitizer made no report")
    assert "add --device cuda" in result.stderr
    assert "clean" not in result.stdout


def test_without_the_program_nothing_runs(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (stand_in / "compute-sanitizer").unlink()
    for home in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(home, raising=False)
    result = replay("eager", "racecheck")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("kvoracle: --sanitizer needs compute-sanitizer")
    assert result.stderr.count("\n") == 1


def test_it_is_found_in_the_toolkit_too(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("CUDA_HOME", str(stand_in.parent))
    assert find_sanitizer() == str(stand_in / "compute-sanitizer")


def test_errors_are_told_apart_by_what_they_are_and_where(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(WRITES_TOO_FAR)
    write, read = read_report(log)
    place = "/src/targets/fused/kernels_lists.py:67"
    assert (write.what, write.kernel, write.place, write.count) == (
        "Invalid __global__ write of size 8 bytes", "_copy_two", place, 2,
    )  # fmt: skip
    assert "1 bytes after the nearest allocation" in write.detail
    assert "Host Frame" not in write.detail
    assert (read.kernel, read.count) == ("_extend", 1)
    log.write_text(RACES)
    (race,) = read_report(log)
    assert race == SanitizerError(
        "Race reported between Write access", "_free_sets", "kernels_sets.py:73", race.detail
    )
    assert "15 hazards" in race.detail
    log.write_text(UNWRITTEN)
    kernel, copy = read_report(log)
    assert (kernel.kernel, kernel.place) == ("_take", "/src/targets/fused/kernels_lists.py:41")
    assert (copy.what, copy.kernel, copy.place, copy.count) == (
        "Host API memory access error", "cudaMemcpyAsync", "", 2,
    )  # fmt: skip
    assert "400 bytes" in copy.detail
    assert "libcuda" not in copy.detail
    log.write_text(CLEAN)
    assert read_report(log) == []
    log.write_text(BLIND)
    with pytest.raises(UsageError, match="before first instrumented API call"):
        read_report(log)


def test_an_error_is_a_finding_of_its_tool_in_its_kernel(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(UNWRITTEN)
    ran = Trace(geometry=Geometry(family="paged", size=16, page_size=4), operations=(Alloc(),))
    kernel, copy = findings_of(read_report(log), "initcheck", "fused", {}, ran)
    assert (kernel.kind, kernel.method) == ("memory", "_take")
    assert kernel.quantity == "initcheck: Uninitialized __global__ memory read of size 8 bytes"
    assert (copy.quantity, copy.method) == (
        "initcheck: Host API memory access error",
        "cudaMemcpyAsync",
    )
    assert copy.got.endswith("(2 times)")


def test_each_buffer_is_an_allocation_of_its_own() -> None:
    watched = Sanitizer("compute-sanitizer", "racecheck", "log")
    assert watched.environment() == {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    assert watched.command()[:5] == (
        "compute-sanitizer",
        "--tool",
        "racecheck",
        "--log-file",
        "log",
    )
