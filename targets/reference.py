"""The prediction itself as a target, to test the judge against its own oracle and to time it.

Guarantees what the reference allocators do, nothing more: no tensor, no device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.contract import Contract, current_contract
from oracle.geometry import ALL_FAMILIES, Geometry, Mode
from oracle.prediction import Prediction, make_prediction

if TYPE_CHECKING:
    from oracle.call import Call
    from oracle.observation import Outcome
    from oracle.unified_observation import AnySnapshot


class ReferenceTarget:
    """The target ``oracle``. Raises AttributeError when used before the first ``reset``."""

    name = "oracle"

    def __init__(self) -> None:
        self.versions: dict[str, str] = {}
        self._reference: Prediction

    def contract(self, family: str) -> Contract | None:
        """The current contract; None for a family that has no reference."""
        return current_contract(family) if family in ALL_FAMILIES else None

    def reset(self, geometry: Geometry, mode: Mode) -> None:
        """A new reference. Raises ``UsageError`` on an impossible geometry."""
        geometry.check()
        self._reference = make_prediction(geometry, mode, current_contract(geometry.family))

    def apply(self, call: Call) -> Outcome:
        """What the reference predicts for the call."""
        return self._reference.apply(call)

    def snapshot(self) -> AnySnapshot:
        """The predicted state."""
        return self._reference.snapshot()
