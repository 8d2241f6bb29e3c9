"""Each fault of the allocator of states above their band shows on a walk through its behaviours, as a difference from ours."""

from __future__ import annotations

import pytest
from beside import differences
from eager_calls import Bench
from unified_bench import full_and_states, three_pools

from targets.eager.target import EagerTarget
from targets.mutants.mutant import Mutant
from targets.mutants.registry import make_mutant
from targets.mutants.unified_state_faults import FAULTS

GEOMETRIES = {"unified-mamba": full_and_states(), "unified-mamba-swa": three_pools()}


def _states(bench: Bench, *needs: int) -> None:
    for need in needs:
        bench.call("alloc", pool="state", need=need)


def _begin(bench: Bench, need: int) -> None:
    bench.call("alloc_group_begin", pool="state", need=need)


def _end(bench: Bench) -> None:
    bench.call("alloc_group_end", pool="state")


def _rest(bench: Bench) -> None:
    _begin(bench, 4)
    _states(bench, 1, 2)
    _end(bench)
    _states(bench, 1)


def _twice(bench: Bench) -> None:
    for need in (2, 1):
        _begin(bench, need)
    _states(bench, 1)
    _end(bench)


def _clear(bench: Bench) -> None:
    _begin(bench, 2)
    bench.call("clear")
    _states(bench, 1)


def _too_many(bench: Bench) -> None:
    _states(bench, 7)
    _begin(bench, 99)
    _end(bench)
    _begin(bench, 8)
    _states(bench, 1)


def _beside_a_row(bench: Bench) -> None:
    bench.call("alloc", need=16)
    _states(bench, 3)
    _begin(bench, 6)


TOURS = (_rest, _twice, _clear, _too_many, _beside_a_row)


@pytest.mark.parametrize("mutant", FAULTS.mutants, ids=lambda mutant: mutant.name)
def test_a_fault_shows_on_a_tour(mutant: Mutant) -> None:
    geometry = GEOMETRIES[mutant.family]
    assert any(differences(make_mutant(mutant.name), geometry, tour) for tour in TOURS)


@pytest.mark.parametrize("family", GEOMETRIES)
def test_ours_shows_none_beside_itself(family: str) -> None:
    assert [differences(EagerTarget(), GEOMETRIES[family], tour) for tour in TOURS] == [[]] * 5
