"""Faults of the allocator of states. Each class is one fault."""

from __future__ import annotations

import torch

from targets.eager.mamba_slots import MambaSlotAllocator
from targets.mutants.mutant import FaultList
from targets.mutants.prepared_states import (
    EarlierKept,
    PassedOver,
    PreparedCounted,
    RestDropped,
    SeveralFromPrepared,
)

FAULTS = FaultList()


@FAULTS.add("law", "divergence")
class RestOfStatesDropped(RestDropped, MambaSlotAllocator):
    """What is left of the states that were taken out in advance does not come back."""


@FAULTS.add("divergence")
class RestOfStatesInFront(MambaSlotAllocator):
    """What is left of the states that were taken out in advance goes to the head of the list."""

    def alloc_group_end(self) -> None:
        """As ours, at the other end."""
        rest, self.prepared = self.prepared, None
        if rest is not None:
            self.free_slots = torch.cat((rest, self.free_slots))


@FAULTS.add("divergence")
class EarlierStatesKept(EarlierKept, MambaSlotAllocator):
    """A second begin goes on with the states that the first one took out."""


@FAULTS.add("divergence", "law")
class ClearKeepsPrepared(MambaSlotAllocator):
    """States that were taken out in advance are handed out after a clear, though the list has them again."""

    def clear(self) -> None:
        """As ours, but for them."""
        prepared = getattr(self, "prepared", None)
        super().clear()
        self.prepared = prepared


@FAULTS.add("divergence")
class SingleStatesPassOverPrepared(PassedOver, MambaSlotAllocator):
    """A single state comes from the list although states were taken out in advance."""


@FAULTS.add("divergence")
class SeveralStatesFromPrepared(SeveralFromPrepared, MambaSlotAllocator):
    """Several states at once come from those that were taken out in advance."""


@FAULTS.add("divergence")
class StatesReleasedInFront(MambaSlotAllocator):
    """Released states go to the head of the list, so that the queue is a stack."""

    def free(self, free_index: torch.Tensor) -> None:
        """As ours, at the other end."""
        self.free_slots = torch.cat((free_index, self.free_slots)).to(torch.int64)


@FAULTS.add("divergence", "law")
class PreparedStatesCounted(PreparedCounted, MambaSlotAllocator):
    """States that were taken out in advance count as available."""


@FAULTS.add("divergence")
class ShortGroupTakesRest(MambaSlotAllocator):
    """A group that does not fit takes out what there is."""

    def alloc_group_begin(self, num_reqs: int) -> None:
        """As ours, for as many as there are."""
        super().alloc_group_begin(min(num_reqs, self.available_size()))


@FAULTS.add("law", "divergence")
class PaddingStateNotReserved(MambaSlotAllocator):
    """State 0 is in the initial list."""

    def clear(self) -> None:
        """As ours, from 0 on."""
        super().clear()
        self.free_slots = self.free_slots - 1
