"""What a target of another package does wrong is told as its own fault, in one sentence, whichever command runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oracle.geometry import Geometry
from oracle.operations import Alloc, Decode
from oracle.trace import Trace, encode_trace
from tests.campaigns.conftest import RunCommand

FAULTS = {
    "refuses": "'misbehaving:refuses' raised ValueError in its constructor",
    "has-no-versions": "gave a 'versions' that is none",
    "promises-a-number": "gave a 'contract' that is none: Expected `object | null`, got `int`",
    "raises": "raised LookupError in its apply (misbehaving.py, line ",
    "raises-what-has-no-encoding": "): \\ud800 is no character",
    "raises-at-length": " [… 2600 characters …] ",
    "answers-nothing": "gave a NoneType as its apply, not a Outcome",
    "answers-words": "gave a 'apply' that is none: Expected `int`, got `str` - at `$.value[0]`",
    "shows-nothing": "gave a NoneType as its snapshot, not a Snapshot",
}


@pytest.fixture
def trace(tmp_path: Path) -> str:
    geometry = Geometry(family="paged", size=16, page_size=4)
    path = tmp_path / "trace.json"
    path.write_bytes(
        encode_trace(Trace(geometry=geometry, operations=(Alloc(unit="pages"), Decode())))
    )
    return str(path)


@pytest.mark.parametrize("how", FAULTS)
def test_a_target_that_breaks_the_protocol_is_named_with_what_it_did(
    how: str, command: RunCommand, trace: str
) -> None:
    done = command("replay", trace, f"misbehaving:{how}")
    assert done.returncode == 2, done.stdout + done.stderr
    assert FAULTS[how] in done.stderr
    assert done.stderr.startswith(f"kvoracle: the target 'misbehaving:{how}' ")
    assert done.stderr.count("\n") == 1
    assert "fault of kvoracle" not in done.stderr
    assert len(done.stderr) < 1000


def test_an_entry_point_that_names_nothing_is_told(command: RunCommand, trace: str) -> None:
    done = command("replay", trace, "absent")
    assert done.returncode == 2
    assert "comes from misbehaving:Absent, which cannot be imported: AttributeError" in done.stderr


@pytest.mark.parametrize(
    ("how", "said"), [("dies", "ended by SIGKILL"), ("leaves", "ended by exit code 7")]
)
def test_an_export_survives_a_target_that_ends_its_process(
    how: str, said: str, command: RunCommand, trace: str, tmp_path: Path
) -> None:
    done = command("export", trace, "--target", f"misbehaving:{how}", "--out", "program.py")
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "program.py").exists()


def test_an_exported_program_has_nothing_in_it_that_the_target_printed(
    command: RunCommand, trace: str
) -> None:
    done = command("export", trace, "--target", "misbehaving:well")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith('"""')
    assert "a target may print" not in done.stdout


@pytest.mark.long
def test_what_a_target_assumes_is_told_at_the_start_and_in_the_report(command: RunCommand) -> None:
    note = "note on misbehaving:assumes: it is assumed to misbehave\n"
    few = ("fuzz", "misbehaving:assumes", "--examples", "3", "--callers", "legal")
    text = command(*few)
    assert text.returncode == 0, text.stderr
    assert text.stderr.count(note) == 1
    assert text.stdout.count(note) == 1
    document = json.loads(command(*few, "--format", "json").stdout)
    assert document["targets"][0]["notes"] == ["it is assumed to misbehave"]


@pytest.mark.long
def test_a_target_that_does_not_show_its_allocator_has_traces_and_no_scripts(
    command: RunCommand, trace: str, tmp_path: Path
) -> None:
    done = command("export", trace, "--target", "oracle")
    assert done.returncode == 2
    assert "'oracle' does not show its allocator" in done.stderr
    few = ("fuzz", "misbehaving:hides", "--callers", "hostile", "--examples", "30", "--seed", "3")
    report = command(*few, "--family", "token").stdout
    assert "no script: the target 'misbehaving:hides' does not show its allocator" in report
    assert "did not reproduce" not in report
    assert list((tmp_path / "kvoracle-findings").glob("*.json"))
    assert not list((tmp_path / "kvoracle-findings").glob("*.py"))
