"""Faults in the hybrid allocator's clear, resize, mapping primitives and size queries. Each class is one fault."""

from __future__ import annotations

import torch

from targets.eager.base import ResizeConfig
from targets.eager.hybrid_swa import HybridSWAAllocator
from targets.mutants.mutant import FaultList

FAULTS = FaultList()


@FAULTS.add("law", "divergence")
class ClearKeepsMapping(HybridSWAAllocator):
    """Slots stay mapped when the allocator is cleared."""

    def clear(self) -> None:
        """As ours, but for the mapping."""
        before = self.full_to_swa_index_mapping.clone()
        super().clear()
        self.full_to_swa_index_mapping.copy_(before)


@FAULTS.add("divergence")
class ClearKeepsSwaPiles(HybridSWAAllocator):
    """What waits on the SWA side stays there when the allocator is cleared."""

    def clear(self) -> None:
        """As ours, but for the SWA piles."""
        piles = self.swa_free_group, self.swa_page_ids_group
        super().clear()
        self.swa_free_group, self.swa_page_ids_group = piles


@FAULTS.add("law", "divergence")
class ClearForgetsSwaPool(HybridSWAAllocator):
    """The SWA pool's pages do not come back when the allocator is cleared."""

    def clear(self) -> None:
        """As ours, but for the SWA pool."""
        swa = self.swa_attn_allocator
        free_pages = swa.free_pages
        super().clear()
        swa.free_pages = free_pages


@FAULTS.add("divergence", "law")
class ClearKeepsGroup(HybridSWAAllocator):
    """A group stays open on the outside when the allocator is cleared."""

    def clear(self) -> None:
        """As ours, but for the group."""
        group = self.free_group
        super().clear()
        self.free_group = group


@FAULTS.add("divergence", "law")
class ClearWipesSentinel(HybridSWAAllocator):
    """The sentinel of the mapping is zeroed when the allocator is cleared."""

    def clear(self) -> None:
        """As ours, one element too far."""
        super().clear()
        self.full_to_swa_index_mapping[:] = 0


@FAULTS.add("divergence", "law")
class ResizeForgetsSwaPool(HybridSWAAllocator):
    """A resize changes the FULL pool only."""

    def resize(self, config: ResizeConfig) -> None:
        """As ours, but for the SWA pool."""
        swa = self.swa_attn_allocator
        size = swa.size
        super().resize(config)
        swa._set_size(size)
        swa.clear()


@FAULTS.add("divergence")
class ResizeForgetsOwnSizes(HybridSWAAllocator):
    """A resize changes the pools and not the sizes that the allocator itself shows."""

    def resize(self, config: ResizeConfig) -> None:
        """As ours, but for three attributes."""
        sizes = self.size, self.size_full, self.size_swa
        super().resize(config)
        self.size, self.size_full, self.size_swa = sizes


@FAULTS.add("divergence", "law")
class TranslateWithoutSentinel(HybridSWAAllocator):
    """Looking up slot -1 gives 0."""

    def translate_loc_from_full_to_swa(self, full_indices: torch.Tensor) -> torch.Tensor:
        """As ours, for slots from 0 on."""
        return super().translate_loc_from_full_to_swa(full_indices.clamp(min=0))


@FAULTS.add("divergence", "hazard")
class MappedSlotsNotMappedAgain(HybridSWAAllocator):
    """New peers for a slot that still has one are dropped."""

    def set_full_to_swa_mapping(
        self, full_indices: torch.Tensor, swa_indices: torch.Tensor
    ) -> None:
        """As ours, for unmapped slots."""
        if full_indices.numel() == swa_indices.numel():
            unmapped = self.full_to_swa_index_mapping[full_indices] == 0
            full_indices, swa_indices = full_indices[unmapped], swa_indices[unmapped]
        super().set_full_to_swa_mapping(full_indices, swa_indices)


@FAULTS.add("divergence")
class UnevenMappingAccepted(HybridSWAAllocator):
    """Mapping more slots than peers maps as many as there are."""

    def set_full_to_swa_mapping(
        self, full_indices: torch.Tensor, swa_indices: torch.Tensor
    ) -> None:
        """As ours, for the common length."""
        length = min(full_indices.numel(), swa_indices.numel())
        super().set_full_to_swa_mapping(full_indices[:length], swa_indices[:length])


@FAULTS.add("divergence")
class WholePagesUnmapped(HybridSWAAllocator):
    """Clearing the mapping of a slot clears its whole page."""

    def clear_full_to_swa_mapping(self, full_indices: torch.Tensor) -> None:
        """As ours, for whole pages."""
        super().clear_full_to_swa_mapping(self.expand(full_indices))


@FAULTS.add("divergence", "law")
class AvailableOnFullSideOnly(HybridSWAAllocator):
    """``available_size`` does not look at the SWA side."""

    def available_size(self) -> int:
        """The FULL side's."""
        return self.full_available_size()
