"""The protocol behind which every allocator under test stands."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from oracle.call import Call
from oracle.contract import Contract
from oracle.geometry import Geometry, Mode
from oracle.observation import Outcome
from oracle.unified_observation import AnySnapshot


@runtime_checkable
class Target(Protocol):
    """An allocator that can be reset, called and looked at.

    ``name`` is the specification that makes it again (``eager``, ``sglang==0.5.23``); ``versions`` names what ran (torch,
    the release), for reports.
    """

    name: str
    versions: dict[str, str]

    def contract(self, family: str) -> Contract | None:
        """The contract that this target follows for ``family``; None when it does not have that family."""

    def reset(self, geometry: Geometry, mode: Mode) -> None:
        """Make a new allocator, or one in the state after construction. Raises ``UsageError`` on an impossible geometry."""

    def apply(self, call: Call) -> Outcome:
        """Perform the call. Never raises for what the allocator raises: that is part of the outcome."""

    def snapshot(self) -> AnySnapshot:
        """The whole state, read without changing it: a ``UnifiedSnapshot`` for the unified families."""
