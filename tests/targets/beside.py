"""Ours with another target beside it: each call is made on both, and what comes out differently is kept."""

from __future__ import annotations

from eager_calls import Bench
from family_tours import Tour

from oracle.call import Call
from oracle.comparison import Difference, compare_outcomes, compare_snapshots
from oracle.geometry import Geometry, Mode
from oracle.observation import Outcome
from oracle.target import Target
from targets.eager.target import EagerTarget


class Beside(EagerTarget):
    """``differences``: what came out differently, in order."""

    def __init__(self, other: Target) -> None:
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


def differences(other: Target, geometry: Geometry, tour: Tour) -> list[Difference]:
    """What ``other`` does otherwise than ours on that tour."""
    target = Beside(other)
    tour(Bench(geometry, target=target))
    return target.differences
