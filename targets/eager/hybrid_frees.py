"""How the hybrid allocator takes slots back, at once or in a free group (contract_paged_swa §6.3, §6.4, §6.6).

Guarantees that the mapping is read and cleared at the call; in a group only the release waits. Checks before it changes
anything, except for the capacity and duplicate checks, which look at the result.
"""

from __future__ import annotations

import torch

from targets.eager import debug_checks
from targets.eager.hybrid_state import HybridState
from targets.eager.paged import PagedAllocator
from targets.eager.signals import PEER_MAPPED_INVARIANT, PEER_RELEASED_INVARIANT


class HybridFrees(HybridState):
    """The freeing half of ``HybridSWAAllocator``."""

    def free(self, free_index: torch.Tensor) -> None:
        """Give back slots of any pages on both sides, SWA first. At page size 1 each slot must still have its peer."""
        if free_index.numel() == 0:
            return
        self.free_swa(free_index)
        self.free_full(free_index)

    def free_swa(self, free_index: torch.Tensor) -> None:
        """Give back the peers of the whole pages of these slots; those without one are skipped (page size 1: a segment)."""
        if free_index.numel() == 0:
            return
        if self.page_size == 1:
            self.free_swa_segment(free_index, start_pos=0)
            return
        whole_pages = self.expand(free_index)
        peers = self._read_set(free_index, whole_pages)
        self._unmap_set(free_index, whole_pages)
        if self.free_group is not None:
            self._defer_set(peers)
        else:
            self._release_set(peers)

    def free_full(self, free_index: torch.Tensor) -> None:
        """Give back FULL slots whose peers are gone already."""
        if free_index.numel() == 0:
            return
        self._expect_released(free_index)
        self.full_attn_allocator.free(free_index)
        self.full_attn_allocator._assert_within_size()

    def free_swa_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """Give back the peers of a segment's pages, found by the representatives, in row order."""
        if free_index.numel() == 0:
            return
        representatives, swa_pages = self._resolve_segment(free_index, start_pos)
        self._drop_peers(representatives, swa_pages)

    def free_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """Give back a segment on both sides, SWA first."""
        if free_index.numel() == 0:
            return
        representatives, swa_pages = self._resolve_segment(free_index, start_pos)
        if isinstance(self.full_attn_allocator, PagedAllocator):
            self.full_attn_allocator.check_segment(free_index)
        self._drop_peers(representatives, swa_pages)
        self.full_attn_allocator.free_segment(free_index, start_pos=start_pos)

    def free_full_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """Give back the FULL pages of a segment whose peers are gone already."""
        if free_index.numel() == 0:
            return
        self._expect_released(free_index)
        self.full_attn_allocator.free_segment(free_index, start_pos=start_pos)

    def free_group_begin(self) -> None:
        """Let releases wait. When only the FULL side is open still (§6.4), this fails after the SWA piles were emptied."""
        super().free_group_begin()
        self.swa_free_group = []
        self.swa_page_ids_group = []
        self.full_attn_allocator.free_group_begin()

    def free_group_end(self) -> None:
        """Release the SWA piles, then the FULL side's, then check both capacities; also when no group is open (§6.4)."""
        self.free_group = None
        self._flush_swa_piles()
        self.full_attn_allocator.free_group_end()
        self.full_attn_allocator._assert_within_size()
        self.swa_attn_allocator._assert_within_size()

    def _flush_swa_piles(self) -> None:
        self._flush_page_pile()
        self._flush_set_pile()

    def _flush_page_pile(self) -> None:
        if self.swa_page_ids_group:
            pile, self.swa_page_ids_group = self.swa_page_ids_group, []
            self.swa_attn_allocator.free_page_ids(torch.cat(pile))

    def _flush_set_pile(self) -> None:
        if self.swa_free_group:
            pile, self.swa_free_group = self.swa_free_group, []
            self._release_set(torch.cat(pile))

    def _release_set(self, peers: torch.Tensor) -> None:
        self.swa_attn_allocator.free(peers[peers > 0])
        self.swa_attn_allocator._assert_within_size()

    def _defer_set(self, peers: torch.Tensor) -> None:
        self.swa_free_group.append(peers)

    def _read_set(self, slots: torch.Tensor, whole_pages: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        return self.full_to_swa_index_mapping[whole_pages]

    def _unmap_set(self, slots: torch.Tensor, whole_pages: torch.Tensor) -> None:  # noqa: ARG002
        self._unmap(whole_pages)

    def _resolve_segment(
        self, segment: torch.Tensor, start_pos: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The representatives of a segment and their SWA pages; every check of the segment, and no change."""
        self._assert_aligned(start_pos)
        representatives = self._representatives(segment)
        peers = self.full_to_swa_index_mapping[representatives]
        self._expect_mapped(peers, segment)
        swa_pages = peers // self.page_size
        self._check_swa_pages(representatives, swa_pages)
        return representatives, swa_pages

    def _representatives(self, segment: torch.Tensor) -> torch.Tensor:
        return segment[:: self.page_size]

    def _check_swa_pages(self, representatives: torch.Tensor, swa_pages: torch.Tensor) -> None:
        swa = self.swa_attn_allocator
        if isinstance(swa, PagedAllocator) and swa.debug_mode:
            peers = self.full_to_swa_index_mapping[self.expand(representatives)]
            debug_checks.assert_same_pages(
                swa_pages,
                peers[peers > 0] // self.page_size,
                "swa pages do not match the mapped pages",
            )

    def _drop_peers(self, representatives: torch.Tensor, swa_pages: torch.Tensor) -> None:
        self._unmap_segment(representatives)
        if self.free_group is not None:
            self.swa_page_ids_group.append(swa_pages)
        else:
            self._release_pages(swa_pages)

    def _unmap_segment(self, representatives: torch.Tensor) -> None:
        self._unmap(self.expand(representatives))

    def _release_pages(self, swa_pages: torch.Tensor) -> None:
        self.swa_attn_allocator.free_page_ids(swa_pages)
        self.swa_attn_allocator._assert_within_size()

    def _expect_mapped(self, peers: torch.Tensor, segment: torch.Tensor) -> None:
        """``peers`` are those of the representatives of ``segment``."""
        message = f"a segment of {segment.numel()} slots"
        self.signals.expect(PEER_MAPPED_INVARIANT, peers > 0, message)

    def _expect_released(self, slots: torch.Tensor) -> None:
        released = self.full_to_swa_index_mapping[slots] == 0
        self.signals.expect(PEER_RELEASED_INVARIANT, released, "freed from the FULL pool alone")
