"""The laws of a further family: those of plain pools over a view of its state, then those of its own (contract_paged_swa §15).

A view shows the same pages as the state, as the plain pools would show them. Guarantees what ``Laws`` guarantees.
"""

from __future__ import annotations

from msgspec import structs

from oracle.geometry import Geometry
from oracle.laws.judgement import Laws
from oracle.laws.made_call import MadeCall
from oracle.laws.violation import Violation
from oracle.observation import Snapshot
from oracle.ownership import Ownership


class FamilyLaws:
    """The laws for one allocator of ``geometry``, from construction on. Each family has its view, and adds laws of its own."""

    def __init__(self, geometry: Geometry) -> None:
        self.geometry = geometry
        self._plain = Laws(geometry)

    def judge_call(self, made: MadeCall[Snapshot], books: Ownership) -> Violation | None:
        """Judge one call right after it was made. ``books`` do not contain its outcome yet."""
        viewed = structs.replace(made, before=self.view(made.before), after=self.view(made.after))
        return self._plain.judge_call(viewed, books)

    def judge_state(self, after: Snapshot, books: Ownership) -> Violation | None:
        """Judge the state after a whole operation, all of whose calls are booked."""
        return self._plain.judge_state(self.view(after), books)

    def view(self, state: Snapshot) -> Snapshot:
        """The state as plain pools would show it."""
        return state
