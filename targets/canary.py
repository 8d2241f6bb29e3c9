"""A target that is wrong once in a hundred traces, to test the plumbing around it.

Guarantees one wrong slot in each hundredth trace that hands out any, counted by resets, whatever the operations are. The fault is in
what is reported, not in the allocator: its state stays right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from targets.eager.target import EagerTarget

if TYPE_CHECKING:
    from oracle.call import Call
    from oracle.geometry import Geometry, Mode
    from oracle.observation import Outcome

TRACES_A_FAULT = 100
_HANDING_OUT = frozenset({"alloc", "alloc_extend", "alloc_extend_swa_tail", "alloc_decode"})


class CanaryTarget(EagerTarget):
    """``eager`` whose first handed-out slot is one too high in traces 100, 200, ... since it was made."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device, name="canary")
        self._traces = 0
        self._fault_is_due = False

    def reset(self, geometry: Geometry, mode: Mode) -> None:
        """As ``eager``; each hundredth reset makes the fault due."""
        super().reset(geometry, mode)
        self._traces += 1
        self._fault_is_due = self._traces % TRACES_A_FAULT == 0

    def apply(self, call: Call) -> Outcome:
        """As ``eager``, with the fault in the first non-empty answer of an allocation while it is due."""
        outcome = super().apply(call)
        if self._fault_is_due and outcome.value and call.method in _HANDING_OUT:
            self._fault_is_due = False
            return replace(outcome, value=(outcome.value[0] + 1, *outcome.value[1:]))
        return outcome
