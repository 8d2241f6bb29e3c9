"""A target that ends its process is a finding, and costs nothing that was found before."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from campaigns.death_worker import NO_SCRIPT, shorten_death
from campaigns.deaths import death_finding, name_of_end
from campaigns.messages import DeathJob, Event, Reduced, Where
from campaigns.worker import keep_journal
from oracle.call import Call
from oracle.geometry import Geometry
from oracle.lockstep import Session
from oracle.observation import Outcome
from oracle.operations import Alloc, Decode, Release, kind_of
from oracle.trace import Trace, encode_trace, read_trace
from targets.reference import ReferenceTarget
from tests.campaigns.conftest import RunCommand

FEW = ("--callers", "legal", "--examples", "12", "--seed", "3", "--format", "json")


@pytest.mark.long
def test_a_dead_process_is_a_crash_with_a_short_trace(command: RunCommand, tmp_path: Path) -> None:
    done = command("fuzz", "misbehaving:leaves", *FEW)
    assert done.returncode == 1, done.stderr
    token, paged, hybrid = json.loads(done.stdout)["targets"][0]["families"]
    assert token["traces"] == 4, "the family that has no decode is not touched"
    assert not token["findings"]
    for family in (paged, hybrid):
        (finding,) = family["findings"]
        assert finding["kind"] == "crash"
        trace = read_trace(tmp_path / finding["trace"])
        assert len(trace.operations) == 2, "a row, and its next token"
        assert kind_of(trace.operations[-1]) == "decode"
        assert "exit code 7" in trace.note


class Unusual(BaseException):
    """What no target should raise."""


@pytest.mark.parametrize(
    ("end", "named"),
    [
        (SystemExit(0), "an early end"),
        (SystemExit("no more"), "exit code 1"),
        (KeyboardInterrupt(), "SIGINT"),
        (Unusual("!"), "exit code 1"),
    ],
)
def test_whatever_ends_a_process_is_made_short(
    end: BaseException, named: str, tmp_path: Path
) -> None:
    class Ending(ReferenceTarget):
        def apply(self, call: Call) -> Outcome:
            raise end

    geometry = Geometry(family="token", size=16)
    trace = Trace(geometry=geometry, operations=(Alloc(), Release(), Alloc(), Alloc()))
    found = death_finding("ending", {}, "token", trace, named)
    job = DeathJob(
        where=Where(target="ending", journal=str(tmp_path / "journal")),
        finding=found,
        trace=trace,
        laws_only=False,
    )
    told: list[Event] = []
    keep_journal(job.where)
    try:
        shorten_death(job, Ending(), told.append, lambda: False)
    finally:
        Session.journal = None
    (reduced,) = [event for event in told if isinstance(event, Reduced)]
    assert reduced.remark == NO_SCRIPT
    assert reduced.finding.quantity == f"process {named}"
    assert len(reduced.trace.operations) == 1


def test_a_target_that_exits_is_reported_with_a_short_trace(command: RunCommand) -> None:
    few = ("--family", "token", "--callers", "legal", "--examples", "1")
    done = command("fuzz", "misbehaving:exits", *few)
    assert done.returncode == 1, done.stderr
    assert "crash: process an early end at operation 0" in done.stdout
    assert f"remark  {NO_SCRIPT}" in done.stdout


def test_a_target_whose_making_ends_the_process_cannot_be_judged(command: RunCommand) -> None:
    done = command("fuzz", "misbehaving:dies-at-once", *FEW)
    assert done.returncode == 2
    assert "exit code 9" in done.stderr
    assert json.loads(done.stdout)["targets"][0]["families"] == []


def test_a_broken_adapter_is_no_finding(command: RunCommand) -> None:
    done = command("fuzz", "misbehaving:raises", *FEW)
    assert done.returncode == 2
    assert "raised LookupError in its apply (misbehaving.py, line " in done.stderr
    assert "Traceback" not in done.stderr
    families = json.loads(done.stdout)["targets"][0]["families"]
    assert not any(family["findings"] for family in families)
    details = Path(done.stderr.rsplit(" in ", 1)[1].strip().rstrip(")"))
    assert "Traceback" in details.read_text()
    details.unlink()


def test_a_replay_that_ends_the_process_says_where(command: RunCommand, tmp_path: Path) -> None:
    geometry = Geometry(family="paged", size=16, page_size=4)
    trace = Trace(geometry=geometry, operations=(Alloc(unit="pages"), Decode(), Decode()))
    (tmp_path / "trace.json").write_bytes(encode_trace(trace))
    done = command("replay", "trace.json", "misbehaving:dies", "eager")
    assert done.returncode == 1
    assert "   1  decode           its process ended" in done.stdout
    assert "process SIGKILL" in done.stdout
    assert "misbehaving:dies: findings 1, hazards 0." in done.stdout
    assert "eager: clean." in done.stdout


def test_equal_ends_have_equal_names() -> None:
    assert name_of_end(-int(signal.SIGSEGV)) == "SIGSEGV"
    assert name_of_end(3) == "exit code 3"
    assert name_of_end(0) == ""
