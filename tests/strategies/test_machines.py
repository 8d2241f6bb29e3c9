"""Machines draw every kind, are repeatable, never raise in a campaign, and tell kinds of findings apart under pytest."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from planted import LeakyTarget, PlantedTarget, third_allocation_after_a_free

from oracle import operations as op
from oracle.errors import UsageError
from oracle.finding import Divergence, FindingError, LawBroken
from oracle.geometry import Family, Geometry
from oracle.lockstep import Judging, Session
from oracle.trace import Callers, Trace
from strategies.explore import explore
from strategies.geometries import DRAWN_FAMILIES
from strategies.machines import make_machine
from strategies.profiles import generation_settings
from strategies.setting import MachineSetting, Raising
from targets.reference import ReferenceTarget

LEAST_SHARE = 0.003
"""A third of what the suite has to reach in a long run: a short one scatters."""


def traces_of(target: ReferenceTarget, family: Family, callers: Callers, seed: int) -> list[Trace]:
    traces: list[Trace] = []
    explore(
        target,
        family,
        callers=callers,
        examples=12,
        seed=seed,
        on_example=lambda trace, _: traces.append(trace),
    )
    return traces


@pytest.mark.parametrize("callers", ["legal", pytest.param("hostile", marks=pytest.mark.long)])
@pytest.mark.parametrize("family", DRAWN_FAMILIES)
def test_every_kind_of_operation_is_executed(family: Family, callers: Callers) -> None:
    target = ReferenceTarget()
    statistics = explore(target, family, callers=callers, examples=100, seed=3)
    contract = target.contract(family)
    assert contract is not None
    lacking = {op.Backup, op.Restore}
    expected = {
        op.kind_of(row.operation())
        for row in op.OPERATION_TABLE
        if family in row.families
        and row.operation not in lacking
        and not (row.hostile and callers == "legal")
    }
    rare = {kind for kind in expected if statistics.share(kind) < LEAST_SHARE}
    assert not rare, "\n".join(statistics.table())


def test_the_same_seed_gives_the_same_traces_and_another_seed_does_not() -> None:
    first = traces_of(ReferenceTarget(), "hybrid-swa", "mixed", 7)
    assert traces_of(ReferenceTarget(), "hybrid-swa", "mixed", 7) == first
    assert traces_of(ReferenceTarget(), "hybrid-swa", "mixed", 8) != first


def test_what_a_target_returns_does_not_change_what_is_drawn() -> None:
    # The faulty target ends examples early, so only the beginnings can be compared.
    sound = traces_of(ReferenceTarget(), "paged", "legal", 7)
    faulty = traces_of(PlantedTarget(third_allocation_after_a_free), "paged", "legal", 7)
    assert len(sound) == len(faulty)
    for one, other in zip(sound, faulty, strict=True):
        assert one.geometry == other.geometry
        shorter = min(len(one.operations), len(other.operations)) - 1
        assert one.operations[:shorter] == other.operations[:shorter]


def test_every_trace_of_a_sound_target_ends_with_a_drain() -> None:
    for trace in traces_of(ReferenceTarget(), "hybrid-swa", "legal", 1):
        assert isinstance(trace.operations[-1], op.Drain)


def test_examples_are_counted_and_stopped() -> None:
    handed: list[Trace] = []
    statistics = explore(
        ReferenceTarget(),
        "token",
        examples=50,
        seed=1,
        on_example=lambda trace, _: handed.append(trace),
        stop=lambda: len(handed) >= 13,
    )
    assert statistics.examples == len(handed) == 13


def test_a_campaign_survives_findings() -> None:
    findings = []

    def look(_: Trace, session: Session) -> None:
        findings.extend(session.findings)

    target = PlantedTarget(third_allocation_after_a_free)
    statistics = explore(target, "paged", examples=30, seed=1, on_example=look)
    assert statistics.examples == 30
    assert {finding.kind for finding in findings} >= {"divergence"}


@pytest.mark.parametrize(
    ("judging", "expected"),
    [(Judging(), Divergence), (Judging(prediction=False), LawBroken)],
    ids=["prediction", "laws"],
)
def test_the_class_that_is_raised_tells_the_kind_of_finding(
    judging: Judging, expected: type[FindingError]
) -> None:
    target = LeakyTarget(lambda calls: any(call.method.startswith("free") for call in calls))
    with pytest.raises(expected):
        run_raising(MachineSetting(targets=(target,), family="paged", judging=judging))


def test_hazards_are_raised_only_if_asked() -> None:
    setting = MachineSetting(targets=(ReferenceTarget(),), family="token", callers="hostile")
    run_raising(setting)
    with pytest.raises(FindingError, match=r"^hazard: "):
        run_raising(setting, "hazards")


def test_a_raising_machine_hands_over_the_trace_that_shows_the_finding() -> None:
    shown: list[Trace] = []

    def look(trace: Trace, session: Session) -> None:
        if session.findings:
            shown.append(trace)

    target = PlantedTarget(third_allocation_after_a_free)
    setting = MachineSetting(targets=(target,), family="paged", callers="legal")
    machine = make_machine(setting, raising="findings", on_example=look)
    with pytest.raises(Divergence):
        run_state_machine_as_test(machine, settings=generation_settings(50, 50))
    assert shown
    assert not isinstance(shown[-1].operations[-1], op.Drain)


def test_different_settings_have_different_names() -> None:
    target = ReferenceTarget()
    geometry = Geometry(family="paged", size=8, page_size=2)
    settings_of_machines = [
        MachineSetting(targets=(target,), family="paged"),
        MachineSetting(targets=(target,), family="token"),
        MachineSetting(targets=(target,), family="paged", callers="legal"),
        MachineSetting(targets=(target,), family="paged", level="warn"),
        MachineSetting(targets=(target,), family="paged", debug=True),
        MachineSetting(targets=(target,), family="paged", debug=False),
        MachineSetting(targets=(target,), family="paged", geometry=geometry),
        MachineSetting(targets=(target,), family="paged", judging=Judging(laws=False)),
        MachineSetting(targets=(target,), family="paged", label="shard 1"),
    ]
    names = [make_machine(setting).__name__ for setting in settings_of_machines]
    assert len(set(names)) == len(names)


def test_an_impossible_geometry_is_refused_before_anything_runs() -> None:
    with pytest.raises(UsageError, match="is impossible"):
        explore(
            ReferenceTarget(),
            "paged",
            examples=1,
            seed=1,
            geometry=Geometry(family="paged", size=1, page_size=2),
        )


def run_raising(setting: MachineSetting, raising: Raising = "findings") -> None:
    machine = make_machine(setting, raising=raising)
    run_state_machine_as_test(
        machine, settings=settings(generation_settings(40, 40), derandomize=True)
    )
