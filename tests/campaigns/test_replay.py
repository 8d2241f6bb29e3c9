"""``kvoracle replay``: one line an operation, what is skipped, and the first difference."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from campaigns.child import Gone
from campaigns.command_line import main
from campaigns.messages import (
    Discovered,
    Event,
    Refused,
    Replayed,
    ReplayJob,
    Started,
    Where,
)
from campaigns.replay_worker import replay
from oracle.finding import Finding, FindingKind
from oracle.geometry import Geometry
from oracle.operations import Alloc, Evict, Fork, Free, GroupBegin, GroupEnd, Release
from oracle.trace import Trace, encode_trace
from targets.eager.target import EagerTarget
from tests.campaigns.conftest import RunCommand

TRACE = Trace(
    geometry=Geometry(family="paged", size=16, page_size=4),
    operations=(
        Release(),
        Alloc(amount=0, unit="pages"),
        Alloc(amount=2, unit="pages"),
        GroupBegin(),
        Fork(request=1),
        Free(request=1, count=3),
        GroupEnd(),
        Evict(),
    ),
)


def test_a_clean_trace_is_one_line_an_operation(command: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_bytes(encode_trace(TRACE))
    done = command("replay", "trace.json", "eager")
    assert done.returncode == 0, done.stderr
    head, *lines, closing = done.stdout.splitlines()
    assert head.startswith("eager: torch")
    assert lines[0].split() == ["0", "release", "skipped"]
    assert lines[1].split(maxsplit=2) == ["1", "alloc", "alloc(4) -> [4..7]"]
    assert lines[2].split(maxsplit=2) == ["2", "alloc", "alloc(12) -> [8..19]"]
    assert lines[4].split(maxsplit=2) == ["4", "fork", "no call"]
    assert [line.split()[0] for line in lines] == [str(index) for index in range(8)]
    assert closing == "eager: clean."


def test_the_first_difference_is_a_table(command: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_bytes(encode_trace(TRACE))
    done = command("replay", "trace.json", "mutant:capacity-off-by-one", "eager")
    assert done.returncode == 1, done.stderr
    table = done.stdout.split("expected", 1)[1]
    assert "returned" in table
    assert "None" in table
    assert "mutant:capacity-off-by-one: findings 1, hazards 0." in done.stdout
    assert "stopped" in done.stdout, "operations after the end are marked"


def test_a_level_can_be_set_over_that_of_the_trace(command: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_bytes(encode_trace(TRACE))
    done = command("replay", "trace.json", "eager", "--level", "strict", "--laws-only")
    assert done.returncode == 0, done.stderr


STARTED = Started({}, ("paged",))


def _met(kind: FindingKind) -> Discovered:
    finding = Finding(
        family="paged",
        kind=kind,
        quantity="full.free",
        index=1,
        operation="alloc",
        method="alloc",
        expected="one",
        got="other",
        target="eager",
    )
    return Discovered(finding, TRACE)


def _replay(
    monkeypatch: pytest.MonkeyPatch, folder: Path, events: list[Event], *, interrupted: bool = False
) -> Any:
    """Replay on two targets whose children say ``events``; the person interrupts it once the first has said them."""

    class Saying:
        def __init__(self, _job: object, _folder: Path, inbox: Any, _sanitizer: object) -> None:
            for event in events:
                inbox.put((self, event))
            self._inbox = inbox
            if interrupted:
                os.kill(os.getpid(), signal.SIGINT)
            else:
                inbox.put((self, Gone("", "")))

        def is_silent_for(self, _seconds: float) -> bool:
            return False

        def kill(self) -> None:
            self._inbox.put((self, Gone("SIGKILL", "")))

    monkeypatch.setattr("campaigns.replay_command.Child", Saying)
    (folder / "trace.json").write_bytes(encode_trace(TRACE))
    return CliRunner().invoke(main, ["replay", str(folder / "trace.json"), "eager", "fused"])


@pytest.mark.parametrize(
    ("events", "code"),
    [
        ([STARTED, _met("law")], 1),
        ([STARTED, _met("hazard")], 130),
        ([STARTED], 130),
        ([Refused("it is not here")], 2),
    ],
)
def test_what_was_found_before_an_interruption_counts(
    events: list[Event], code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result = _replay(monkeypatch, tmp_path, events, interrupted=True)
    assert result.exit_code == code, result.output
    assert "process" not in result.output, "that it was ended is no finding"
    assert ("it is not here" in result.stderr) == (code == 2)
    assert "fused" not in result.output, "no other target is begun"


SKIPPED: list[Event] = [
    Replayed(index, "release", "skipped") for index in range(len(TRACE.operations))
]


@pytest.mark.parametrize(
    ("events", "code"),
    [
        ([STARTED, *SKIPPED], 2),
        ([STARTED, *SKIPPED, Replayed(len(SKIPPED), "costs", "done", ("alloc: no launch",))], 2),
        ([STARTED, *SKIPPED[1:], Replayed(0, "alloc", "done", ("alloc(4) -> [4..7]",))], 0),
        ([STARTED, _met("law"), *SKIPPED], 1),
    ],
)
def test_a_trace_that_was_skipped_as_a_whole_is_not_clean(
    events: list[Event], code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result = _replay(monkeypatch, tmp_path, events)
    assert result.exit_code == code, result.output
    assert ("clean" in result.stdout) == (code == 0)
    said = "nothing was judged on eager: every operation of the trace was skipped"
    assert (said in result.stderr) == (code == 2)


@pytest.mark.parametrize(
    ("operations", "is_made"), [((Alloc(amount=4), Release()), True), ((Alloc(amount=4),), False)]
)
def test_a_relation_that_is_not_looked_at_is_said(operations: Any, *, is_made: bool) -> None:
    trace = Trace(
        geometry=Geometry(family="paged", size=16, page_size=4),
        callers="legal",
        operations=operations,
        relation="grouped",
    )
    told: list[Event] = []
    job = ReplayJob(where=Where(target="eager", journal=""), trace=trace, laws_only=False)
    replay(job, EagerTarget(), told.append)
    (second,) = (one for one in told if isinstance(one, Replayed) and one.operation == "second run")
    assert second.status.startswith("not made: grouped") != is_made
