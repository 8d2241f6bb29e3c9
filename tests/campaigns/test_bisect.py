"""Bisection: what counts as bad and as good, what is said of it, and that results are remembered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from campaigns.bisect_command import SKIPPED, Bisection
from campaigns.bisection import (
    ReleaseResult,
    Status,
    changes,
    conclusions,
    lacking,
    result_of,
    table,
)
from campaigns.child import Gone
from campaigns.messages import Event, Replayed, Started
from campaigns.result_cache import ResultCache
from oracle.geometry import Geometry
from oracle.operations import Alloc, FreeSegment, Recover, Resize
from oracle.trace import Trace, encode_trace
from targets.sglang.known_bugs import known_bugs
from tests.campaigns.conftest import ROOT, RunCommand

CORPUS = ROOT / "tests" / "corpus"
HYBRID = Geometry(family="hybrid-swa", size=32, size_swa=32, page_size=4)


def results(**statuses: Status) -> list[ReleaseResult]:
    return [
        ReleaseResult(
            release=f"0.5.{name.removeprefix('r')}",
            status=status,
            signatures=("fault",) if status == "fail" else (),
        )
        for name, status in statuses.items()
    ]


def test_the_first_bad_and_the_first_good_release_are_named_with_their_neighbours() -> None:
    row = results(r17="pass", r18="fail", r19="fail", r20="pass")
    assert conclusions(row) == [
        "first bad: 0.5.18 (0.5.17 passes)",
        "first good: 0.5.20 (0.5.19 fails)",
    ]


def test_a_release_that_cannot_run_the_trace_is_neither_good_nor_bad() -> None:
    row = results(r18="unsupported", r19="unsupported", r20="fail", r21="problem", r22="fail")
    assert conclusions(row) == [
        "first bad: 0.5.20 (0.5.18..0.5.19 cannot run it)",
        "first good: none, it still fails on 0.5.22",
    ]


def test_a_trace_that_always_passes_has_no_first_bad_release() -> None:
    row = results(r18="pass", r19="unsupported", r20="pass")
    assert changes(row) == []
    assert conclusions(row) == ["first bad: none, it passes on 0.5.18, 0.5.20"]


@pytest.mark.parametrize(
    ("statuses", "why"),
    [
        ({"r17": "problem", "r18": "problem"}, "could be judged"),
        ({"r17": "unsupported", "r18": "problem"}, "could be judged"),
        ({"r17": "unsupported"}, "can run the trace"),
    ],
)
def test_where_no_release_was_judged_none_is_said_to_pass(
    statuses: dict[str, Status], why: str
) -> None:
    assert conclusions(results(**statuses)) == [f"first bad: not known, no release {why}"]


@pytest.mark.parametrize(
    ("lines", "status", "sentence"),
    [((), "unsupported", SKIPPED), (("alloc(4) -> [1..4]",), "pass", "")],
)
def test_a_release_that_skips_every_operation_does_not_pass(
    lines: tuple[str, ...],
    status: Status,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    events: list[Event | Gone] = [
        Started({}, ()),
        Replayed(0, "alloc", "done", lines),
        Replayed(1, "costs", "done", ("no call",)),
        Gone("", ""),
    ]

    def run_jobs(_jobs: object, _workers: int, hear: Any, _interruption: object) -> bool:
        for event in events:
            hear(0, event)
        return True

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("campaigns.bisect_command.run_jobs", run_jobs)
    trace = Trace(geometry=HYBRID, operations=(Alloc(amount=4),))
    (result,) = Bisection(trace, ("0.5.23",)).run(1)
    assert (result.status, result.sentence) == (status, sentence)


def test_a_trace_that_fails_again_changes_three_times() -> None:
    row = results(r17="fail", r18="pass", r19="fail")
    assert [(change.bad, change.release) for change in changes(row)] == [
        (True, "0.5.17"),
        (False, "0.5.18"),
        (True, "0.5.19"),
    ]


def test_several_signatures_are_told_apart() -> None:
    row = [
        ReleaseResult(release="0.5.17", status="fail", signatures=("one",)),
        ReleaseResult(release="0.5.18", status="fail", signatures=("other",)),
    ]
    assert conclusions(row)[-2:] == ["one: 0.5.17", "other: 0.5.18"]
    assert table(row)[0].split() == ["0.5.17", "fail", "one"]


@pytest.mark.parametrize(
    ("operation", "release", "missing"),
    [
        (Recover(), "0.5.11", "set_full_to_swa_mapping"),
        (Recover(), "0.5.12", ""),
        (FreeSegment(method="free_swa_segment"), "0.5.19", "free_swa_segment"),
        (FreeSegment(), "0.5.17", ""),
        (Resize(), "0.5.15", "resize"),
    ],
)
def test_what_a_release_lacks_for_a_trace_is_named(operation, release: str, missing: str) -> None:
    trace = Trace(geometry=HYBRID, operations=(Alloc(amount=4), operation))
    assert missing in lacking(release, trace)
    assert bool(lacking(release, trace)) == bool(missing)
    status = "unsupported" if missing else "pass"
    assert result_of(release, trace, []).status == status


def test_a_result_is_remembered_for_the_same_trace_whatever_its_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    trace = Trace(geometry=HYBRID, operations=(Alloc(amount=4),), note="one")
    result = ReleaseResult(release="0.5.23", status="pass")
    ResultCache(trace, "cpu").put(result)
    again = Trace(geometry=HYBRID, operations=(Alloc(amount=4),), note="other")
    assert ResultCache(again, "cpu").get("0.5.23") == result
    assert ResultCache(again, "cuda").get("0.5.23") is None
    longer = Trace(geometry=HYBRID, operations=(Alloc(amount=4), Alloc()))
    assert ResultCache(longer, "cpu").get("0.5.23") is None
    ResultCache(trace, "cpu").put(ReleaseResult(release="0.5.22", status="problem"))
    assert ResultCache(trace, "cpu").get("0.5.22") is None, "what went wrong is tried again"


@pytest.mark.long
@pytest.mark.release
def test_a_repaired_bug_has_a_first_good_release(command: RunCommand) -> None:
    file = CORPUS / "partial-free-stale-map.json"
    done = command("bisect", str(file), "--releases", "0.5.13..0.5.14", "--fresh")
    assert done.returncode == 1, done.stderr
    assert "first good: 0.5.14 (0.5.13.post1 fails)" in done.stdout
    assert done.stdout.count("hybrid-swa.divergence.mapping.alloc+free") == 2


@pytest.mark.release
def test_a_new_bug_has_a_first_bad_release(command: RunCommand, tmp_path: Path) -> None:
    (bug,) = [bug for bug in known_bugs() if bug.id == "unmapped-representative"]
    file = tmp_path / "trace.json"
    file.write_bytes(encode_trace(bug.trace))
    options = ("--releases", "0.5.16,0.5.19..0.5.20", "--format", "json")
    done = command("bisect", str(file), *options)
    document = json.loads(done.stdout)
    assert (document["first_bad"], document["first_good"]) == ("0.5.20", None)
    statuses = {row["release"]: row["status"] for row in document["releases"]}
    assert statuses == {"0.5.16": "unsupported", "0.5.19": "pass", "0.5.20": "fail"}


@pytest.mark.long
@pytest.mark.release
def test_what_the_own_kernels_showed_is_not_remembered_for_their_stand_ins(
    command: RunCommand, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = CORPUS / "decode-on-empty-list.json"
    for kernels, fails in (("interpreter", True), ("stand-in", False)):
        monkeypatch.setitem(environment, "KVORACLE_KERNELS", kernels)
        done = command("bisect", str(file), "--releases", "0.5.21..0.5.22")
        assert done.returncode == int(fails), done.stderr
        ends = "first good: 0.5.22 (0.5.21 fails)" if fails else "first bad: none"
        assert ends in done.stdout, done.stdout
