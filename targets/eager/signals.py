"""The invariants of the hybrid allocator: what is evaluated, and what a hit does at each level (contract_paged_swa §2).

Guarantees that the level is read from the environment at every evaluation, that asserting and counting exclude each other, and
that an observer hears of every evaluation at every level. Repairs nothing.
"""

from __future__ import annotations

import logging
import os
from enum import Enum, IntEnum
from typing import NamedTuple, Protocol

import torch

from oracle.contract import PEER_MAPPED, PEER_RELEASED

INVARIANT_CHECK = "SGLANG_INVARIANT_CHECK"
ENABLE_ASYNC_ASSERT = "SGLANG_ENABLE_ASYNC_ASSERT"
CHECKS_BETWEEN_LOGS = 512

_logger = logging.getLogger(__name__)
# Counting is what level warn is for; a program that wants the lines too configures logging.
_logger.addHandler(logging.NullHandler())


class Level(IntEnum):
    """How loudly a hit speaks."""

    OFF = 0
    WARN = 1
    STRICT = 2


class Bucket(Enum):
    """How bad a hit is; the value is the lowest level that asserts."""

    GUARD = Level.STRICT
    FATAL_UNCONTAINABLE = Level.WARN


class Invariant(NamedTuple):
    """A named predicate that each element of a tensor must satisfy."""

    name: str
    bucket: Bucket
    promise: str


PEER_MAPPED_INVARIANT = Invariant(
    PEER_MAPPED, Bucket.FATAL_UNCONTAINABLE, "the peer of each representative is mapped"
)
PEER_RELEASED_INVARIANT = Invariant(
    PEER_RELEASED, Bucket.GUARD, "slots freed from the FULL pool alone have no peer left"
)


class Observer(Protocol):
    """Who hears of evaluations, whatever the level."""

    def evaluated(self, name: str, false_elements: int) -> None:
        """The invariant was evaluated and found so many elements for which it is false (0: none)."""

    def counted(self, name: str, false_elements: int) -> None:
        """The counter of the invariant moved by so much."""


class Signals:
    """Evaluates invariants for one allocator. ``counts`` holds what was counted at level warn, by name.

    ``observer`` is told of every evaluation. ``on_host`` raises in the caller also on CUDA, where an asynchronous assert
    would cost the process its CUDA context.
    """

    def __init__(self, observer: Observer | None = None, *, on_host: bool = False) -> None:
        self.observer = observer
        self.on_host = on_host
        self.counts: dict[str, int] = {}
        self._checks_since_log: dict[str, int] = {}

    def expect(self, invariant: Invariant, holds: torch.Tensor, message: str) -> None:
        """Evaluate: ``holds`` is bool ``[n]``, True where the predicate is.

        Raises RuntimeError ``invariant-check FAILED [name]: ...`` when the level makes the bucket assert, ValueError when
        the level is out of range. An empty ``holds`` is no evaluation.
        """
        level = current_level()
        if holds.numel() == 0:
            return
        asserting = level >= invariant.bucket.value
        asynchronous = asserting and not (self.on_host or holds.device.type == "cpu")
        false_elements = 0
        if self.observer is not None or (level is not Level.OFF and not asynchronous):
            false_elements = holds.numel() - int(holds.sum())
        if self.observer is not None:
            self.observer.evaluated(invariant.name, false_elements)
        if asynchronous:
            torch._assert_async(holds.all(), _failure(invariant, message))
        elif asserting and false_elements:
            raise RuntimeError(_failure(invariant, message))
        elif level is not Level.OFF and not asserting:
            self._count(invariant, false_elements, message)

    def finds(self, refused: torch.Tensor, message: str) -> bool:
        """Whether an element of bool ``refused`` is set: a call that must be refused.

        Where asserts are asynchronous the answer is False, and a device assert speaks later unless the level is off.
        """
        if self.on_host or refused.device.type == "cpu":
            return bool(refused.any())
        if current_level() is not Level.OFF:
            torch._assert_async(~refused.any(), message)
        return False

    def _count(self, invariant: Invariant, false_elements: int, message: str) -> None:
        name = invariant.name
        checks = self._checks_since_log.get(name, CHECKS_BETWEEN_LOGS) + 1
        self._checks_since_log[name] = checks
        if not false_elements:
            return
        total = self.counts[name] = self.counts.get(name, 0) + false_elements
        if checks > CHECKS_BETWEEN_LOGS:
            self._checks_since_log[name] = 0
            _logger.warning("[%s] +%d, %d in all: %s", name, false_elements, total, message)
        if self.observer is not None:
            self.observer.counted(name, false_elements)


def current_level() -> Level:
    """The level that the environment asks for now. Raises ValueError for an integer outside 0 to 2."""
    text = os.environ.get(INVARIANT_CHECK)
    if text is None:
        asserting = os.environ.get(ENABLE_ASYNC_ASSERT, "").strip().lower() in ("1", "true")
        return Level.STRICT if asserting else Level.OFF
    try:
        number = int(text)
    except ValueError:
        _logger.warning("%s=%r is not a number: invariants are off", INVARIANT_CHECK, text)
        return Level.OFF
    return Level(number)


def _failure(invariant: Invariant, message: str) -> str:
    return f"invariant-check FAILED [{invariant.name}]: {invariant.promise}: {message}"
