"""A target that ends its process is a finding, and costs nothing that was found before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oracle.operations import kind_of
from oracle.trace import read_trace
from tests.campaigns.conftest import RunCommand

FEW = ("--callers", "legal", "--examples", "60", "--seed", "3", "--format", "json")


@pytest.mark.parametrize(("how", "name"), [("dies", "SIGKILL"), ("leaves", "exit code 7")])
def test_a_dead_process_is_a_crash_with_a_short_trace(
    how: str, name: str, command: RunCommand, tmp_path: Path
) -> None:
    done = command("fuzz", f"misbehaving:{how}", *FEW)
    assert done.returncode == 1, done.stderr
    token, paged, hybrid = json.loads(done.stdout)["targets"][0]["families"]
    assert token["traces"] == 20
    assert not token["findings"]
    for family in (paged, hybrid):
        (finding,) = family["findings"]
        assert finding["kind"] == "crash"
        trace = read_trace(tmp_path / finding["trace"])
        assert [kind_of(operation) for operation in trace.operations] == ["alloc", "decode"]
        assert name in trace.note


def test_a_target_whose_making_ends_the_process_cannot_be_judged(command: RunCommand) -> None:
    done = command("fuzz", "misbehaving:dies-at-once", *FEW)
    assert done.returncode == 2
    assert "exit code 9" in done.stderr
    assert json.loads(done.stdout)["targets"][0]["families"] == []


def test_a_broken_adapter_is_no_finding(command: RunCommand) -> None:
    done = command("fuzz", "misbehaving:raises", *FEW)
    assert done.returncode == 2
    assert "LookupError: the adapter is broken" in done.stderr
    assert "Traceback" not in done.stderr
    families = json.loads(done.stdout)["targets"][0]["families"]
    assert not any(family["findings"] for family in families)
    details = Path(done.stderr.rsplit(" in ", 1)[1].strip().rstrip(")"))
    assert "Traceback" in details.read_text()
    details.unlink()


def test_a_replay_that_ends_the_process_says_where(command: RunCommand, tmp_path: Path) -> None:
    command("fuzz", "misbehaving:dies", "--family", "paged", *FEW)
    (trace,) = (tmp_path / "kvoracle-findings").glob("*.json")
    done = command("replay", str(trace), "misbehaving:dies", "eager")
    assert done.returncode == 1
    assert "process SIGKILL" in done.stdout
    assert "misbehaving:dies: findings 1, hazards 0." in done.stdout
    assert "eager: clean." in done.stdout
