"""How a reference allocator leaves a call early: with an error of the contract, or with no prediction at all."""

from __future__ import annotations

from typing import NoReturn

NEVER_SAVED = "a restore without a backup"


class PredictedError(Exception):
    """The contract says that this call raises.

    ``kind`` is what ``Outcome.error`` holds: a class name or ``invariant:NAME``. The text says which check raised.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class UndefinedError(Exception):
    """The contract leaves the result or the state of this call open; the text says why."""


def require(holds: bool, message: str) -> None:
    """Raise the contract's plain or debug assertion, named by ``message``, unless it ``holds``."""
    if not holds:
        raise PredictedError("AssertionError", message)


def not_implemented(message: str) -> NoReturn:
    """Raise the contract's ``NotImplementedError``."""
    raise PredictedError("NotImplementedError", message)


def leave_undefined(unless: bool, reason: str) -> None:
    """Give no prediction, for ``reason``, ``unless`` the caller's input is one the contract speaks of."""
    if not unless:
        raise UndefinedError(reason)
