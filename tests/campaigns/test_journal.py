"""The journal of a process that died holds the trace that was running."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaigns.journal import Journal, read_journal
from oracle.geometry import Geometry
from oracle.lockstep import Session
from oracle.operations import Alloc, Free, Release
from oracle.trace import Trace

pytest.importorskip("torch", reason="the target is eager")

GEOMETRY = Geometry(family="token", size=8)


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "journal"
    monkeypatch.setattr(Session, "journal", Journal(path).write)
    return path


def _session(callers: str) -> Session:
    from targets.eager.target import EagerTarget

    return Session([EagerTarget()], GEOMETRY, callers=callers)  # type: ignore[arg-type]


def test_the_journal_is_the_trace_of_the_running_session(journal: Path) -> None:
    _session("mixed").step(Alloc(amount=5))
    session = _session("legal")
    operations = (Alloc(amount=2), Free(), Release())
    for operation in operations:
        session.step(operation)
    expected = Trace(geometry=GEOMETRY, callers="legal", operations=operations)
    assert read_journal(journal) == expected


def test_a_line_that_was_cut_off_is_left_out(journal: Path) -> None:
    session = _session("mixed")
    session.step(Alloc(amount=2))
    session.step(Release())
    journal.write_bytes(journal.read_bytes()[:-4])
    read = read_journal(journal)
    assert read is not None
    assert read.operations == (Alloc(amount=2),)


def test_no_session_no_trace(journal: Path, tmp_path: Path) -> None:
    assert read_journal(journal) is None
    assert read_journal(tmp_path / "nothing") is None
