"""The suite finds the faults that are put in on purpose, each by a kind of finding that the fault deserves.

An exploration of some hundred examples with fixed seeds must kill most mutants by itself, and traces written by hand
must kill all of them: those do not change with the generator.
"""

from __future__ import annotations

import pytest
from mutation import LAWS_ONLY, WAYS, Kill, explored_traces, kill, kill_by_hand
from written_traces import WRITTEN

from oracle.geometry import Family
from oracle.lockstep import run_trace
from oracle.trace import Trace
from targets.eager.target import EagerTarget
from targets.mutants.mutant import Mutant
from targets.mutants.registry import MUTANTS

LEAST_SCORE = 0.95
LEAST_EXPLORED_SCORE = 0.9
# Faults in the row layer are seen in tests/targets/test_rows_eager.py, check by check.
OBSERVABLE = [
    mutant for mutant in MUTANTS.values() if not mutant.equivalent and mutant.family in WAYS
]
TEN_PLANTED = (
    "padding-page-not-reserved",
    "group-pile-aliased",
    "flush-order-swapped",
    "dedup-dropped",
    "last-partial-page-kept",
    "mapping-cleared-for-named-slots-only",
    "merge-skipped",
    "capacity-off-by-one",
    "mapping-read-at-group-end",
    "page-pushed-twice",
)
CONTENT_ONLY = ("peer-pages-swapped", "recovered-peers-traded", "peers-traded-at-group-end")


@pytest.fixture(scope="module")
def explored() -> dict[Family, list[Trace]]:
    return explored_traces()


@pytest.fixture(scope="module")
def kills(explored: dict[Family, list[Trace]]) -> dict[str, Kill]:
    """By mutant; those that nothing killed are left out."""
    found = {}
    for mutant in OBSERVABLE:
        killed = kill(mutant, explored[mutant.family]) or kill_by_hand(mutant)
        if killed is not None:
            found[mutant.name] = killed
    return found


@pytest.mark.long
def test_the_exploration_alone_kills_nearly_all(kills: dict[str, Kill]) -> None:
    missed = [m.name for m in OBSERVABLE if m.name not in kills or not kills[m.name].examples]
    score = 1 - len(missed) / len(OBSERVABLE)
    assert score >= LEAST_EXPLORED_SCORE, f"{score:.1%}, missed {missed}"


@pytest.mark.long
def test_every_mutant_that_can_be_told_from_eager_is_killed(kills: dict[str, Kill]) -> None:
    survivors = [mutant.name for mutant in OBSERVABLE if mutant.name not in kills]
    assert len(kills) / len(OBSERVABLE) >= LEAST_SCORE
    assert not survivors


def test_the_written_traces_alone_kill_all_as_each_deserves() -> None:
    by_hand = {mutant.name: kill_by_hand(mutant) for mutant in OBSERVABLE}
    assert [name for name, killed in by_hand.items() if killed is None] == []
    kinds = {name: killed.finding.kind for name, killed in by_hand.items() if killed}
    assert {name: kind for name, kind in kinds.items() if kind not in MUTANTS[name].kinds} == {}


@pytest.mark.long
def test_every_kill_is_of_a_kind_that_the_fault_deserves(kills: dict[str, Kill]) -> None:
    undeserved = {
        name: killed.finding.sentence()
        for name, killed in kills.items()
        if killed.finding.kind not in MUTANTS[name].kinds
    }
    assert not undeserved


def _killed_by_laws(mutant: Mutant, traces: list[Trace]) -> bool:
    return bool(kill_by_hand(mutant, LAWS_ONLY) or kill(mutant, traces, LAWS_ONLY))


@pytest.mark.long
def test_the_laws_alone_kill_every_mutant_that_breaks_one(
    explored: dict[Family, list[Trace]],
) -> None:
    promised = [mutant for mutant in OBSERVABLE if "law" in mutant.kinds]
    missed = [m.name for m in promised if not _killed_by_laws(m, explored[m.family])]
    assert not missed


def test_the_laws_alone_kill_seven_of_the_ten_planted_faults() -> None:
    assert sum("law" in MUTANTS[name].kinds for name in TEN_PLANTED) >= 7


@pytest.mark.parametrize("name", CONTENT_ONLY)
def test_of_all_laws_the_content_law_alone_sees_exchanged_peers(
    name: str, explored: dict[Family, list[Trace]]
) -> None:
    mutant = MUTANTS[name]
    small = explored[mutant.family][: len(explored[mutant.family]) // 2]
    found = [kill(mutant, [trace], LAWS_ONLY) for trace in small]
    laws = {killed.finding.quantity for killed in found if killed is not None}
    assert laws == {"swa.content-swa"}


@pytest.mark.parametrize("name", WRITTEN)
def test_eager_passes_the_written_traces(name: str) -> None:
    found = run_trace(WRITTEN[name], [EagerTarget()]).findings
    assert [finding.sentence() for finding in found if finding.kind != "hazard"] == []


@pytest.mark.long
def test_an_equivalent_mutant_is_not_told_from_eager(explored: dict[Family, list[Trace]]) -> None:
    for mutant in MUTANTS.values():
        if mutant.equivalent:
            assert kill(mutant, explored[mutant.family]) is None, f"{mutant.name} is observable"
