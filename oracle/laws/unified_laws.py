"""All laws over one unified allocator, in the order in which they are judged: the narrower diagnosis first.

Guarantees the same as ``oracle.laws.judgement`` does for the other families: it knows what the target returned, what the
caller freed, and the target's own snapshot; no prediction and no contract.
"""

from __future__ import annotations

from oracle.call import Call
from oracle.geometry import Geometry
from oracle.laws import call_laws
from oracle.laws.violation import PADDING_PAGE, Violation
from oracle.observation import Outcome
from oracle.ownership import Ownership
from oracle.unified_observation import UnifiedSnapshot


class UnifiedLaws:
    """The laws for one allocator of ``geometry``, from construction on. Traces share none."""

    def __init__(self, geometry: Geometry) -> None:
        self._grids = geometry.grids()

    def judge_call(
        self,
        call: Call,
        breaches: tuple[str, ...],
        outcome: Outcome,
        before: UnifiedSnapshot,  # noqa: ARG002
        after: UnifiedSnapshot,  # noqa: ARG002
        books: Ownership,  # noqa: ARG002
    ) -> Violation | None:
        """Judge one call right after it was made. ``books`` do not contain its outcome yet."""
        return call_laws.judge_error(call, breaches, outcome)

    def judge_state(self, after: UnifiedSnapshot, books: Ownership) -> Violation | None:  # noqa: ARG002
        """Judge the state after a whole operation, all of whose calls are booked."""
        return self._judge_padding(after)

    def _judge_padding(self, after: UnifiedSnapshot) -> Violation | None:
        """Both tables of a band lead from padding to padding, and their last entries nowhere (§2)."""
        for name in self._grids:
            band = after.bands[name]
            ends = (band.v2p[0], band.p2v[0], band.v2p[-1], band.p2v[-1])
            if ends != (0, 0, -1, -1):
                where = (
                    f"{name} v2p {band.v2p[0]} … {band.v2p[-1]}, p2v {band.p2v[0]} … {band.p2v[-1]}"
                )
                pool = "" if name == "state" else name
                return Violation(PADDING_PAGE, pool, "both tables 0 … -1", where)
        return None
