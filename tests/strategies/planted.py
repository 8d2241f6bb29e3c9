"""What the tests of the strategies drive: the prediction itself as a target, with a fault put in.

Guarantees no tensor and no device, so these tests run in milliseconds and without torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from oracle.call import Call
from oracle.finding import Finding
from oracle.geometry import Geometry, Mode
from oracle.lockstep import run_trace
from oracle.observation import Outcome, Snapshot
from oracle.trace import Trace
from targets.reference import ReferenceTarget

Fault = Callable[[list[Call], Outcome], Outcome]


class PlantedTarget(ReferenceTarget):
    """The reference, whose outcomes go through ``fault`` with all calls so far, the last one included."""

    name = "planted"

    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self._fault = fault
        self._calls: list[Call] = []

    def reset(self, geometry: Geometry, mode: Mode) -> None:
        super().reset(geometry, mode)
        self._calls = []

    def apply(self, call: Call) -> Outcome:
        outcome = super().apply(call)
        self._calls.append(call)
        return self._fault(self._calls, outcome)


class LeakyTarget(ReferenceTarget):
    """The reference, whose snapshot lacks the last free page once ``leaks(calls)`` is true."""

    name = "leaky"

    def __init__(self, leaks: Callable[[list[Call]], bool]) -> None:
        super().__init__()
        self._leaks = leaks
        self._calls: list[Call] = []

    def reset(self, geometry: Geometry, mode: Mode) -> None:
        super().reset(geometry, mode)
        self._calls = []

    def apply(self, call: Call) -> Outcome:
        self._calls.append(call)
        return super().apply(call)

    def snapshot(self) -> Snapshot:
        state = super().snapshot()
        if self._leaks(self._calls):
            state.full = replace(state.full, free=state.full.free[:-1])
        return state


def third_allocation_after_a_free(calls: list[Call], outcome: Outcome) -> Outcome:
    """Three allocations after any free give a wrong slot: a fault of four operations."""
    frees = [index for index, call in enumerate(calls) if call.method.startswith("free")]
    after = calls[frees[0] :] if frees else []
    allocations = [call for call in after if call.method.startswith("alloc")]
    if len(allocations) >= 3 and calls[-1].method.startswith("alloc") and outcome.value:
        return replace(outcome, value=(outcome.value[0] + 1, *outcome.value[1:]))
    return outcome


def findings_on(target: ReferenceTarget) -> Callable[[Trace], Sequence[Finding]]:
    """What the reducer wants: a trace's findings on ``target``."""
    return lambda trace: run_trace(trace, [target]).findings
