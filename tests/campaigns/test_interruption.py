"""Ctrl-C ends a campaign with its report and its files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.campaigns.conftest import ROOT


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


def _wait_for_child(running: subprocess.Popen[str]) -> None:
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    while running.poll() is None and not children.read_text().strip():
        time.sleep(0.01)
    assert running.poll() is None, "it ended by itself"


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


def test_an_interrupted_bisection_names_no_first_release(
    environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "trace.json").write_text('{"geometry": {"family": "token", "size": 8}}')
    for form, said in (("text", "Interrupted: 0 of "), ("json", '"interrupted": true')):
        running = _start(
            environment, tmp_path,
            "bisect", "trace.json", "--fresh", "--jobs", "1", "--format", form,
        )  # fmt: skip
        _wait_for_child(running)
        running.send_signal(signal.SIGINT)
        report, errors = running.communicate(timeout=300)
        assert running.returncode == 130, errors
        assert said in report
        assert "first bad" not in report, "nobody knows which it is"
        assert '"first_bad": "' not in report


def test_interrupted_mutants_are_no_score_of_all(
    environment: dict[str, str], tmp_path: Path
) -> None:
    running = _start(environment, tmp_path, "mutants", "--examples", "5")
    _wait_for(running, "1 of ")
    running.send_signal(signal.SIGINT)
    report, errors = running.communicate(timeout=300)
    assert running.returncode == 130, errors
    assert "Interrupted: " in report
    assert " mutants were attacked." in report


def test_an_interrupted_rediscovery_says_what_is_left(
    environment: dict[str, str], tmp_path: Path
) -> None:
    running = _start(environment, tmp_path, "rediscover", "--seeds", "1", "--jobs", "1")
    _wait_for_child(running)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=300)
    assert running.returncode == 130, errors
    assert "kvoracle: interrupted with " in errors


def test_ctrl_c_while_the_command_is_imported_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt\n")
    done = subprocess.run(
        [sys.executable, "-m", "campaigns", "targets"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 130
    assert done.stdout + done.stderr == ""


AT_ODD_TIMES = """
import atexit, os, signal, sys
from campaigns import fuzz_command
from campaigns.start import main

presses, render = sys.argv.pop(1), fuzz_command.render

def press():
    os.kill(os.getpid(), signal.SIGINT)

def pressed(*arguments):
    for _ in range(presses.count("p")):
        press()
    return render(*arguments)

fuzz_command.render = pressed
if "e" in presses:
    atexit.register(press)
main()
"""


def _run_pressed(presses: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A campaign with a Ctrl-C for each ``p`` while the report is printed and for an ``e`` at the end of the interpreter."""
    few = ("--family", "token", "--callers", "legal", "--examples", "1")
    return subprocess.run(
        [sys.executable, "-c", AT_ODD_TIMES, presses, "fuzz", "oracle", *few],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("presses", ["", "p", "e", "pe"])
def test_ctrl_c_during_and_after_the_report_takes_nothing_from_it(
    presses: str, tmp_path: Path
) -> None:
    done = _run_pressed(presses, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Clean in 1 trace" in done.stdout
    assert "Traceback" not in done.stderr
    assert "KeyboardInterrupt" not in done.stderr


def test_whoever_insists_need_not_wait_for_the_report(tmp_path: Path) -> None:
    done = _run_pressed("pp", tmp_path)
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr


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
