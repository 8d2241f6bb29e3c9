"""The front door's test: no allocator that was asked for differs from the prediction or breaks a law."""

from __future__ import annotations

from pathlib import Path

import pytest
from front_door import fuzz, report
from hypothesis import settings

from campaigns.rediscovery import Baseline
from oracle.geometry import Family
from oracle.target import Target
from strategies.profiles import profile_settings

SEEDS_OF_A_SHARD = 1_000_000


def test_a_target_does_what_its_contract_says(
    fuzz_case: tuple[Target, Family, int, int],
    fuzz_seed: int,
    trace_folder: Path,
    known: Baseline,
    request: pytest.FixtureRequest,
) -> None:
    target, family, shard, shards = fuzz_case
    option = request.config.getoption
    profile = profile_settings(option("--fuzz-profile"))
    found = fuzz(
        target,
        family,
        callers=option("--fuzz-callers"),
        level=option("--fuzz-level"),
        seed=fuzz_seed + shard * SEEDS_OF_A_SHARD,
        profile=settings(profile, max_examples=-(-profile.max_examples // shards)),
        label=f"shard {shard}",
        accepted=lambda finding: known.accounts_for(target.name, finding),
    )
    if found:
        pytest.fail("\n\n".join(report(one, trace_folder) for one in found), pytrace=False)
