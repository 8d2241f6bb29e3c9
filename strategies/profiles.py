"""Hypothesis settings by name: ``dev``, ``pr``, ``nightly``, ``replay``, and those of a campaign.

Guarantees that nothing is registered on import: ``register_profiles`` does that when it is called.
"""

from __future__ import annotations

from typing import Literal

from hypothesis import HealthCheck, Phase, settings

ProfileName = Literal["dev", "pr", "nightly", "replay"]
PROFILES: tuple[ProfileName, ...] = ("dev", "pr", "nightly", "replay")

_ALL_BUT_EXPLAIN = (Phase.explicit, Phase.reuse, Phase.generate, Phase.target, Phase.shrink)
# A rule that returns something without a target is a mistake in the machine, so that check stays.
_SUPPRESSED = tuple(check for check in HealthCheck if check is not HealthCheck.return_value)


def profile_settings(name: ProfileName) -> settings:
    """The settings of a profile. None depends on the profile that Hypothesis loads by itself on a CI machine."""
    common = settings(
        deadline=None,
        suppress_health_check=_SUPPRESSED,
        derandomize=False,
        phases=_ALL_BUT_EXPLAIN,
        report_multiple_bugs=False,
    )
    if name == "pr":
        return settings(
            common,
            derandomize=True,
            max_examples=100,
            stateful_step_count=50,
            print_blob=True,
        )
    if name == "nightly":
        return settings(
            common, max_examples=2000, stateful_step_count=200, report_multiple_bugs=True
        )
    if name == "replay":
        return settings(common, phases=(Phase.explicit, Phase.reuse), max_examples=50)
    return settings(common, max_examples=50, stateful_step_count=50)


def register_profiles() -> None:
    """Make the profiles known to Hypothesis, as ``kvoracle-dev`` and so on, so that its own options find them."""
    for name in PROFILES:
        settings.register_profile(f"kvoracle-{name}", profile_settings(name))


def generation_settings(examples: int, steps: int) -> settings:
    """Generate only: no database, no shrinking (traces have their own reducer), no deadline."""
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        phases=(Phase.generate,),
        database=None,
        deadline=None,
        derandomize=False,
        print_blob=False,
        suppress_health_check=_SUPPRESSED,
    )
