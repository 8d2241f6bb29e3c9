"""The fused allocator of states (contract_unified §10).

Guarantees one launch for states that come from the band or go back to it in lazy mode, none for one that was taken out in advance, and
that nothing waits for the device unless pages have to move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from targets.eager.unified.ids import take_ids_relieved
from targets.eager.unified.state_slots import StateSlots

if TYPE_CHECKING:
    import torch


class FusedStateSlots(StateSlots):
    """As the base form without a copy: the pages of states are their slots, and the fused bands hand pages out as new tensors."""

    def _take(self, count: int) -> torch.Tensor | None:
        return take_ids_relieved(self.band, count) if count > 0 else self.band.no_pages()
