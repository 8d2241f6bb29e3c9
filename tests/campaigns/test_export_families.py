"""Scripts of the further families: what a random caller finds, each law and each quantity, on ours and on a release."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from campaigns.export import render, run_script, write_script  # noqa: E402
from campaigns.export_sections import section  # noqa: E402
from campaigns.export_shapes import shape_of  # noqa: E402
from oracle import comparison  # noqa: E402
from oracle.errors import TargetUnavailable  # noqa: E402
from oracle.finding import Finding  # noqa: E402
from oracle.geometry import Mode  # noqa: E402
from oracle.laws.row_names import ROW_LAW_NAMES  # noqa: E402
from oracle.lockstep import Judging, Session, run_trace  # noqa: E402
from oracle.operations import Alloc, EvictWindow, Release, RotatedExtend, RotatedPart  # noqa: E402
from oracle.trace import Trace  # noqa: E402
from strategies.explore import explore  # noqa: E402
from targets.registry import make_target  # noqa: E402
from tests.campaigns.export_cases import assert_formatted, finding_at, loaded, trace  # noqa: E402
from tests.campaigns.family_cases import DAMAGE, EVERYTHING, GEOMETRIES, MUTANTS  # noqa: E402

SEEDS = (1, 2)
NEVER = frozenset({"swa pool", "device pool", "full_only_pile", "swa_set_pile", "swa_page_pile"})
"""Quantities that are constants of every target of these families, or of none of the newest contract."""


def found_by(
    target: str, family: Any, *, seed: int, judging: Judging | None = None
) -> list[tuple[Trace, Finding]]:
    """One trace for each cause and method that a random caller meets."""
    found: dict[object, tuple[Trace, Finding]] = {}

    def keep(subject: Trace, session: Session) -> None:
        for finding in session.findings:
            found.setdefault((finding.cause, finding.method), (subject, finding))

    explore(
        make_target(target),
        family,
        examples=12,
        seed=seed,
        level="strict" if seed % 2 else "off",
        judging=judging,
        steps=25,
        on_example=keep,
    )
    return list(found.values())


def verdict(source: str) -> bool:
    """Whether an exported program shows its fault. Raises what it raises."""
    module = loaded(source)
    try:
        expected, got = module.reproduce(module.build())
    except module.Gone:
        return False
    return bool(expected != got)


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", GEOMETRIES)
def test_each_finding_of_a_random_caller_has_a_script_that_shows_it(family: str, seed: int) -> None:
    found = found_by("eager", family, seed=seed)
    for subject, finding in found:
        assert verdict(render(subject, "eager", finding=finding)), finding.sentence()


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "prediction"),
    [(name, True) for name in MUTANTS] + [(name, False) for name in MUTANTS if MUTANTS[name][1]],
)
def test_a_fault_shows_on_its_mutant_and_is_gone_on_the_right_allocator(
    name: str, prediction: bool
) -> None:
    family, _ = MUTANTS[name]
    mutant = f"mutant:{name}"
    found = [
        (subject, finding)
        for subject, finding in found_by(
            mutant, family, seed=1, judging=Judging(prediction=prediction)
        )
        if finding.kind != "hazard" and not finding.breach
    ]
    assert found, "a random caller does not meet the fault"
    for subject, finding in found[:4]:
        source = render(subject, mutant, finding=finding)
        assert verdict(source), finding.sentence()
        assert not verdict(source.replace(f'"{mutant}"', '"eager"')), finding.sentence()


@pytest.mark.parametrize("family", GEOMETRIES)
def test_a_script_runs_by_itself_and_is_laid_out_as_ruff_would(family: str, tmp_path: Path) -> None:
    path = tmp_path / "agreement.py"
    write_script(EVERYTHING[family], "eager", path)
    assert run_script(path) is False, path.read_text()
    assert_formatted(path.read_text(), path)


@pytest.mark.long
@pytest.mark.release
@pytest.mark.parametrize("family", GEOMETRIES)
def test_a_release_is_built_with_the_stand_ins_that_it_needs(family: str, tmp_path: Path) -> None:
    path = tmp_path / "release.py"
    subject = trace(GEOMETRIES[family], *EVERYTHING[family].operations[:2])
    try:
        write_script(subject, "sglang==0.5.23", path)
    except TargetUnavailable as reason:
        pytest.skip(str(reason))
    assert run_script(path) is False, path.read_text()
    assert_formatted(path.read_text(), path)


@pytest.mark.release
def test_a_finding_on_a_release_is_shown_by_its_script(tmp_path: Path) -> None:
    target = "sglang==0.5.23"
    refused = RotatedExtend((RotatedPart(amount=1, unit="left"),))
    subject = trace(GEOMETRIES["page-interleave"], refused)
    try:
        findings = run_trace(subject, [make_target(target)]).findings
    except TargetUnavailable as reason:
        pytest.skip(str(reason))
    assert [finding.quantity for finding in findings] == ["resolved"]
    path = tmp_path / "resolved.py"
    write_script(subject, target, path, findings[0])
    assert run_script(path) is True, path.read_text()


@pytest.mark.parametrize("family", GEOMETRIES)
def test_every_quantity_that_the_judge_compares_is_an_expression(family: Any) -> None:
    geometry = GEOMETRIES[family]
    target = make_target("eager")
    target.reset(geometry, Mode())
    state: Any = target.snapshot()
    shape = shape_of(family)
    subject = trace(geometry, Alloc(amount=1, unit="pages"), Release())
    for name, value, _ in comparison._quantities(state, state):
        absent = value in (None, []) and name not in (*shape.own, *shape.state)
        if name in NEVER or name.partition(".")[2] in shape.constant or absent:
            continue
        finding = finding_at(subject, "divergence", name, index=0)
        module = loaded(render(subject, "eager", finding=finding))
        expected, got = module.reproduce(module.build())
        assert expected == got, f"{name} is read wrongly"


@pytest.mark.parametrize("case", DAMAGE)
def test_the_check_of_a_law_is_silent_on_a_right_state_and_fires_on_a_damaged_one(
    case: str, tmp_path: Path
) -> None:
    subject, quantity, damage = DAMAGE[case]
    source = render(subject, "eager", finding=finding_at(subject, "law", quantity))
    assert_formatted(source, tmp_path / "law.py")
    assert not verdict(source), "a right allocator breaks no law"
    assert fires(source, damage)


def fires(source: str, damage: Callable[[Any], None]) -> bool:
    """Whether the check fires once the allocator is damaged before it is looked at."""
    start = source.index("    return expected, got")
    before = source.rindex("\n\n    # ", 0, start)
    module = loaded(source[:before] + "\n    damage(allocator)" + source[before:])
    module.damage = damage
    expected, got = module.reproduce(module.build())
    return bool(expected != got)


@pytest.mark.parametrize("family", GEOMETRIES)
def test_a_call_is_told_with_the_section_of_the_contract_that_it_follows(family: str) -> None:
    assert section("free", family).startswith("contract_paged_swa §")


@pytest.mark.parametrize("law", ROW_LAW_NAMES)
def test_a_law_of_rows_is_laid_out_as_ruff_would_and_silent_on_ours(
    law: str, tmp_path: Path
) -> None:
    subject = trace(GEOMETRIES["hybrid-rows"], Alloc(amount=24), EvictWindow())
    finding = finding_at(subject, "law", f"swa.{law}", method="evict_out_of_window")
    source = render(subject, "eager", finding=finding)
    assert_formatted(source, tmp_path / "law.py")
    assert not verdict(source)
