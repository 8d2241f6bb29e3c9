"""A broken relation leaves with a program of two runs, which tells the mutant from the allocator it was put into."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from campaigns.export import render, run_script, write_script
from oracle.errors import UsageError
from oracle.geometry import Family, Geometry
from oracle.metamorphic import judge_relation
from oracle.operations import Alloc, Extend, Free, Part
from oracle.trace import RelationName, Trace
from targets.registry import make_target
from tests.campaigns.export_cases import ROOT, assert_formatted, ran
from tests.targets.broken_relations import BROKEN_BY, broken

ALIASED = Trace(
    geometry=Geometry(family="paged", size=16, page_size=4),
    callers="legal",
    operations=(
        Alloc(amount=2),
        Extend(parts=(Part(amount=9),)),
        Free(request=1, count=99, overwrite=True),
    ),
    relation="grouped",
)
MUTANT = "mutant:group-pile-aliased"


def test_a_broken_relation_shows_in_the_exit_code(tmp_path: Path) -> None:
    finding = judge_relation(ALIASED, make_target(MUTANT))
    for target, shown in ((MUTANT, True), ("eager", False)):
        path = tmp_path / f"{target.replace(':', '-')}.py"
        write_script(ALIASED, target, path, finding)
        assert run_script(path) is shown, f"{target}: {path.read_text()}"


@pytest.mark.long
@pytest.mark.parametrize(("name", "family"), BROKEN_BY)
def test_the_two_runs_differ_on_the_mutant_and_not_on_the_allocator_it_was_put_into(
    name: RelationName, family: Family, tmp_path: Path
) -> None:
    finding, trace = broken(name, family)
    for target, shown in ((finding.target, True), ("eager", False)):
        path = tmp_path / f"{target.replace(':', '-')}.py"
        write_script(trace, target, path, finding)
        assert run_script(path) is shown, f"{target}: {path.read_text()}"
        assert_formatted(path.read_text(), path)


def test_a_release_is_asked_too(tmp_path: Path) -> None:
    from oracle.errors import TargetUnavailable
    from targets.sglang.fetch import fetch_release

    try:
        tree = fetch_release("0.5.23")
    except TargetUnavailable as reason:
        pytest.skip(str(reason))
    finding = judge_relation(ALIASED, make_target(MUTANT))
    path = tmp_path / "grouped.py"
    write_script(ALIASED, "sglang==0.5.23", path, finding)
    assert run_script(path, argument=tree) is False, path.read_text()


@pytest.mark.long
def test_the_second_allocator_of_a_script_may_be_larger(tmp_path: Path) -> None:
    rows = (Alloc(amount=2), Extend(parts=(Part(amount=9),)), Free(request=1, count=3))
    trace = Trace(
        geometry=Geometry(family="paged", size=24, page_size=4),
        callers="legal",
        operations=(*rows, Extend(parts=(Part(amount=12),))),
        relation="spare-pages",
    )
    mutant = "mutant:pages-released-behind"
    finding = judge_relation(trace, make_target(mutant))
    path = tmp_path / "spare.py"
    for target, shown in ((mutant, True), ("eager", False)):
        write_script(trace, target, path, finding)
        assert "new_allocator(12)" in path.read_text()
        assert run_script(path) is shown, path.read_text()


def test_a_trace_with_a_relation_is_exported_without_its_finding() -> None:
    for target in (MUTANT, "eager"):
        text = render(ALIASED, target)
        assert ("def second_run(" in text) is (target == MUTANT)


def test_the_report_tells_both_runs_and_the_promise() -> None:
    text = render(ALIASED, MUTANT, format="markdown")
    assert "## The second run, from where it is another one" in text
    assert "(group-end), `free_group_end`" in text
    assert "Two runs come to the same: frees in a group free what they free without one" in text


@pytest.mark.long
def test_the_pytest_form_fails_while_the_fault_is_there(tmp_path: Path) -> None:
    path = tmp_path / "test_grouped.py"
    path.write_text(render(ALIASED, MUTANT, format="pytest", file_name=path.name))
    done = ran(Path("-m"), "pytest", "-p", "no:cacheprovider", str(path), PYTHONPATH=str(ROOT))
    assert "1 failed" in done.stdout, done.stdout + done.stderr


def test_a_trace_that_has_no_second_run_has_no_program() -> None:
    finding = judge_relation(ALIASED, make_target(MUTANT))
    alone = Trace(geometry=ALIASED.geometry, callers="legal", operations=ALIASED.operations)
    with pytest.raises(UsageError, match="no two runs"):
        render(alone, MUTANT, finding=finding)
