"""Faults that leave every count and the one-to-one mapping right: only what a request reads is another's KV.

Each class is one fault. Of the laws the content law alone sees it, except for the exchange inside a page, which gives two
slots another place in their page as well.
"""

from __future__ import annotations

import torch

from targets.eager.hybrid_swa import HybridSWAAllocator
from targets.mutants.mutant import FaultList

FAULTS = FaultList()


class _Trading(HybridSWAAllocator):
    """Knows which pages are wholly mapped and can let two of them trade their peers."""

    def _trade_peers(self) -> None:
        pages = self._wholly_mapped_pages()
        if len(pages) > 1:
            mapping = self.full_to_swa_index_mapping
            first, last = self._slots(pages[0]), self._slots(pages[-1])
            mapping[first], mapping[last] = mapping[last].clone(), mapping[first].clone()

    def _wholly_mapped_pages(self) -> list[int]:
        pages = self.size_full // self.page_size + 1
        mapped = self.full_to_swa_index_mapping[: pages * self.page_size] > 0
        by_page = mapped.view(pages, self.page_size).all(dim=1)
        return [int(page) for page in by_page.nonzero().view(-1)]

    def _slots(self, page: int) -> slice:
        return slice(page * self.page_size, (page + 1) * self.page_size)


@FAULTS.add("law", "divergence")
class PeerPagesSwapped(_Trading):
    """After a segment free the first and the last mapped page trade their peers, and two requests read each other's KV."""

    def _drop_peers(self, representatives: torch.Tensor, swa_pages: torch.Tensor) -> None:
        super()._drop_peers(representatives, swa_pages)
        self._trade_peers()


@FAULTS.add("law", "divergence")
class RecoveredPeersTraded(_Trading):
    """After a recovery the first and the last mapped page trade their peers, so that a row reads peers from before."""

    def set_full_to_swa_mapping(
        self, full_indices: torch.Tensor, swa_indices: torch.Tensor
    ) -> None:
        """As ours, then the trade."""
        super().set_full_to_swa_mapping(full_indices, swa_indices)
        self._trade_peers()


@FAULTS.add("law", "divergence")
class PeersTradedAtGroupEnd(_Trading):
    """After a group the first and the last mapped page trade their peers, and two requests read each other's KV."""

    def free_group_end(self) -> None:
        """As ours, then the trade."""
        super().free_group_end()
        self._trade_peers()


@FAULTS.add("law", "divergence")
class SlotsExchangedInsideAPage(_Trading):
    """After a group the first two slots of the first mapped page trade their peers."""

    def free_group_end(self) -> None:
        """As ours, then the trade."""
        super().free_group_end()
        pages = self._wholly_mapped_pages()
        if pages and self.page_size > 1:
            first = self._slots(pages[0])
            peers = self.full_to_swa_index_mapping[first]
            peers[:2] = peers[:2].flip(0)
