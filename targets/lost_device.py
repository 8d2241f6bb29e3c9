"""A process ends with its device: after a device-side assert or an illegal access every later call fails, whoever makes it.

Guarantees that a target wrapped here ends its process at the first outcome or exception which says that the device is lost, so that
nothing is judged on it afterwards. The exit code says what happened, the last line on standard error what the device said.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import NamedTuple, NoReturn, TypeVar

from oracle.call import Call
from oracle.contract import Contract
from oracle.geometry import Geometry, Mode
from oracle.observation import Outcome
from oracle.target import Target
from oracle.unified_observation import AnySnapshot


class DeviceLoss(NamedTuple):
    """A way to lose a device, in the words of CUDA, and the exit code of the process that did."""

    name: str
    exit_code: int


LOSSES = (
    DeviceLoss("device-side assert", 81),
    DeviceLoss("illegal memory access", 82),
    DeviceLoss("misaligned address", 83),
    DeviceLoss("illegal instruction", 84),
    DeviceLoss("launch failure", 85),
    DeviceLoss("timed out", 86),
)
OTHER_LOSS = DeviceLoss("device error", 87)
NAME_BY_EXIT_CODE = {loss.exit_code: loss.name for loss in (*LOSSES, OTHER_LOSS)}

_SAYS = re.compile(r"\b(CUDA|HIP) error\b|Triton Error \[(CUDA|HIP)\]|unspecified launch failure")
_PASSING = ("out of memory", "invalid device ordinal", "invalid configuration argument")
"""What a device says of one call that it refuses, and lives on."""

Result = TypeVar("Result")


def loss_of(message: str) -> DeviceLoss | None:
    """What the message of an exception says became of the device; None when it says nothing of that kind."""
    said = message.casefold()
    if not _SAYS.search(message) or any(passing in said for passing in _PASSING):
        return None
    return next((loss for loss in LOSSES if loss.name in said), OTHER_LOSS)


class EndsWithItsDevice:
    """``target``, in a process that is to end when the target's device is lost."""

    def __init__(self, target: Target) -> None:
        self.name = target.name
        self.versions = target.versions
        self._target = target

    def contract(self, family: str) -> Contract | None:
        """The target's."""
        return self._target.contract(family)

    def reset(self, geometry: Geometry, mode: Mode) -> None:
        """As the target."""
        self._unless_lost(lambda: self._target.reset(geometry, mode))

    def apply(self, call: Call) -> Outcome:
        """As the target."""
        outcome = self._unless_lost(lambda: self._target.apply(call))
        if outcome.error.startswith("crash:"):
            _end_if_lost(outcome.message)
        return outcome

    def snapshot(self) -> AnySnapshot:
        """The target's."""
        return self._unless_lost(self._target.snapshot)

    def __getattr__(self, name: str) -> object:
        # What only some targets have, such as ``allocator`` and ``notes``.
        return getattr(self._target, name)

    def _unless_lost(self, do: Callable[[], Result]) -> Result:
        try:
            return do()
        except Exception as raised:
            _end_if_lost(str(raised))
            raise


def _end_if_lost(message: str) -> None:
    loss = loss_of(message)
    if loss is not None:
        _end(loss, message)


def _end(loss: DeviceLoss, message: str) -> NoReturn:
    line = message.strip().splitlines()[0]
    os.write(2, f"\n{line}\n".encode(errors="backslashreplace"))
    # Whatever would run on the way out, down to freeing a tensor, asks the lost device.
    os._exit(loss.exit_code)
