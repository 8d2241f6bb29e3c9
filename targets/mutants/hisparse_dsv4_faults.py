"""Faults of the allocator with a compressed device pool below a hybrid one. Each class is one fault."""

from __future__ import annotations

import torch

from oracle.family_sizes import COMPRESSION
from targets.eager.hisparse_dsv4 import DeepSeekV4HiSparseAllocator
from targets.mutants.mutant import FaultList

FAULTS = FaultList()


@FAULTS.add("divergence")
class FirstOfFourCompressed(DeepSeekV4HiSparseAllocator):
    """The first of four FULL slots carries their place, not the last one."""

    def compressed(self, full_slots: torch.Tensor) -> torch.Tensor:
        """Those of the first ones."""
        return full_slots[full_slots % COMPRESSION == 0] // COMPRESSION

    def _remember(self, slots: torch.Tensor, places: torch.Tensor) -> None:
        # A part of four has a first slot and no last one, so there may be an entry too many.
        super()._remember(slots[: places.numel()], places)


@FAULTS.add("law", "divergence")
class CompressedPageKept(DeepSeekV4HiSparseAllocator):
    """A free gives the logical pages back and keeps their places."""

    def free(self, free_index: torch.Tensor) -> None:
        """As ours, without the device."""
        if self.free_group is not None or free_index.numel() == 0:
            super().free(free_index)
        else:
            self.logical_attn_allocator.free(free_index)


@FAULTS.add("law", "divergence")
class CompressedEntriesLeft(DeepSeekV4HiSparseAllocator):
    """Freed slots keep their entries, which point at device pages that are free."""

    def _forget_pages(self, pages: torch.Tensor) -> None:
        pass


@FAULTS.add("divergence", "hazard")
class CompressedPaddingFreed(DeepSeekV4HiSparseAllocator):
    """Places in the padding page of the device are freed, and so page 0 is."""

    def _places(self, places: torch.Tensor) -> torch.Tensor:
        return places


@FAULTS.add("divergence")
class LogicalGroupOpened(DeepSeekV4HiSparseAllocator):
    """A group is opened on the logical allocator too, so that SWA frees wait."""

    def free_group_begin(self) -> None:
        """As ours, on both."""
        super().free_group_begin()
        self.logical_attn_allocator.free_group_begin()

    def free_group_end(self) -> None:
        """As ours, on both."""
        self.logical_attn_allocator.free_group_end()
        super().free_group_end()


@FAULTS.add("law", "divergence")
class FullOnlyPileLost(DeepSeekV4HiSparseAllocator):
    """What waits on the FULL-only pile is lost at the end of its group."""

    def free_group_end(self) -> None:
        """As ours, without that pile."""
        self.full_free_group = []
        super().free_group_end()


@FAULTS.add("divergence")
class FullOnlyFreesDoNotWait(DeepSeekV4HiSparseAllocator):
    """A FULL-only free acts at once in a group."""

    def free_full(self, free_index: torch.Tensor) -> None:
        """As ours without a group."""
        if free_index.numel():
            self.logical_attn_allocator.free_full(free_index)


@FAULTS.add("divergence")
class NewestPlaceNotMoved(DeepSeekV4HiSparseAllocator):
    """A buffer keeps its places in the order of their slots, so that the newest one may be cut off."""

    def _arrange(self, places: torch.Tensor, need_size: int) -> torch.Tensor:  # noqa: ARG002
        return places


@FAULTS.add("divergence", "law")
class KeptPageFreed(DeepSeekV4HiSparseAllocator):
    """A page that a kept place of a buffer lies on goes back with the places that are too many."""

    def _cut(self, places: torch.Tensor, need_size: int) -> torch.Tensor:
        places = self._arrange(places, need_size)
        self.free_hisparse_indices(places[need_size:])
        return places[:need_size]


@FAULTS.add("divergence")
class PlacesCountedAsSlots(DeepSeekV4HiSparseAllocator):
    """A place on the device is counted as one FULL slot, not as four."""

    def _device_available(self) -> int:
        return self.hisparse_attn_allocator.available_size()


@FAULTS.add("divergence", "law")
class PlaceAfterOpenFour(DeepSeekV4HiSparseAllocator):
    """A row goes on after the entry of its last slot, also where that one's four are not full."""

    def get_last_loc_compressed(self, last_locs: torch.Tensor) -> torch.Tensor:
        """The entry of the slot itself."""
        return torch.div(last_locs, COMPRESSION, rounding_mode="floor")


@FAULTS.add("divergence")
class GroupedFreeUnmappedAtCall(DeepSeekV4HiSparseAllocator):
    """A grouped free gives its peers up at the call and not when the group ends."""

    def free(self, free_index: torch.Tensor) -> None:
        """As ours, the SWA side at once."""
        if self.free_group is not None and free_index.numel():
            self.logical_attn_allocator.free_swa(free_index)
        super().free(free_index)
