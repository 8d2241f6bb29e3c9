"""What a target leaves running neither keeps a campaign from its end nor outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from campaigns.messages import FuzzJob, Where, encode_line
from tests.campaigns.conftest import RunCommand

ENOUGH = 60.0
"""Seconds after which a test gives up; each takes a few."""
FEW = ("--family", "token", "--callers", "legal", "--examples", "2", "--seed", "3")


def _is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def _alive_of(processes: list[int]) -> list[int]:
    """Those that live on. An ended process may take a moment."""
    deadline = time.monotonic() + ENOUGH / 2
    while time.monotonic() < deadline:
        processes = [process for process in processes if _is_alive(process)]
        if not processes:
            break
        time.sleep(0.05)
    for process in processes:
        os.kill(process, signal.SIGKILL)
    return processes


@pytest.mark.parametrize("how", ["leaves-a-thread", "leaves-a-process"])
def test_a_campaign_ends_although_its_target_left_something_running(
    how: str, command: RunCommand, tmp_path: Path
) -> None:
    done = command("fuzz", f"misbehaving:{how}", *FEW)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Clean in 2 traces" in done.stdout
    left = [int(number) for number in (tmp_path / "left").read_text().split()]
    assert left
    assert not _alive_of(left)


def test_a_child_whose_main_process_is_gone_ends_although_its_target_never_answers(
    environment: dict[str, str], tmp_path: Path
) -> None:
    where = Where(target="misbehaving:never-answers", journal=str(tmp_path / "journal"))
    job = FuzzJob(
        where=where, families=("token",), asked=True, callers="legal", level="off", debug=None,
        laws_only=False, seed=1, examples=1,
    )  # fmt: skip
    (tmp_path / "job").write_bytes(encode_line(job))
    # The middle one is the main process: it writes the job, waits for the target's first call, and is killed.
    middle = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-m", "campaigns.worker"], stdin=subprocess.PIPE)
child.stdin.write(open("job", "rb").read())
child.stdin.flush()
print(child.pid, flush=True)
time.sleep(1000)
"""
    main = subprocess.Popen(
        [sys.executable, "-c", middle],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert main.stdout is not None
    child = int(main.stdout.readline())
    deadline = time.monotonic() + ENOUGH
    while not (tmp_path / "asked").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    main.kill()
    main.wait()
    assert (tmp_path / "asked").exists(), "the target was never asked"
    assert not _alive_of([child])
