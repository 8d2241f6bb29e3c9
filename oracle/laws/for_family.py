"""Which laws judge an allocator: the one place that asks for its family."""

from __future__ import annotations

from typing import Any, Protocol

from oracle.call import Call
from oracle.geometry import BANDS, Geometry
from oracle.laws.judgement import Laws
from oracle.laws.row_laws import RowLaws
from oracle.laws.unified_laws import UnifiedLaws
from oracle.laws.violation import Violation
from oracle.observation import Outcome
from oracle.ownership import Ownership


class AnyLaws(Protocol):
    """All laws over one allocator. ``before`` and ``after`` are the kind of state that its family has."""

    def judge_call(
        self,
        call: Call,
        breaches: tuple[str, ...],
        outcome: Outcome,
        before: Any,
        after: Any,
        books: Ownership,
    ) -> Violation | None:
        """Judge one call right after it was made. ``books`` do not contain its outcome yet."""

    def judge_state(self, after: Any, books: Ownership) -> Violation | None:
        """Judge the state after a whole operation, all of whose calls are booked."""


def make_laws(geometry: Geometry) -> AnyLaws:
    """The laws for a new allocator of ``geometry``."""
    if geometry.family in BANDS:
        return UnifiedLaws(geometry)
    return RowLaws(geometry) if geometry.family == "hybrid-rows" else Laws(geometry)
