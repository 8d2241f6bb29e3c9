"""One run of a trace with nobody judging it: what its calls gave back, and the state at its end."""

from __future__ import annotations

from msgspec import Struct

from oracle.call import Call
from oracle.contract import Contract
from oracle.geometry import Geometry
from oracle.lockstep import CallRecord, Judging, Session, Status
from oracle.observation import Outcome, Snapshot
from oracle.target import Target
from oracle.trace import Trace
from oracle.unified_observation import AnySnapshot

OF_THE_CALLER = frozenset({"take_request_slots", "return_request_slots"})
ANSWERING_NOTHING = frozenset({"alloc_group_begin", "alloc_group_end"})
"""Calls whose names begin like those of allocations, and that return nothing when they succeed (contract_paged_swa §8)."""


class Run(Struct, frozen=True):
    """``statuses`` has an entry for each operation, ``records`` one for each call, ``state`` is the one at the end.

    ``contract`` is the one that the target follows.
    """

    geometry: Geometry
    contract: Contract
    statuses: tuple[Status, ...]
    records: tuple[CallRecord, ...]
    state: AnySnapshot

    def records_from(self, index: int) -> list[CallRecord]:
        """The calls of operation ``index`` and of those after it, without those on the caller's own request slots (§6)."""
        return [
            record
            for record in self.records
            if record.index >= index and record.call.method not in OF_THE_CALLER
        ]

    def calls_at(self, index: int) -> list[Call]:
        """The calls of operation ``index``."""
        return [record.call for record in self.records_from(index) if record.index == index]

    def calls_from(self, index: int) -> list[Call]:
        """The same without what came back."""
        return [record.call for record in self.records_from(index)]

    def failure_from(self, index: int) -> CallRecord | None:
        """The first call from operation ``index`` on that raised, or was refused what it asked for."""
        return next(
            (one for one in self.records_from(index) if is_failure(one.call, one.got)), None
        )

    def skips_from(self, index: int) -> bool:
        """Whether an operation from ``index`` on made no call."""
        return any(status != "done" for status in self.statuses[index:])

    @property
    def state_prepared(self) -> bool:
        """Whether states that were taken out in advance are left at the end (contract_paged_swa §8)."""
        return isinstance(self.state, Snapshot) and self.state.prepared is not None

    @property
    def last_call(self) -> Call | None:
        """The call of the last operation; None when it made none, more than one, or one that failed."""
        index = len(self.statuses) - 1
        calls = self.calls_from(index)
        return calls[0] if len(calls) == 1 and self.failure_from(index) is None else None


def observe(trace: Trace, target: Target) -> Run:
    """Run ``trace`` on a fresh allocator of ``target``. Raises ``UsageError`` as ``Session`` does."""
    session = Session(
        [target],
        trace.geometry,
        trace.mode,
        trace.callers,
        Judging(prediction=False, laws=False),
        may_break=trace.may_break,
        keep_records=True,
    )
    statuses = tuple(session.step(operation) for operation in trace.operations)
    records = tuple(session.records or ())
    return Run(trace.geometry, session.contract, statuses, records, target.snapshot())


def is_failure(call: Call, got: Outcome) -> bool:
    """Whether the call raised, or was refused what it asked for."""
    allocates = call.method.startswith("alloc") and call.method not in ANSWERING_NOTHING
    return bool(got.error) or (allocates and got.value is None)
