"""Faults of the allocator with a device below a larger logical pool. Each class is one fault."""

from __future__ import annotations

import torch

from targets.eager.base import BaseAllocator
from targets.eager.hisparse import HiSparseAllocator
from targets.mutants.mutant import FaultList

FAULTS = FaultList()


@FAULTS.add("law", "divergence")
class DevicePageKept(HiSparseAllocator):
    """A free gives the logical pages back and keeps their device pages."""

    def free(self, free_index: torch.Tensor) -> None:
        """The logical side only."""
        if free_index.numel():
            self.logical_attn_allocator.free(free_index)


@FAULTS.add("divergence", "law")
class EntryLeftOnFreedPage(HiSparseAllocator):
    """A device page that goes back whole leaves the entries of the slots that were not named."""

    def _free_places_of(self, slots: torch.Tensor) -> None:
        places = self.full_to_hisparse_device_index_mapping[slots]
        self.free_hisparse_indices(places[places > 0])
        self._forget(slots[places > 0])


@FAULTS.add("law", "divergence")
class EntriesLeftOnFreedPages(HiSparseAllocator):
    """Freed slots keep their entries, which point at device pages that are free."""

    def _forget_pages(self, pages: torch.Tensor) -> None:
        pass


@FAULTS.add("law", "divergence")
class RefusedSlotsLost(HiSparseAllocator):
    """Logical slots do not come back when the device is short."""

    def _undo(self, slots: torch.Tensor) -> None:
        pass


@FAULTS.add("divergence", "hazard")
class PaddingPlaceFreed(HiSparseAllocator):
    """Places in the padding page of the device are freed, and so page 0 is."""

    def _places(self, places: torch.Tensor) -> torch.Tensor:
        return places


@FAULTS.add("divergence")
class TierFreesWait(HiSparseAllocator):
    """A group makes frees wait."""

    def free(self, free_index: torch.Tensor) -> None:
        """As ours, deferred in a group."""
        if self.free_group is not None and free_index.numel():
            self.free_group.append(self._own(free_index))
        else:
            super().free(free_index)

    def free_group_begin(self) -> None:
        """Opens one."""
        self.free_group = []

    def free_group_end(self) -> None:
        """Releases what waited."""
        BaseAllocator.free_group_end(self)


@FAULTS.add("divergence")
class BufferNotFilledUp(HiSparseAllocator):
    """A buffer leaves the rest of its last page unused."""

    def _rest_of_last_page(self, places: torch.Tensor) -> torch.Tensor:
        return places[:0]


@FAULTS.add("law", "divergence")
class BufferSurplusLost(HiSparseAllocator):
    """Places that a buffer does not need do not go back to the device."""

    def _cut(self, places: torch.Tensor, need_size: int) -> torch.Tensor:
        return places[:need_size]


@FAULTS.add("divergence", "law")
class BufferSharesPlaces(HiSparseAllocator):
    """The slots whose places become a buffer keep them too."""

    def _forget(self, slots: torch.Tensor) -> None:
        pass


@FAULTS.add("law", "divergence")
class PaddingPageContinued(HiSparseAllocator):
    """A row whose last slot has no place goes on in the padding page of the device."""

    def _last_places(
        self,
        last_slots: torch.Tensor,
        prefix_lens: torch.Tensor,  # noqa: ARG002
        seq_lens: torch.Tensor,  # noqa: ARG002
    ) -> torch.Tensor:
        return self.full_to_hisparse_device_index_mapping[last_slots]


@FAULTS.add("divergence")
class ReserveForgetsHeldSlot(HiSparseAllocator):
    """A request that holds its slot reserves scratch pages again."""

    def request_slot_reserve(self, *, has_req_pool_slot: bool, prefill_tokens: int = 0) -> int:  # noqa: ARG002
        """As for a request that holds none."""
        return super().request_slot_reserve(has_req_pool_slot=False, prefill_tokens=prefill_tokens)


@FAULTS.add("divergence")
class ScratchPartsAccepted(HiSparseAllocator):
    """Scratch that is no whole pages is rounded down instead of refused."""

    def configure_spec_scratch(self, capacity: int, *, device_buffer_size: int = 0) -> None:
        """As ours, for whole pages."""
        size = self.page_size
        super().configure_spec_scratch(
            max(capacity, 0) // size * size,
            device_buffer_size=max(device_buffer_size, 0) // size * size,
        )


@FAULTS.add("divergence")
class DeviceNotCounted(HiSparseAllocator):
    """``available_size`` does not look at the device."""

    def available_size(self) -> int:
        """The logical pool's."""
        return self.logical_attn_allocator.available_size()
