"""The registry of mutants: names, descriptions, and that every kind of known bug has a mutant that stands for it."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from eager_calls import Bench, hybrid, paged
from family_geometries import (
    hisparse,
    hisparse_dsv4,
    mamba_slots,
    page_interleave,
    pure_swa,
    swa_ring,
)
from row_checks import rows

from oracle.finding import FINDING_KINDS
from oracle.geometry import Geometry, Mode
from strategies.unified_geometries import make_unified_geometry
from targets.eager.target import AllocatorClasses, EagerTarget
from targets.mutants import registry
from targets.mutants.content_faults import PeerPagesSwapped
from targets.mutants.mutant import FaultList, Mutant
from targets.mutants.page_list_faults import ClearKeepsStaged
from targets.mutants.registry import MUTANTS, make_mutant

_UNIFIED: dict[str, Any] = {
    "pages": 4,
    "page_size": 4,
    "entries": (16, 8),
    "spare": 0,
    "lazy": True,
}
_STATES: dict[str, Any] = {"states": 2, "state_bytes": 96}
KNOWN_BUGS = (
    "partial-free-stale-map",
    "unmapped-representative",
    "unaligned-tail",
    "slot-zero-page-size-1",
    "aliased-deferred-free",
    "group-resolves-late-free",
    "group-resolves-late-free-swa",
    "exact-fit-refused",
    "group-end-twice",
    "nested-group-drops-frees",
    "shared-page-segments",
    "restore-forgets-map",
    "half-double-ratchet-unified",
)
WITHOUT_A_MUTANT = {
    "restore-forgets-map": "our allocators have no backup and restore",
}
EVERY = list(MUTANTS.values())
GEOMETRIES = {
    "token": Geometry(family="token", size=8),
    "paged": paged(),
    "hybrid-swa": hybrid(),
    "hybrid-rows": rows(),
    "unified-swa": make_unified_geometry("unified-swa", **_UNIFIED),
    "unified-mamba-swa": make_unified_geometry("unified-mamba-swa", **_UNIFIED, **_STATES),
    "unified-mamba": make_unified_geometry("unified-mamba", **_UNIFIED, **_STATES),
    "pure-swa": pure_swa(),
    "swa-ring": swa_ring(),
    "hisparse": hisparse(),
    "hisparse-dsv4": hisparse_dsv4(),
    "page-interleave": page_interleave(),
    "mamba-slots": mamba_slots(),
}


def test_there_are_at_least_forty_five_mutants_and_ten_of_each_family() -> None:
    families = Counter(mutant.family for mutant in EVERY)
    assert sum(families.values()) >= 45
    assert min(families["token"], families["paged"], families["hybrid-swa"]) >= 10
    assert families["hybrid-rows"] >= 10
    unified = ("unified-swa", "unified-mamba-swa", "unified-mamba")
    assert sum(families[family] for family in unified) >= 12
    assert all(families[family] for family in unified)


@pytest.mark.parametrize("mutant", EVERY, ids=lambda mutant: mutant.name)
def test_a_mutant_is_named_after_its_fault_and_described_in_one_sentence(mutant: Mutant) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", mutant.name)
    assert mutant.description.endswith(".")
    assert mutant.description.count(". ") == 0
    assert set(mutant.kinds) <= set(FINDING_KINDS)
    assert mutant.kinds


def test_no_two_mutants_are_described_alike_within_a_family() -> None:
    described = Counter((mutant.family, mutant.description) for mutant in EVERY)
    assert [what for what, times in described.items() if times > 1] == []


def test_every_known_bug_has_a_mutant_that_stands_for_it() -> None:
    cited = {bug for mutant in EVERY for bug in mutant.stands_for}
    assert cited | set(WITHOUT_A_MUTANT) == set(KNOWN_BUGS)
    assert cited.isdisjoint(WITHOUT_A_MUTANT)


def test_at_most_three_mutants_are_equivalent_and_each_says_why() -> None:
    equivalent = [mutant for mutant in EVERY if mutant.equivalent]
    assert len(equivalent) <= 3
    assert all(mutant.equivalent.endswith(".") for mutant in equivalent)


def test_two_mutants_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Module:
        FAULTS = FaultList()

    Module.FAULTS.add("law")(PeerPagesSwapped)
    monkeypatch.setattr(registry, "_MODULES", (Module, Module))
    with pytest.raises(ValueError, match="peer-pages-swapped"):
        registry._by_name()


@pytest.mark.parametrize("mutant", EVERY, ids=lambda mutant: mutant.name)
def test_a_mutant_can_be_built_in_its_family(mutant: Mutant) -> None:
    geometry = GEOMETRIES[mutant.family]
    target = make_mutant(mutant.name)
    assert target.name == f"mutant:{mutant.name}"
    target.reset(geometry, Mode())
    assert target.snapshot().queries["available_size"] > 0


def test_a_mutant_is_built_anew_at_each_reset_because_its_clear_may_be_the_fault() -> None:
    target = EagerTarget(classes=AllocatorClasses(paged=ClearKeepsStaged))
    geometry = paged(need_sort=True)
    bench = Bench(geometry, target=target)
    bench.free(bench.fresh(8))
    assert Bench(geometry, target=target).state.full.staged == []
