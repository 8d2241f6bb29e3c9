"""Each fault of a further family shows on a walk through its behaviours, as a difference from ours."""

from __future__ import annotations

from collections import Counter

import pytest
from beside import differences
from family_tours import TOURS

from oracle.geometry import FURTHER_FAMILIES
from targets.eager.target import EagerTarget
from targets.mutants.mutant import Mutant
from targets.mutants.registry import MUTANTS, make_mutant

OURS = [mutant for mutant in MUTANTS.values() if mutant.family in FURTHER_FAMILIES]


@pytest.mark.parametrize("mutant", OURS, ids=lambda mutant: mutant.name)
def test_a_fault_shows_on_the_tour_of_its_family(mutant: Mutant) -> None:
    tours = TOURS[mutant.family]
    assert any(differences(make_mutant(mutant.name), *tour) for tour in tours)


@pytest.mark.parametrize("family", FURTHER_FAMILIES)
def test_ours_shows_none_beside_itself(family: str) -> None:
    assert [differences(EagerTarget(), *tour) for tour in TOURS[family]] == [[]] * len(
        TOURS[family]
    )


def test_each_further_family_has_at_least_six_faults() -> None:
    families = Counter(mutant.family for mutant in OURS)
    assert set(families) == set(FURTHER_FAMILIES)
    assert min(families.values()) >= 6
