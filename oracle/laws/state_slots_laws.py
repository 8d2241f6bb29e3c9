"""The laws of the allocator of states: a prepared state is as good as a free one (contract_paged_swa §8).

So it is nobody's, it is not free besides, it is handed out to no one twice, and none is lost: also not the ones that a begin
took out when another begin follows.
"""

from __future__ import annotations

from msgspec import structs

from oracle.laws.family_laws import FamilyLaws
from oracle.observation import Snapshot


class StateSlotsLaws(FamilyLaws):
    """The laws of a pool of slots, the prepared ones counted as free."""

    def view(self, state: Snapshot) -> Snapshot:
        """The prepared states behind the free ones."""
        prepared = state.prepared or []
        available = state.queries.get("available_size", 0) + len(prepared)
        full = structs.replace(
            state.full,
            free=state.full.free + prepared,
            available=state.full.available + len(prepared),
        )
        return structs.replace(
            state, full=full, queries={**state.queries, "available_size": available}
        )
