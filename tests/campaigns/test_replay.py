"""``kvoracle replay``: one line an operation, what is skipped, and the first difference."""

from __future__ import annotations

from pathlib import Path

from oracle.geometry import Geometry
from oracle.operations import Alloc, Evict, Fork, Free, GroupBegin, GroupEnd, Release
from oracle.trace import Trace, encode_trace
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
