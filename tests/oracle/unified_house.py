"""The laws of one unified allocator with a caller's history, and a way to show them states that no allocator had."""

from __future__ import annotations

import copy
from typing import Any

from oracle.call import Call
from oracle.geometry import Geometry
from oracle.laws import AnyLaws, Violation
from oracle.laws.made_call import MadeCall
from oracle.lockstep import Judging, Session
from oracle.observation import Outcome
from oracle.operations import Base
from oracle.ownership import Ownership
from oracle.unified_observation import UnifiedSnapshot
from targets.reference import ReferenceTarget


class UnifiedHouse:
    """A caller of the reference whom only the laws judge; no step of ``prepare`` may break one."""

    def __init__(self, geometry: Geometry, *operations: Base) -> None:
        self.target = ReferenceTarget()
        self.session = Session(
            [self.target], geometry, callers="legal", judging=Judging(prediction=False)
        )
        self.prepare(*operations)

    def prepare(self, *operations: Base) -> UnifiedHouse:
        """Run legal operations, each of which makes a call."""
        for operation in operations:
            assert self.session.step(operation) == "done", operation
            assert not self.session.findings, self.session.findings
        return self

    @property
    def laws(self) -> AnyLaws:
        return self.session._lanes[0].laws

    @property
    def books(self) -> Ownership:
        return self.session.caller.books

    @property
    def snapshot(self) -> UnifiedSnapshot:
        """A copy of the state, to be damaged."""
        state = copy.deepcopy(self.target.snapshot())
        assert isinstance(state, UnifiedSnapshot)
        return state

    def judge(self, state: UnifiedSnapshot) -> Violation | None:
        """What the laws say of ``state`` after all that was prepared."""
        return self.laws.judge_state(state, self.books)

    def judge_call(
        self, call: Call, outcome: Outcome, after: UnifiedSnapshot, *breaches: str
    ) -> Violation | None:
        """What the laws say of a call that gave ``outcome`` and led from the state now to ``after``."""
        return self.laws.judge_call(
            MadeCall(call, breaches, outcome, self.snapshot, after), self.books
        )


def broken(found: Violation | None, law: str, pool: Any) -> Violation:
    """The violation, which must be of this law and pool."""
    assert found is not None, f"{law} was not broken"
    assert (found.law, found.pool) == (law, pool), found
    assert found.expected
    assert found.got
    return found
