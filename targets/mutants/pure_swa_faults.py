"""Faults of the allocator for models whose layers all slide. Each class is one fault."""

from __future__ import annotations

import torch

from targets.eager.base import ResizeConfig
from targets.eager.pure_swa import PureSWAAllocator
from targets.mutants.mutant import FaultList

FAULTS = FaultList()


@FAULTS.add("divergence", "hazard")
class PaddingSlotFreed(PureSWAAllocator):
    """Slot 0 is freed with the others."""

    def _release(self, slots: torch.Tensor) -> None:
        self.swa_attn_allocator.free(slots[slots >= 0])


@FAULTS.add("divergence")
class NegativeSlotsFreed(PureSWAAllocator):
    """Negative slots are freed with the others."""

    def _release(self, slots: torch.Tensor) -> None:
        self.swa_attn_allocator.free(slots[slots != 0])


@FAULTS.add("divergence")
class SlidingPileFiltered(PureSWAAllocator):
    """A group keeps the positive slots only, not what it was given."""

    def free_swa(self, free_index: torch.Tensor) -> None:
        """As ours, filtered before the pile."""
        super().free_swa(free_index[free_index > 0])


@FAULTS.add("divergence", "law")
class SlidingClearKeepsGroup(PureSWAAllocator):
    """A group stays open when the allocator is cleared, with what waits in it."""

    def clear(self) -> None:
        """As ours, but for the group."""
        group = self.free_group
        super().clear()
        self.free_group = group


@FAULTS.add("law", "divergence")
class FullOnlyFreeFrees(PureSWAAllocator):
    """What gives up FULL slots alone frees the one pool's slots."""

    def free_full(self, free_index: torch.Tensor) -> None:
        """As ``free_swa``."""
        self.free_swa(free_index)


@FAULTS.add("divergence")
class SlidingFreesDoNotWait(PureSWAAllocator):
    """A ``free_swa`` acts at once in a group."""

    def free_swa(self, free_index: torch.Tensor) -> None:
        """As ours without a group."""
        self._release(free_index)


@FAULTS.add("divergence")
class CapacityUncheckedByFree(PureSWAAllocator):
    """A free does not notice that more slots are free than there are."""

    def free(self, free_index: torch.Tensor) -> None:
        """As ours, without the assertion."""
        self.free_swa(free_index)


@FAULTS.add("divergence")
class CapacityCheckedByFreeSwa(PureSWAAllocator):
    """A ``free_swa`` asserts the capacity, which only ``free`` does."""

    def free_swa(self, free_index: torch.Tensor) -> None:
        """As ours, with the assertion."""
        super().free_swa(free_index)
        self.swa_attn_allocator._assert_within_size()


@FAULTS.add("divergence")
class FullSizeDecidesResize(PureSWAAllocator):
    """The FULL size of a resize decides the capacity."""

    def resize(self, config: ResizeConfig) -> None:
        """As ours, with the other size."""
        super().resize(config)
        self.swa_attn_allocator._set_size(config.full_max_total_num_tokens)
        self.clear()


@FAULTS.add("law", "divergence", stands_for=("aliased-deferred-free",))
class SlidingPileAliased(PureSWAAllocator):
    """A deferred free keeps the caller's tensor, so overwriting it changes which slots are freed."""

    def _own(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor
