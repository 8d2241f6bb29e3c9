"""What both halves of the hybrid allocator work on (contract_paged_swa §1, §6.1).

Declares the state that ``HybridSWAAllocator`` builds, and the two steps that change the mapping. Guarantees that the mapping
is only ever changed in place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from targets.eager.base import BaseAllocator
from targets.eager.paged import PagedAllocator

if TYPE_CHECKING:
    from targets.eager.signals import Signals
    from targets.eager.token import TokenAllocator


class HybridState(BaseAllocator):
    """The two pools, the mapping, the SWA piles and the signals; see ``HybridSWAAllocator``."""

    full_attn_allocator: TokenAllocator | PagedAllocator
    swa_attn_allocator: TokenAllocator | PagedAllocator
    full_to_swa_index_mapping: torch.Tensor
    swa_free_group: list[torch.Tensor]
    swa_page_ids_group: list[torch.Tensor]
    signals: Signals
    _within_page: torch.Tensor

    def expand(self, slots: torch.Tensor) -> torch.Tensor:
        """All slots of the page of each element, in order, duplicates kept: int64 ``[n * page_size]``."""
        first_slots = (slots // self.page_size * self.page_size).unsqueeze(1)
        return (first_slots + self._within_page).view(-1)

    def _map(self, full_slots: torch.Tensor, swa_slots: torch.Tensor) -> None:
        self.full_to_swa_index_mapping[full_slots] = swa_slots.to(torch.int64)

    def _unmap(self, full_slots: torch.Tensor) -> None:
        # A plain 0 would be copied to a GPU, and the copy waited for.
        mapping = self.full_to_swa_index_mapping
        mapping[full_slots] = mapping.new_zeros(())

    def _paged_pools(self) -> tuple[PagedAllocator, PagedAllocator]:
        full, swa = self.full_attn_allocator, self.swa_attn_allocator
        assert isinstance(full, PagedAllocator), (
            "at page size 1 rows grow by alloc, not by extend or decode"
        )
        assert isinstance(swa, PagedAllocator)
        return full, swa
