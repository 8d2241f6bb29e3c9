"""The allocator of states above their band: it takes states out in advance and hands them out one by one (contract_unified §10,
"State slot wrapper"; contract_paged_swa §8).

Slots come from the state band and go back to it. Checks nothing that the band does not check: no duplicates, no owner.
"""

from __future__ import annotations

from collections.abc import Sequence

from oracle.unified import band_alloc
from oracle.unified.band import Band


class StateWrapper:
    """``prepared``: the virtual states that are left of those taken out in advance, in order; None where nothing was."""

    def __init__(self, band: Band) -> None:
        self._band = band
        self.prepared: list[int] | None = None

    def clear(self) -> None:
        """Nothing is prepared: whoever clears the composite clears the wrapper too (§10)."""
        self.prepared = None

    def alloc(self, count: int) -> list[int] | None:
        """A single state from the prepared ones while there are any, else ``count`` from the band, or None (§10)."""
        if count == 1 and self.prepared:
            state, self.prepared = self.prepared[:1], self.prepared[1:]
            return state
        return band_alloc.alloc(self._band, count)

    def free(self, states: Sequence[int]) -> None:
        """Free virtual states, in a free group too at once (§10)."""
        if states:
            self._band.free(states)

    def begin(self, count: int) -> None:
        """Take ``count`` states out in advance. What an earlier begin has left is forgotten and stays allocated; where none are
        wanted, or the band is short after its ladder, nothing is prepared (§10)."""
        self.prepared = None
        if count > 0:
            self.prepared = band_alloc.alloc(self._band, count)

    def end(self) -> None:
        """What is left of the prepared states goes back in one free, in order; where that raises, they stay prepared (§10)."""
        self.free(self.prepared or [])
        self.prepared = None

    def size_queries(self) -> dict[str, int]:
        """``state_size``: states without the reserved ones, N - m; ``state_available_size``: those of them that are not
        allocated (the leak view); ``state_schedulable_size``: what the band could get; ``state_free_slots``: its physical
        pages behind the watermark (§10)."""
        band = self._band
        size = band.grid.pages - band.grid.first
        return {
            "state_size": size,
            "state_available_size": size - band.live,
            "state_schedulable_size": band.schedulable_pages(),
            "state_free_slots": band.index_room(),
        }
