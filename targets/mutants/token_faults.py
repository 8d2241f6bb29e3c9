"""Faults of the allocator of single slots. Each class is one fault: what it overrides is what it breaks."""

from __future__ import annotations

import torch

from targets.eager.token import TokenAllocator
from targets.mutants.mutant import FaultList

FAULTS = FaultList()


@FAULTS.add("law", "divergence")
class PaddingSlotNotReserved(TokenAllocator):
    """The padding slot is in the initial free list and is handed out."""

    first_slot = 0


@FAULTS.add("law", "divergence")
class LastSlotNeverUsed(TokenAllocator):
    """The pool's last slot is in no list."""

    def clear(self) -> None:
        """All slots but the last."""
        super().clear()
        self.free_pages = self.free_pages[:-1]


@FAULTS.add("divergence", stands_for=("exact-fit-refused",))
class ExactFitOfSlotsRefused(TokenAllocator):
    """A request for exactly the last free slots is refused."""

    def _short_of(self, slots: int) -> bool:
        return slots > max(self.free_pages.numel() - 1, 0)


@FAULTS.add("divergence")
class SlotsReleasedInFront(TokenAllocator):
    """Released slots go in front of the free list, so that the queue is a stack."""

    def _release(self, slots: torch.Tensor) -> None:
        if self.need_sort:
            super()._release(slots)
        else:
            self.free_pages = torch.cat((slots, self.free_pages))


@FAULTS.add("divergence")
class SlotsReleasedOnce(TokenAllocator):
    """A slot that is given twice in one call is released once."""

    def _release(self, slots: torch.Tensor) -> None:
        super()._release(slots.new_tensor(list(dict.fromkeys(slots.tolist()))))


@FAULTS.add("divergence")
class StagingBypassed(TokenAllocator):
    """Released slots can be handed out at once although the free list is to stay sorted."""

    def _release(self, slots: torch.Tensor) -> None:
        self.free_pages = torch.cat((self.free_pages, slots))


@FAULTS.add("divergence")
class SlotsMergedUnsorted(TokenAllocator):
    """A merge appends what is staged and does not sort."""

    def merge_and_sort_free(self) -> None:
        """Merge without the sort."""
        self.free_pages = self.get_all_free_pages()
        self.release_pages = self.free_pages[:0]


@FAULTS.add("divergence")
class SlotsSortedWithoutMerge(TokenAllocator):
    """The free list is sorted also when nothing is staged."""

    def merge_and_sort_free(self) -> None:
        """Sort in every case."""
        super().merge_and_sort_free()
        self.free_pages = self.free_pages.sort().values


@FAULTS.add("divergence")
class RefusalWithoutMerge(TokenAllocator):
    """A request that is too large even for the staged slots does not merge them."""

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """As ours, but refuses at first sight."""
        return None if need_size > self.available_size() else super().alloc(need_size)


@FAULTS.add("divergence")
class SlotsHandedOutDescending(TokenAllocator):
    """The slots of one request come in reverse order."""

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """As ours, the last one first."""
        slots = super().alloc(need_size)
        return None if slots is None else slots.flip(0)


@FAULTS.add("divergence")
class SlotsHandedOutAsInt32(TokenAllocator):
    """Slots are returned as 32-bit integers."""

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """As ours, half as wide."""
        slots = super().alloc(need_size)
        return None if slots is None else slots.to(torch.int32)


@FAULTS.add("divergence", "law")
class DeferredSlotsCounted(TokenAllocator):
    """Slots that wait for the end of a group count as available."""

    def available_size(self) -> int:
        """Free, staged and waiting slots."""
        waiting = sum(slots.numel() for slots in self.free_group or ())
        return super().available_size() + waiting


@FAULTS.add("law", "divergence", stands_for=("aliased-deferred-free",))
class SlotPileAliased(TokenAllocator):
    """A deferred free keeps the caller's tensor, so overwriting it changes which slots are freed."""

    def _own(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor


@FAULTS.add("divergence", "hazard", stands_for=("group-end-twice",))
class GroupReleasedAgain(TokenAllocator):
    """A second end of the same group releases its frees again."""

    _released: torch.Tensor | None = None

    def free_group_begin(self) -> None:
        """As ours, and forgets the group before."""
        super().free_group_begin()
        self._released = None

    def free_group_end(self) -> None:
        """Releases what is remembered where no group is open."""
        if self.free_group:
            self._released = torch.cat(self.free_group)
        elif self.free_group is None and self._released is not None:
            self.free(self._released)
        super().free_group_end()


@FAULTS.add("divergence", "hazard", stands_for=("nested-group-drops-frees",))
class NestedGroupDropsFrees(TokenAllocator):
    """A begin inside a group is accepted and drops the frees that wait."""

    def free_group_begin(self) -> None:
        """Starts an empty pile in every case."""
        self.free_group = []


@FAULTS.add("divergence")
class ClearKeepsSlotGroup(TokenAllocator):
    """A group stays open when the pool is cleared."""

    def clear(self) -> None:
        """As ours, but for the group."""
        group = getattr(self, "free_group", None)
        super().clear()
        self.free_group = group
