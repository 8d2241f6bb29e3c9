"""The fused unified allocators, and which of them serves which family (contract_unified §1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from targets.eager.unified.full_and_state import FullAndStateAllocator
from targets.eager.unified.relief import relieve
from targets.eager.unified.three_pools import ThreePoolAllocator
from targets.eager.unified.two_pools import TwoPoolAllocator
from targets.fused.unified.launches import Opening
from targets.fused.unified.peered import FusedPeeredPool
from targets.fused.unified.rows import FusedRows
from targets.fused.unified.state_slots import FusedStateSlots

if TYPE_CHECKING:
    from targets.eager.unified.families import MakeUnified


class FusedTwoPoolAllocator(FusedPeeredPool, TwoPoolAllocator):
    """FULL and SWA over one buffer, in either direction, lazy or eager."""


class FusedThreePoolAllocator(FusedPeeredPool, ThreePoolAllocator):
    """FULL, SWA and states over one buffer."""

    state_slots_class = FusedStateSlots


class FusedFullAndStateAllocator(FusedRows, FullAndStateAllocator):
    """A FULL pool that grows down and states that grow up."""

    state_slots_class = FusedStateSlots

    def _opening(self, pages: int, bound: int | None = None) -> Opening | None:  # noqa: ARG002
        full = self.owner
        if pages > full.id_count or not relieve(full, pages * self.page_size):
            return None
        reserved = full.reserve(pages)
        return None if reserved is None else Opening(pages, full, reserved)


FUSED_CLASSES: dict[str, MakeUnified] = {
    "unified-swa": FusedTwoPoolAllocator,
    "unified-mamba-swa": FusedThreePoolAllocator,
    "unified-mamba": FusedFullAndStateAllocator,
}
"""The families that are complete."""
