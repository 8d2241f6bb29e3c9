"""Faults in the set-shaped frees of the hybrid allocator (``free``, ``free_swa``, ``free_full``). Each class is one fault."""

from __future__ import annotations

import torch

from targets.eager.hybrid_swa import HybridSWAAllocator
from targets.mutants.mutant import FaultList

FAULTS = FaultList()


@FAULTS.add("law", "divergence", stands_for=("partial-free-stale-map",))
class MappingClearedForNamedSlotsOnly(HybridSWAAllocator):
    """``free_swa`` releases the whole SWA page but leaves the page's other slots mapped to it."""

    def _unmap_set(self, slots: torch.Tensor, whole_pages: torch.Tensor) -> None:  # noqa: ARG002
        self._unmap(slots)


@FAULTS.add("divergence")
class NamedSlotsReadOnly(HybridSWAAllocator):
    """``free_swa`` unmaps whole pages but reads the peers of the named slots only."""

    def _read_set(self, slots: torch.Tensor, whole_pages: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        return self.full_to_swa_index_mapping[slots]


@FAULTS.add("law", "divergence", stands_for=("unmapped-representative",))
class UnmappedSlotsReleased(HybridSWAAllocator):
    """``free_swa`` releases the padding page for a slot without a peer."""

    def _release_set(self, peers: torch.Tensor) -> None:
        self.swa_attn_allocator.free(peers)
        self.swa_attn_allocator._assert_within_size()


@FAULTS.add("divergence")
class SetPileWithoutZeros(HybridSWAAllocator):
    """The set pile holds only the slots that have a peer."""

    def _defer_set(self, peers: torch.Tensor) -> None:
        super()._defer_set(peers[peers > 0])


@FAULTS.add("divergence")
class GroupedSetReleasedAtOnce(HybridSWAAllocator):
    """``free_swa`` acts at once inside a group."""

    def _defer_set(self, peers: torch.Tensor) -> None:
        self._release_set(peers)


@FAULTS.add("divergence", "hazard")
class SetCapacityUnchecked(HybridSWAAllocator):
    """``free_swa`` does not notice that more is free than there is."""

    def _release_set(self, peers: torch.Tensor) -> None:
        self.swa_attn_allocator.free(peers[peers > 0])


@FAULTS.add("divergence", "hazard")
class FullCapacityUnchecked(HybridSWAAllocator):
    """``free_full`` does not notice that more is free than there is."""

    def free_full(self, free_index: torch.Tensor) -> None:
        """As ours, without the last check."""
        self._expect_released(free_index)
        self.full_attn_allocator.free(free_index)


@FAULTS.add("signal", "divergence", stands_for=("slot-zero-page-size-1",))
class UnmappedSlotsSkippedAtPageSizeOne(HybridSWAAllocator):
    """At page size 1 a slot without a peer is skipped silently instead of reported."""

    def free_swa(self, free_index: torch.Tensor) -> None:
        """As ours, for mapped slots."""
        if self.page_size == 1:
            free_index = free_index[self.full_to_swa_index_mapping[free_index] > 0]
        super().free_swa(free_index)


@FAULTS.add("law", "divergence", "signal", stands_for=("group-resolves-late-free-swa",))
class MappingReadAtGroupEnd(HybridSWAAllocator):
    """A grouped ``free_swa`` reads the mapping when the group ends, so peers given in between are released."""

    _late: tuple[torch.Tensor, ...] = ()

    def clear(self) -> None:
        """As ours, and forgets what was left for the group end."""
        super().clear()
        self._late = ()

    def free_swa(self, free_index: torch.Tensor) -> None:
        """In a group: remembers the slots and leaves the mapping as it is."""
        if self.free_group is None or self.page_size == 1:
            super().free_swa(free_index)
        else:
            self._late += (self._own(free_index),)

    def free_group_end(self) -> None:
        """Reads and clears the mapping of the remembered slots, then ends the group."""
        late, self._late = self._late, ()
        for slots in late:
            super().free_swa(slots)
        super().free_group_end()


@FAULTS.add("divergence", "hazard", stands_for=("group-resolves-late-free",))
class FreeResolvedAtGroupEnd(HybridSWAAllocator):
    """A grouped free of both sides waits as a whole, and the group's end releases whatever is mapped then."""

    def free(self, free_index: torch.Tensor) -> None:
        """In a group: puts the slots on the pile of both sides."""
        if self.free_group is None or free_index.numel() == 0:
            super().free(free_index)
        else:
            self.free_group.append(self._own(free_index))

    def free_group_end(self) -> None:
        """Ends the group as the base class does, after the piles of each side."""
        pile = self.free_group
        super().free_group_end()
        if pile:
            self.free(torch.cat(pile))
