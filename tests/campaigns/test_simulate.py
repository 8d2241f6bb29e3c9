"""Simulated days from the command line: a clean target, a fault reduced from a long trace, and an interruption."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from oracle.lockstep import run_trace
from oracle.trace import read_trace
from targets.registry import make_target
from tests.campaigns.conftest import ROOT, RunCommand

MUTANT = "mutant:decode-rows-share-a-page"
LONG_DAY = (
    "--family", "paged", "--page-size", "16", "--sharing", "--requests", "120", "--seed", "4",
)  # fmt: skip
OPTIMISTIC = (
    "--family", "hybrid-swa", "--page-size", "4", "--sharing", "--optimistic", "--requests", "120", "--seed", "1",
)  # fmt: skip


def test_a_clean_target_serves_its_days_and_leaves_nothing_behind(
    command: RunCommand, tmp_path: Path
) -> None:
    done = command(
        "simulate", "eager", "--family", "hybrid-swa", "--family", "token", "--page-size", "1",
        "--requests", "12", "--seed", "2", "--format", "json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (target,) = json.loads(done.stdout)["targets"]
    assert [(one["family"], one["traces"]) for one in target["families"]] == [
        ("hybrid-swa", 2),  # with and without sharing
        ("token", 2),
    ]
    assert all(one["steps"] > 100 and not one["findings"] for one in target["families"])
    assert not list(tmp_path.iterdir())
    assert "seed 2, requests 12, level off" in done.stderr.splitlines()[0]


@pytest.mark.long
def test_a_fault_met_in_a_long_day_is_cut_reduced_and_reproduced(
    command: RunCommand, tmp_path: Path
) -> None:
    done = command("simulate", MUTANT, *LONG_DAY, "--format", "json")
    assert done.returncode == 1, done.stderr
    (target,) = json.loads(done.stdout)["targets"]
    (family,) = target["families"]
    assert family["steps"] > 100, "the fault was to show late"
    (finding,) = family["findings"]
    assert finding["operations"] <= 4
    assert finding["reproduced"] is True
    trace = read_trace(tmp_path / finding["trace"])
    assert "kvoracle simulate mutant:decode-rows-share-a-page" in trace.note
    assert run_trace(trace, [make_target(MUTANT)]).findings


def known(folder: Path, targets: str) -> Path:
    """A file in which the decode that keeps what it took is accepted."""
    corpus = ROOT / "tests" / "corpus" / "decode-refused-on-one-side-full.json"
    file = folder / "known.toml"
    file.write_text(
        f'[[known]]\nid = "refused-decode"\ntargets = {targets}\nreason = "a test"\nlink = "none"\n'
        f'expires = 2999-01-01\ntrace = "{corpus}"\n'
        f'looks = [{{ kind = ["divergence", "law"], quantity = ["full.*"] }}]\n'
    )
    return file


@pytest.mark.long
def test_a_known_finding_ends_its_day_and_not_the_run(command: RunCommand, tmp_path: Path) -> None:
    mutant = "mutant:short-swa-decode-leaves-full-advanced"
    day = ("simulate", mutant, *OPTIMISTIC, "--format", "json")
    assert command(*day).returncode == 1
    file = known(tmp_path, f'["{mutant}", "eager"]')
    done = command(*day, "--known", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    (target,) = json.loads(done.stdout)["targets"]
    assert [(one["id"], one["state"]) for one in target["known"]] == [("refused-decode", "known")]
    assert target["known"][0]["met"] == 1
    assert not target["families"][0]["findings"]
    repaired = command("simulate", "eager", *OPTIMISTIC, "--known", str(file), "--format", "json")
    assert repaired.returncode == 1
    assert json.loads(repaired.stdout)["targets"][0]["known"][0]["state"] == "stale"


@pytest.mark.long
def test_ctrl_c_ends_a_day_with_a_report(environment: dict[str, str], tmp_path: Path) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "campaigns", "simulate", "eager", "--requests", "100000"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert running.stderr is not None
    for line in running.stderr:
        if line.startswith("eager: torch"):
            break
    running.send_signal(signal.SIGINT)
    report, errors = running.communicate(timeout=300)
    assert running.returncode == 130, errors
    assert "Interrupted." in report
