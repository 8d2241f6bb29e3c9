"""One call as it was made: what the laws about calls judge."""

from __future__ import annotations

from typing import Generic, TypeVar

from msgspec import Struct

from oracle.call import Call
from oracle.observation import Outcome

State = TypeVar("State")


class MadeCall(Struct, Generic[State], frozen=True):
    """A call, the ``breaches`` of the contract with which it was made, what came of it, and the state right before and after it."""

    call: Call
    breaches: tuple[str, ...]
    outcome: Outcome
    before: State
    after: State
