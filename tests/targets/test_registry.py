"""The registry: from a specification to a target, or one sentence why not; and the canary."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest
from eager_calls import paged

from oracle.call import Call
from oracle.errors import KvoracleError, TargetUnavailable, UsageError
from oracle.geometry import Mode
from oracle.target import Target
from targets import registry
from targets.mutants.registry import MUTANTS
from targets.registry import known_targets, make_target


@pytest.mark.parametrize("specification", ["eager", "canary", "oracle", "mutant:dedup-dropped"])
def test_our_own_targets_are_made_and_carry_their_specification(specification: str) -> None:
    target = make_target(specification)
    assert isinstance(target, Target)
    assert target.name == specification
    target.reset(paged(), Mode())
    assert target.apply(Call(method="alloc", need=4)).value is not None
    assert target.snapshot().full.available == 28


@pytest.mark.parametrize(
    ("specification", "advice"),
    [
        ("eagre", "eager"),
        ("mutant:dedup-droped", "mutant:dedup-dropped"),
        ("mutant", "mutant:"),
        ("eager:x", "eager"),
        ("xyzzy", "kvoracle targets"),
        ("", "kvoracle targets"),
    ],
)
def test_an_unknown_specification_is_one_sentence_with_advice(
    specification: str, advice: str
) -> None:
    with pytest.raises(UsageError) as refused:
        make_target(specification)
    sentence = str(refused.value)
    assert repr(specification) in sentence
    assert advice in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize("specification", ["eager", "sglang==0.5.23"])
def test_a_device_that_is_not_there_is_one_sentence(specification: str) -> None:
    with pytest.raises(TargetUnavailable, match=r"the device 'cuda:99'.*: take cpu, or") as refused:
        make_target(specification, device="cuda:99")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("specification", ["sglang", "sglang==0.5.23", "sglang@/somewhere"])
def test_releases_are_left_to_the_adapter(
    monkeypatch: pytest.MonkeyPatch, specification: str
) -> None:
    adapter = ModuleType("targets.sglang.adapter")
    asked: list[tuple[str, str, object]] = []

    def make_sglang_target(specification: str, *, device: str, cache: object) -> str:
        asked.append((specification, device, cache))
        return "a release"

    adapter.make_sglang_target = make_sglang_target  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "targets.sglang.adapter", adapter)
    assert make_target(specification) == "a release"
    assert asked == [(specification, "cpu", None)]


def test_another_package_brings_targets_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def make(argument: str, device: str) -> Target:
        asked.append((argument, device))
        return make_target("eager")

    point = SimpleNamespace(name="mine", value="mine:make", load=lambda: make)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point])
    assert isinstance(make_target("mine:fast"), Target)
    assert make_target("mine").contract("token") == make_target("eager").contract("token")
    assert asked == [("fast", "cpu"), ("", "cpu")]
    assert ("mine", "from mine:make", True, "") in known_targets()


def test_an_entry_point_that_cannot_be_imported_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def load() -> None:
        raise ImportError("no such module")

    point = SimpleNamespace(name="mine", value="mine:make", load=load)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point])
    with pytest.raises(TargetUnavailable, match="mine:make, which cannot be imported"):
        make_target("mine")


def test_the_list_names_every_mutant_and_says_why_something_is_missing() -> None:
    known = {target.specification: target for target in known_targets()}
    assert {f"mutant:{name}" for name in MUTANTS} < set(known)
    assert known["eager"].available
    for target in known.values():
        assert target.available == (target.reason == "")
        assert "\n" not in target.description
    assert issubclass(UsageError, KvoracleError)


def test_the_canary_is_wrong_by_one_slot_in_each_hundredth_trace() -> None:
    canary, eager = make_target("canary"), make_target("eager")
    wrong = []
    for trace in range(1, 301):
        canary.reset(paged(), Mode())
        eager.reset(paged(), Mode())
        for call in (Call(method="alloc", need=0), *[Call(method="alloc", need=4)] * 2):
            if canary.apply(call) != eager.apply(call):
                wrong.append((trace, call.need))
        assert canary.snapshot() == eager.snapshot()
    assert wrong == [(100, 4), (200, 4), (300, 4)]
