"""Faults in what the hybrid allocator reports: which invariant, when, at what level, with what count. Each class is one fault."""

from __future__ import annotations

import torch

from targets.eager.hybrid_swa import HybridSWAAllocator
from targets.eager.signals import PEER_MAPPED_INVARIANT, PEER_RELEASED_INVARIANT, Bucket
from targets.mutants.mutant import FaultList

FAULTS = FaultList()


@FAULTS.add("signal", stands_for=("unmapped-representative", "unaligned-tail"))
class PeerMappedSilentAtWarn(HybridSWAAllocator):
    """At level warn an unmapped representative is counted instead of refused."""

    def _expect_mapped(self, peers: torch.Tensor, segment: torch.Tensor) -> None:  # noqa: ARG002
        guard = PEER_MAPPED_INVARIANT._replace(bucket=Bucket.GUARD)
        self.signals.expect(guard, peers > 0, "at the wrong level")


@FAULTS.add("signal", stands_for=("unmapped-representative",))
class PeerMappedUnchecked(HybridSWAAllocator):
    """An unmapped representative is reported at no level."""

    def _expect_mapped(self, peers: torch.Tensor, segment: torch.Tensor) -> None:
        pass


@FAULTS.add("signal")
class PeerMappedUncheckedInGroups(HybridSWAAllocator):
    """An unmapped representative is not reported inside a group."""

    def _expect_mapped(self, peers: torch.Tensor, segment: torch.Tensor) -> None:
        if self.free_group is None:
            super()._expect_mapped(peers, segment)


@FAULTS.add("signal", stands_for=("slot-zero-page-size-1",))
class PeerMappedUncheckedAtPageSizeOne(HybridSWAAllocator):
    """At page size 1 an unmapped slot is not reported."""

    def _expect_mapped(self, peers: torch.Tensor, segment: torch.Tensor) -> None:
        if self.page_size > 1:
            super()._expect_mapped(peers, segment)


@FAULTS.add("signal")
class PeerMappedOfEverySlot(HybridSWAAllocator):
    """Every slot of a segment must have a peer, not only the representatives."""

    def _expect_mapped(self, peers: torch.Tensor, segment: torch.Tensor) -> None:  # noqa: ARG002
        super()._expect_mapped(self.full_to_swa_index_mapping[segment], segment)


@FAULTS.add("divergence")
class PeerMappedCheckedAfterClearing(HybridSWAAllocator):
    """An unmapped representative is reported after the segment was unmapped."""

    def _expect_mapped(self, peers: torch.Tensor, segment: torch.Tensor) -> None:
        mapping = self.full_to_swa_index_mapping
        before = mapping.clone()
        self._unmap_segment(self._representatives(segment))
        super()._expect_mapped(peers, segment)
        mapping.copy_(before)


@FAULTS.add("signal")
class PeerReleasedUnchecked(HybridSWAAllocator):
    """Slots that are freed from the FULL pool alone while they have peers are reported at no level."""

    def _expect_released(self, slots: torch.Tensor) -> None:
        pass


@FAULTS.add("signal")
class PeerReleasedOfRepresentatives(HybridSWAAllocator):
    """Of the slots that are freed from the FULL pool alone only the representatives are looked at."""

    def _expect_released(self, slots: torch.Tensor) -> None:
        super()._expect_released(slots[:: self.page_size])


@FAULTS.add("signal")
class PeerReleasedRaisedAtWarn(HybridSWAAllocator):
    """At level warn a live peer under a FULL-only free is refused instead of counted."""

    def _expect_released(self, slots: torch.Tensor) -> None:
        fatal = PEER_RELEASED_INVARIANT._replace(bucket=Bucket.FATAL_UNCONTAINABLE)
        self.signals.expect(fatal, self.full_to_swa_index_mapping[slots] == 0, "too loud")


@FAULTS.add("signal")
class PeerReleasedCountedByCall(HybridSWAAllocator):
    """A FULL-only free counts once, however many of its slots have peers."""

    def _expect_released(self, slots: torch.Tensor) -> None:
        released = (self.full_to_swa_index_mapping[slots] == 0).all().view(1)
        self.signals.expect(PEER_RELEASED_INVARIANT, released, "any of them")


@FAULTS.add("divergence", "signal")
class PeerReleasedCheckedAfterRelease(HybridSWAAllocator):
    """A FULL-only free that is refused has released its pages already."""

    def free_full(self, free_index: torch.Tensor) -> None:
        """As ours, checking last."""
        self.full_attn_allocator.free(free_index)
        super().free_full(free_index[:0])
        self._expect_released(free_index)
        if free_index.numel():
            self.full_attn_allocator._assert_within_size()


@FAULTS.add("signal")
class PeerReleasedCheckedAtGroupEnd(HybridSWAAllocator):
    """Inside a group live peers under a FULL-only free are looked for when the group ends."""

    _unchecked: tuple[torch.Tensor, ...] = ()

    def _expect_released(self, slots: torch.Tensor) -> None:
        if self.free_group is None:
            super()._expect_released(slots)
        else:
            self._unchecked += (self._own(slots),)

    def free_group_end(self) -> None:
        """Checks what was left, then ends the group."""
        unchecked, self._unchecked = self._unchecked, ()
        for slots in unchecked:
            super()._expect_released(slots)
        super().free_group_end()
