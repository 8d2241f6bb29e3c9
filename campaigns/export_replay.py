"""A target that answers what another one answered: the records of a finished session, played back.

Guarantees the recorded outcomes in order; its state is the predicted one, which is the recorded target's until the first
divergence. For the exporter, which wants the calls and not a second run.
"""

from __future__ import annotations

from oracle.call import Call
from oracle.contract import Contract
from oracle.errors import UsageError
from oracle.geometry import Geometry, Mode
from oracle.lockstep import Session
from oracle.observation import Outcome
from oracle.prediction import make_prediction
from oracle.unified_observation import AnySnapshot


class RecordsDifferError(UsageError):
    """The run that is told makes a call that the session did not record."""


class RecordedTarget:
    """The target ``name`` as ``session`` saw it. Raises ``RecordsDifferError`` when it is asked for a call that was not recorded."""

    def __init__(self, session: Session, name: str) -> None:
        self.name = name
        self.versions = session.findings[0].versions if session.findings else {}
        self._contract = session.contract
        self._session = session
        self.reset(session.geometry, session.mode)

    @property
    def spent(self) -> bool:
        """Whether every record was played."""
        return not self._records

    def contract(self, family: str) -> Contract | None:  # noqa: ARG002 (the protocol's argument)
        """The contract of the session."""
        return self._contract

    def reset(self, geometry: Geometry, mode: Mode) -> None:
        """Back to the first record, with a new prediction."""
        self._records = list(reversed(self._session.records or []))
        self._reference = make_prediction(geometry, mode, self._contract)

    def apply(self, call: Call) -> Outcome:
        """The recorded outcome of the next call, which must be this one."""
        record = self._records.pop() if self._records else None
        if record is None or record.call != call:
            raise RecordsDifferError(
                f"the session recorded no {call.method} call here: export without it"
            )
        self._reference.apply(call)
        return record.got

    def snapshot(self) -> AnySnapshot:
        """The predicted state."""
        return self._reference.snapshot()


def recorded_target(session: Session, name: str) -> RecordedTarget:
    """Play ``session`` back. Raises ``UsageError`` when it kept no records."""
    if session.records is None:
        raise UsageError(
            "the session kept no records: run it with keep_records, or export without it"
        )
    return RecordedTarget(session, name)
