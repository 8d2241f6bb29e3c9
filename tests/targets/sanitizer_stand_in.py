"""A script in the place of compute-sanitizer: it runs what it is given, and writes the report of a test."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
ERROR = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 8 bytes
=========     at _copy_two+0x290 in kernels_lists.py:67
========= ERROR SUMMARY: 1 error
"""
SCRIPT = f"""#!{sys.executable}
import pathlib, subprocess, sys
options = sys.argv[1:]
while options[0].startswith("--"):
    name, value, *options = options
    if name == "--log-file":
        log = value
pathlib.Path(log).write_text(pathlib.Path(__file__).with_name("report").read_text())
sys.exit(subprocess.run(options).returncode)
"""


def put_on_path(folder: Path, report: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make the script, which reports ``report``, the only program on PATH. Returns where it is."""
    program = folder / "compute-sanitizer"
    program.write_text(SCRIPT)
    program.chmod(0o755)
    (folder / "report").write_text(report)
    monkeypatch.setenv("PATH", str(folder))
    return str(program)
