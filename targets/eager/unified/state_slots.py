"""The allocator of states above their band: virtual states, some of them taken out in advance (contract_unified §10, contract_paged_swa §8).

Guarantees that a state that was taken out in advance is allocated on the band, and that none is cleared when it is handed out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from targets.eager.prepared_states import PreparedStates
from targets.eager.unified import ids

if TYPE_CHECKING:
    from targets.eager.unified.end_band import EndBand


class StateSlots(PreparedStates):
    """The states of ``band``, whose pages they are."""

    def __init__(self, band: EndBand) -> None:
        self.band = band

    def clear(self) -> None:
        """Forget what was taken out in advance; the band is its owner's to clear."""
        self.prepared = None

    @property
    def size(self) -> int:
        """States that the grid can ever give out."""
        return self.band.page_room

    @property
    def free_slots(self) -> int:
        """Physical pages that the band, which grows up, has not reached yet."""
        return self.band.pages - self.band.watermark

    def available_size(self) -> int:
        """States that nobody holds, whether or not there are bytes for them; those taken out in advance are held."""
        return self.size - self.band.live

    def schedulable_size(self) -> int:
        """States for which there are bytes."""
        return self.band.schedulable_available_size()

    def free(self, states: torch.Tensor) -> None:
        """Free states (any integer dtype, 1-D) on the band."""
        self.band.free(states)

    def translate(self, states: torch.Tensor) -> torch.Tensor:
        """Physical pages int64; a state is never negative or past the table, so it is looked up as it is."""
        return self.band.table.v2p[states.to(torch.int64)]

    def _take(self, count: int) -> torch.Tensor | None:
        return ids.alloc(self.band, count)

    def _give_back(self, states: torch.Tensor) -> None:
        self.band.free(states)
