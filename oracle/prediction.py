"""Which prediction oracle a family has: the one place that asks for it."""

from __future__ import annotations

from typing import Protocol

from oracle.call import Call
from oracle.contract import Contract
from oracle.geometry import BANDS, Geometry, Mode
from oracle.observation import Outcome
from oracle.reference import make_reference
from oracle.unified import UnifiedReference
from oracle.unified_observation import AnySnapshot


class Prediction(Protocol):
    """A reference allocator. ``undefined`` is "" or one sentence: why the contract leaves the last call open."""

    undefined: str

    def apply(self, call: Call) -> Outcome:
        """Perform ``call`` and return what it gives back; raises nothing of what the allocator raises."""

    def snapshot(self) -> AnySnapshot:
        """The whole state."""


def make_prediction(geometry: Geometry, mode: Mode, contract: Contract) -> Prediction:
    """A new reference allocator. Raises ``UsageError`` on a geometry that no allocator can have."""
    geometry.check()
    if geometry.family in BANDS:
        return UnifiedReference(geometry, mode, contract)
    return make_reference(geometry, mode, contract)
