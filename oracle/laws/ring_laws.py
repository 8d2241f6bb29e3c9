"""The laws of the hybrid allocator in ring mode: its SWA pool lies idle, and what is left there is a matter of free request
slots (contract_paged_swa §6, §15.4).
"""

from __future__ import annotations

from msgspec import structs

from oracle.geometry import Geometry
from oracle.laws.family_laws import FamilyLaws
from oracle.laws.violation import RING_ACCOUNTING, Violation
from oracle.observation import Snapshot
from oracle.ownership import Ownership


class RingLaws(FamilyLaws):
    """The laws of a hybrid allocator in which nothing ever has a peer."""

    def __init__(self, geometry: Geometry) -> None:
        super().__init__(geometry)
        sizes = geometry.family_sizes
        size = geometry.page_size
        self._request_slots = sizes.request_slots
        self._cost = (sizes.ring + size - 1) // size * size

    def judge_state(self, after: Snapshot, books: Ownership) -> Violation | None:
        """Judge the state, and what the size queries say of the ring."""
        return super().judge_state(after, books) or self._judge_queries(after)

    def view(self, state: Snapshot) -> Snapshot:
        """The state without the queries that count request slots."""
        queries = {"full_available_size": state.queries.get("full_available_size", 0)}
        return structs.replace(state, queries=queries)

    def _judge_queries(self, after: Snapshot) -> Violation | None:
        free = after.queries.get("free_request_slots", 0)
        available = after.full.available
        expected = {
            "swa_available_size": free * self._cost,
            "size_swa": self._request_slots * self._cost,
            "full_available_size": available,
            "available_size": available,
        }
        for query, value in expected.items():
            if after.queries.get(query) != value:
                return Violation(
                    law=RING_ACCOUNTING,
                    pool="",
                    expected=f"{query} {value}: {free} of {self._request_slots} request slots are "
                    f"free, at {self._cost} slots each, and {available} FULL slots",
                    got=f"{query} {after.queries.get(query)}",
                )
        return None
