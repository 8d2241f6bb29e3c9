"""Rediscovery: what is searched where, how the results are added up, and one bug found again on a real release."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from campaigns.messages import Met, Searched
from campaigns.rediscovery import Baseline, Bookkeeper, Plan, Search, median, searches
from campaigns.rediscovery_report import as_json, as_markdown, as_text
from oracle.finding import Finding
from targets.sglang.known_bugs import KnownBug, known_bugs
from tests.campaigns.conftest import RunCommand

BUGS = {bug.id: bug for bug in known_bugs()}


def plan(*names: str, releases: tuple[str, ...] = ("0.5.13", "0.5.14")) -> Plan:
    bugs = tuple(BUGS[name] for name in names)
    return Plan(bugs=bugs, releases=releases, seeds=2, examples=10, least=3)


def met(bug: KnownBug, *, named: bool, example: int = 4) -> Met:
    look = bug.looks[0]
    found = Finding(
        family=bug.family,
        kind=look.kind[0],  # type: ignore[arg-type]
        quantity=look.quantity[0],
        index=1,
        operation="free",
        method=look.method[0],
        expected="",
        got="",
        target="",
    )
    return Met(
        bug=bug.id if named else "", finding=found, trace=bug.trace, example=example, seconds=0.5
    )


def search_on(todo: list[Search], release: str) -> Search:
    return next(one for one in todo if one.release == release)


def test_a_bug_is_looked_for_where_it_is_bad_and_watched_for_where_it_is_good() -> None:
    todo = searches(plan("partial-free-stale-map"))
    assert [(one.release, one.bugs) for one in todo] == [
        ("0.5.13", ("partial-free-stale-map",)),
        ("0.5.14", ()),
    ]


def test_bugs_of_one_family_and_caller_share_their_traces() -> None:
    todo = searches(plan("partial-free-stale-map", "restore-forgets-map", "group-end-twice"))
    shared = search_on(todo, "0.5.13").groups
    assert [(one.callers, len(one.bugs)) for one in shared] == [("legal", 2), ("hostile", 1)]


def test_what_was_found_missed_and_a_false_alarm_add_up() -> None:
    asked = plan("partial-free-stale-map")
    (bug,) = asked.bugs
    todo = searches(asked)
    keeper = Bookkeeper(asked, Baseline(), list(BUGS.values()))
    found = [met(bug, named=True), met(bug, named=False)]
    for seed, findings in enumerate(([*found], [])):
        done = Searched(
            group=search_on(todo, "0.5.13").groups[0], seed=seed, examples=9, findings=findings
        )
        keeper.take("0.5.13", done)
    alarm = Searched(
        group=search_on(todo, "0.5.14").groups[0],
        seed=0,
        examples=3,
        findings=[met(bug, named=False)],
    )
    keeper.take("0.5.14", alarm)
    board = keeper.board
    assert [(score.seeds, len(score.met)) for score in board.scores] == [(2, 1)]
    assert [(watch.traces, len(watch.alarms)) for watch in board.watches] == [(3, 1)]
    assert [one.release for one in board.unexplained] == ["0.5.14"]
    assert not board.is_whole()
    text = as_text(board, asked)
    assert "1 of 2" in text
    assert "was not found on 0.5.13 with 1 of 2 seeds" in text
    assert "false alarm for partial-free-stale-map on 0.5.14" in text
    later = replace(BUGS["half-double-ratchet-unified"], skipped="it comes later")
    page = as_markdown(board, asked, [later], "this machine")
    assert "| partial-free-stale-map | 0.5.13 | 1 of 2 | 4, 4 | 0.5, 0.5 | 3, 3 |" in page
    assert "Not looked for: **half-double-ratchet-unified**, because it comes later." in page
    assert json.loads(as_json(board))["bugs"][0]["examples"] == [4]


def test_the_lower_median_is_taken() -> None:
    assert median([3.0, 1.0, 2.0, 9.0]) == 2.0
    assert median([]) == 0.0


@pytest.mark.release
def test_a_known_bug_is_found_again_and_its_repair_is_left_alone(command: RunCommand) -> None:
    options = ("--seeds", "2", "--least", "2", "--releases", "0.5.10,0.5.11")
    done = command("rediscover", "exact-fit-refused", *options, "--format", "json")
    document = json.loads(done.stdout)
    (bad,) = document["bugs"]
    assert (bad["release"], bad["found"], bad["seeds"]) == ("0.5.10", 2, 2)
    assert max(bad["operations"]) == 1
    (good,) = document["good"]
    assert good["traces"] == 4
    assert good["false_alarms"] == []
