"""Each fault of a further family shows on a walk through its behaviours, as a difference from ours."""

from __future__ import annotations

from collections import Counter

import pytest
from eager_calls import Bench
from family_tours import TOURS, Tour

from oracle.call import Call
from oracle.comparison import Difference, compare_outcomes, compare_snapshots
from oracle.geometry import FURTHER_FAMILIES, Geometry, Mode
from oracle.observation import Outcome
from targets.eager.target import EagerTarget
from targets.mutants.mutant import Mutant
from targets.mutants.registry import MUTANTS, make_mutant

OURS = [mutant for mutant in MUTANTS.values() if mutant.family in FURTHER_FAMILIES]


class _Beside(EagerTarget):
    """Ours, with each call made on another target too; ``differences`` is what came out differently."""

    def __init__(self, other: EagerTarget) -> None:
        super().__init__()
        self._other = other
        self.differences: list[Difference] = []

    def reset(self, geometry: Geometry, mode: Mode) -> None:
        super().reset(geometry, mode)
        self._other.reset(geometry, mode)
        self._compare(Outcome(), Outcome())

    def apply(self, call: Call) -> Outcome:
        outcome = super().apply(call)
        self._compare(outcome, self._other.apply(call))
        return outcome

    def _compare(self, ours: Outcome, theirs: Outcome) -> None:
        differing = compare_outcomes(ours, theirs) or compare_snapshots(
            self.snapshot(), self._other.snapshot()
        )
        if differing is not None:
            self.differences.append(differing)


def _differences(other: EagerTarget, geometry: Geometry, tour: Tour) -> list[Difference]:
    target = _Beside(other)
    tour(Bench(geometry, target=target))
    return target.differences


@pytest.mark.parametrize("mutant", OURS, ids=lambda mutant: mutant.name)
def test_a_fault_shows_on_the_tour_of_its_family(mutant: Mutant) -> None:
    tours = TOURS[mutant.family]
    assert any(_differences(make_mutant(mutant.name), *tour) for tour in tours)


@pytest.mark.parametrize("family", FURTHER_FAMILIES)
def test_ours_shows_none_beside_itself(family: str) -> None:
    assert [_differences(EagerTarget(), *tour) for tour in TOURS[family]] == [[]] * len(
        TOURS[family]
    )


def test_each_further_family_has_at_least_six_faults() -> None:
    families = Counter(mutant.family for mutant in OURS)
    assert set(families) == set(FURTHER_FAMILIES)
    assert min(families.values()) >= 6
