"""Faults of the hybrid allocator. Each class is one fault: what it overrides is what it breaks."""

from __future__ import annotations

import torch

from targets.eager.hybrid_swa import HybridSWAAllocator


class FlushOrderSwapped(HybridSWAAllocator):
    """Ends a group with the set pile before the page-id pile."""

    def _flush_swa_piles(self) -> None:
        self._flush_set_pile()
        self._flush_page_pile()


class MappingClearedForNamedSlotsOnly(HybridSWAAllocator):
    """Releases whole SWA pages but unmaps only the slots that were named."""

    def _unmap_set(self, slots: torch.Tensor, whole_pages: torch.Tensor) -> None:  # noqa: ARG002
        self._unmap(slots)


class MappingReadAtGroupEnd(HybridSWAAllocator):
    """Leaves the peers of a grouped ``free_swa`` mapped until the group ends, and releases whatever is mapped then."""

    _late: tuple[torch.Tensor, ...] = ()

    def clear(self) -> None:
        """As our hybrid allocator, and forgets what was left for the group end."""
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


class PeerPagesSwapped(HybridSWAAllocator):
    """Gives a page that gets new peers the peers of an older page instead, and the older page the new ones.

    Both pages are wholly mapped, so all counts and the one-to-one mapping stay right: only the KV that a request reads is
    another's.
    """

    def _map(self, full_slots: torch.Tensor, swa_slots: torch.Tensor) -> None:
        mapping = self.full_to_swa_index_mapping
        older = self._wholly_mapped_pages()
        super()._map(full_slots, swa_slots)
        assigned = set((full_slots // self.page_size).tolist())
        newer = [page for page in self._wholly_mapped_pages() if page in assigned]
        older = [page for page in older if page not in assigned]
        if newer and older:
            new, old = self._slots(newer[0]), self._slots(older[0])
            mapping[new], mapping[old] = mapping[old].clone(), mapping[new].clone()

    def _wholly_mapped_pages(self) -> list[int]:
        pages = self.size_full // self.page_size + 1
        mapped = self.full_to_swa_index_mapping[: pages * self.page_size] > 0
        by_page = mapped.view(pages, self.page_size).all(dim=1)
        return [int(page) for page in by_page.nonzero().view(-1)]

    def _slots(self, page: int) -> slice:
        return slice(page * self.page_size, (page + 1) * self.page_size)
