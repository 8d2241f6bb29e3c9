"""Budgets are shared evenly, and seeds depend on what they are for only."""

from __future__ import annotations

import pytest

from campaigns.budget import (
    SECONDS_A_DEATH,
    SECONDS_BY_DEFAULT,
    Share,
    seed_of,
    share_examples,
    share_seconds,
)
from campaigns.fuzz_options import check_budget


@pytest.mark.parametrize(("examples", "parts"), [(200, 3), (6, 6), (7, 2), (1000, 7)])
def test_examples_are_shared_evenly_and_none_is_lost(examples: int, parts: int) -> None:
    shares = share_examples(examples, parts)
    assert sum(shares) == examples
    assert max(shares) - min(shares) <= 1


def test_each_part_gets_an_example_at_least() -> None:
    assert share_examples(2, 4) == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("targets", "workers", "share"), [(1, 1, 60), (1, 8, 60), (2, 2, 60), (4, 2, 30), (3, 1, 20)]
)
def test_targets_that_run_side_by_side_share_less(targets: int, workers: int, share: int) -> None:
    assert share_seconds(60, targets, workers) == share


def test_without_a_budget_there_is_a_default() -> None:
    assert check_budget(None, None) == (SECONDS_BY_DEFAULT, None)
    assert check_budget(None, 5) == (None, 5)


def test_seeds_differ_by_family_and_round_and_stay_the_same() -> None:
    seeds = [seed_of(1, ("paged", 0)), seed_of(1, ("paged", 1)), seed_of(1, ("token", 0))]
    assert len({*seeds, seed_of(2, ("paged", 0))}) == 4
    assert seeds[0] == 6661168803668856918
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_a_death_leaves_less_until_nothing_is_left() -> None:
    share = Share(examples=10)
    assert [share.left(deaths, 0.0) for deaths in range(1, 5)] == [
        Share(examples=5), Share(examples=2), Share(examples=1), None,
    ]  # fmt: skip
    timed = Share(seconds=60.0)
    assert timed.left(1, 8.0) == Share(seconds=60.0 - 8.0 - SECONDS_A_DEATH)
    assert timed.left(6, 0.0) is None
