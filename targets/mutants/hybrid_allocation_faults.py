"""Faults in how the hybrid allocator hands out slots and their peers. Each class is one fault."""

from __future__ import annotations

import torch

from targets.eager.hybrid_swa import HybridSWAAllocator
from targets.eager.page_plans import PagePlan
from targets.eager.paged import PagedAllocator
from targets.mutants.mutant import FaultList

FAULTS = FaultList()


@FAULTS.add("law", "divergence")
class ShortSwaLeavesFullAdvanced(HybridSWAAllocator):
    """At page size 1 an alloc that the SWA side refuses has taken its FULL slots already."""

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """As ours, asking the SWA side too late."""
        if self.page_size == 1 and need_size > self.swa_available_size():
            self.full_attn_allocator.alloc(need_size)
        return super().alloc(need_size)


@FAULTS.add("law", "divergence")
class ShortSwaDecodeLeavesFullAdvanced(HybridSWAAllocator):
    """A decode that the SWA side refuses has taken its FULL slots already."""

    def alloc_decode(
        self, seq_lens: torch.Tensor, seq_lens_cpu: torch.Tensor, last_loc: torch.Tensor
    ) -> torch.Tensor | None:
        """As ours, asking the SWA side too late."""
        slots = super().alloc_decode(seq_lens, seq_lens_cpu, last_loc)
        if slots is None:
            self.full_attn_allocator.alloc_decode(seq_lens, seq_lens_cpu, last_loc)
        return slots


@FAULTS.add("divergence")
class SidesTakenOneAfterTheOther(HybridSWAAllocator):
    """The FULL side has decoded when a last slot without a peer is noticed."""

    def alloc_decode(
        self, seq_lens: torch.Tensor, seq_lens_cpu: torch.Tensor, last_loc: torch.Tensor
    ) -> torch.Tensor | None:
        """As ours, reading the peers too late."""
        full, _ = self._paged_pools()
        before = full.free_pages
        try:
            return super().alloc_decode(seq_lens, seq_lens_cpu, last_loc)
        except AssertionError:
            full.free_pages = before[len(full._openers(seq_lens_cpu)) + 1 :]
            raise


@FAULTS.add("divergence", stands_for=("exact-fit-refused",))
class ExtendAdmittedByTokens(HybridSWAAllocator):
    """An extend is refused unless there is room for its slots and one more page for each row."""

    def alloc_extend(
        self,
        prefix_lens: torch.Tensor,
        prefix_lens_cpu: torch.Tensor,
        seq_lens: torch.Tensor,
        seq_lens_cpu: torch.Tensor,
        last_loc: torch.Tensor,
        extend_num_tokens: int,
        num_new_pages: int | None = None,
    ) -> torch.Tensor | None:
        """As ours, after a cautious test."""
        if extend_num_tokens + len(seq_lens) * self.page_size > self.available_size():
            return None
        return super().alloc_extend(
            prefix_lens,
            prefix_lens_cpu,
            seq_lens,
            seq_lens_cpu,
            last_loc,
            extend_num_tokens,
            num_new_pages,
        )


@FAULTS.add("divergence")
class FullExactFitRefused(HybridSWAAllocator):
    """The last FULL pages do not count as available."""

    def new_pages_available(self, num_full_pages: int, num_swa_pages: int) -> bool:
        """As ours, with one FULL page less."""
        return super().new_pages_available(num_full_pages + 1, num_swa_pages)


@FAULTS.add("divergence")
class SwaExactFitRefused(HybridSWAAllocator):
    """The last SWA pages do not count as available."""

    def new_pages_available(self, num_full_pages: int, num_swa_pages: int) -> bool:
        """As ours, with one SWA page less."""
        return super().new_pages_available(num_full_pages, num_swa_pages + 1)


@FAULTS.add("divergence")
class NewPagesIgnoreStaged(HybridSWAAllocator):
    """Staged pages do not count as available."""

    def new_pages_available(self, num_full_pages: int, num_swa_pages: int) -> bool:
        """Looks at the free lists only."""
        return (
            num_full_pages <= self.full_attn_allocator.free_pages.numel()
            and num_swa_pages <= self.swa_attn_allocator.free_pages.numel()
        )


@FAULTS.add("law", "divergence")
class LastPeersMixedUp(HybridSWAAllocator):
    """In a batch each row's peers go on after the peer of the row before it."""

    def _last_peers(
        self, last_loc: torch.Tensor, prefix_lens: torch.Tensor, seq_lens: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        peers, gone = super()._last_peers(last_loc, prefix_lens, seq_lens)
        return peers.roll(1), gone


@FAULTS.add("hazard")
class TombstonedPageContinued(HybridSWAAllocator):
    """A row goes on inside a page whose peers are gone, and its new peers lie in the padding page."""

    def _assert_last_peers(self, gone: torch.Tensor, last_loc: torch.Tensor) -> None:
        pass


@FAULTS.add("law", "divergence")
class TailTakesTheFirstSlots(HybridSWAAllocator):
    """The peers of a tail go to the first slots of the extension."""

    def _map_tail(self, full_slots: torch.Tensor, tail_slots: torch.Tensor) -> None:
        self._map(full_slots[: tail_slots.numel()], tail_slots)


@FAULTS.add("law", "divergence")
class TailIsOneSlotShort(HybridSWAAllocator):
    """The first slot of a tail gets no peer."""

    def _map_tail(self, full_slots: torch.Tensor, tail_slots: torch.Tensor) -> None:
        super()._map_tail(full_slots, tail_slots)
        self._unmap(full_slots[full_slots.numel() - tail_slots.numel() :][:1])


@FAULTS.add("law", "divergence", stands_for=("unaligned-tail",))
class TailStartsInsideAPage(HybridSWAAllocator):
    """A tail that does not fill its last SWA page starts at the second slot of its first one."""

    def _plan_tail(self, swa: PagedAllocator, length: int) -> PagePlan | None:
        plan = super()._plan_tail(swa, length)
        if plan is None or length % self.page_size == 0:
            return plan
        return plan._replace(slots=plan.slots + 1)


@FAULTS.add("divergence", "hazard")
class TailHeadKeepsItsPeers(HybridSWAAllocator):
    """Mapping entries that a breach left on the slots before a tail stay."""

    def _map_tail(self, full_slots: torch.Tensor, tail_slots: torch.Tensor) -> None:
        self._map(full_slots[full_slots.numel() - tail_slots.numel() :], tail_slots)


@FAULTS.add("law", "divergence")
class PeersReversed(HybridSWAAllocator):
    """The slots of one allocation get its peers in reverse order."""

    def _map(self, full_slots: torch.Tensor, swa_slots: torch.Tensor) -> None:
        super()._map(full_slots, swa_slots.flip(0))


@FAULTS.add("law", "divergence")
class PeersKeptInOneByte(HybridSWAAllocator):
    """Peers from 256 on are stored modulo 256."""

    def _map(self, full_slots: torch.Tensor, swa_slots: torch.Tensor) -> None:
        super()._map(full_slots, swa_slots.to(torch.uint8))


@FAULTS.add("law", "divergence")
class OnlyNewPagesMapped(HybridSWAAllocator):
    """A decoded slot that does not open a page gets no peer."""

    def alloc_decode(
        self, seq_lens: torch.Tensor, seq_lens_cpu: torch.Tensor, last_loc: torch.Tensor
    ) -> torch.Tensor | None:
        """As ours, with half of the mapping."""
        slots = super().alloc_decode(seq_lens, seq_lens_cpu, last_loc)
        if slots is not None:
            self._unmap(slots[slots % self.page_size != 0])
        return slots
