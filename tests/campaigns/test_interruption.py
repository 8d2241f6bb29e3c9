"""Ctrl-C ends a campaign with its report and its files."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path


def _start(environment: dict[str, str], folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "campaigns", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _wait_for(running: subprocess.Popen[str], text: str) -> None:
    assert running.stderr is not None
    for line in running.stderr:
        if text in line:
            return
    raise AssertionError(f"the campaign ended before it said {text!r}")


def test_ctrl_c_reports_and_saves_what_was_found(
    environment: dict[str, str], tmp_path: Path
) -> None:
    running = _start(
        environment, tmp_path,
        "fuzz", "eager", "--callers", "hostile", "--seconds", "500", "--fail-on", "hazard",
    )  # fmt: skip
    _wait_for(running, "met on eager")
    running.send_signal(signal.SIGINT)
    report, errors = running.communicate(timeout=300)
    assert running.returncode == 1, errors
    assert "Interrupted. No findings, " in report
    saved = list((tmp_path / "kvoracle-findings").glob("*.json"))
    assert saved, "what was met is saved"
    assert all(str(path.relative_to(tmp_path)) in report for path in saved)
    assert all(path.with_name(path.stem + ".py").exists() for path in saved)


def test_ctrl_c_with_nothing_found_is_130(environment: dict[str, str], tmp_path: Path) -> None:
    running = _start(
        environment, tmp_path,
        "fuzz", "eager", "--callers", "legal", "--seconds", "500", "--format", "json",
    )  # fmt: skip
    _wait_for(running, "eager: torch")
    running.send_signal(signal.SIGINT)
    document, errors = running.communicate(timeout=300)
    assert running.returncode == 130, errors
    assert json.loads(document)["exit"] == 130
