"""The main process never loads torch, which costs most of a command's start: only the processes that run targets do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.campaigns.conftest import ROOT

RUN = """
import sys
from campaigns.start import main

try:
    main()
finally:
    print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""
LINES = {
    "help": ("--help",),
    "help-of-export": ("export", "--help"),
    "campaign": ("fuzz", "oracle", "--family", "token", "--examples", "1", "--callers", "legal"),
}


def _imported(folder: Path, program: str, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


def test_the_command_line_is_imported_without_torch() -> None:
    program = "import campaigns.command_line, sys; assert 'torch' not in sys.modules"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("line", LINES)
def test_a_command_runs_without_torch_in_its_main_process(line: str, tmp_path: Path) -> None:
    imported = _imported(tmp_path, RUN, *LINES[line])
    assert "campaigns" in imported
    assert "torch" not in imported, "find the import with: python -X importtime -m campaigns --help"


def test_the_check_itself_sees_torch(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    assert "torch" in _imported(tmp_path, "import torch\n" + RUN, "--help")
