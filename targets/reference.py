"""The prediction itself as a target, to test the judge against its own oracle and to time it.

Guarantees what the reference allocators do, nothing more: no tensor, no device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.contract import Contract, current_contract
from oracle.geometry import FAMILIES, Geometry, Mode
from oracle.reference import Reference, make_reference

if TYPE_CHECKING:
    from oracle.call import Call
    from oracle.observation import Outcome, Snapshot


class ReferenceTarget:
    """The target ``oracle``. Raises AttributeError when used before the first ``reset``."""

    name = "oracle"

    def __init__(self) -> None:
        self.versions: dict[str, str] = {}
        self._reference: Reference

    def contract(self, family: str) -> Contract | None:
        """The current contract; None for a family that has no reference."""
        return current_contract(family) if family in FAMILIES else None

    def reset(self, geometry: Geometry, mode: Mode) -> None:
        """A new reference. Raises ``UsageError`` on an impossible geometry."""
        geometry.check()
        self._reference = make_reference(geometry, mode, current_contract(geometry.family))

    def apply(self, call: Call) -> Outcome:
        """What the reference predicts for the call."""
        return self._reference.apply(call)

    def snapshot(self) -> Snapshot:
        """The predicted state."""
        return self._reference.snapshot()
