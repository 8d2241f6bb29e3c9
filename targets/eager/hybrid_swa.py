"""The hybrid allocator: a FULL pool, an SWA pool, and the mapping from FULL slot to SWA slot (contract_paged_swa §6).

Guarantees that allocation takes from both pools or from neither, that frees read and clear the mapping at the call, also
inside a free group, and that every check that can come before the work does. Has no ring mode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import torch

from targets.eager.base import BaseAllocator, ResizeConfig
from targets.eager.hybrid_allocation import HybridAllocation
from targets.eager.hybrid_frees import HybridFrees
from targets.eager.paged import PagedAllocator
from targets.eager.signals import Signals
from targets.eager.token import TokenAllocator

if TYPE_CHECKING:
    from collections.abc import Callable


class KVPool(Protocol):
    """What the allocator asks of the pool that holds the KV tensors."""

    def register_mapping(self, mapping: torch.Tensor) -> None:
        """Keep the mapping: the same tensor object, changed in place ever after."""


class HybridSWAAllocator(HybridAllocation, HybridFrees):
    """``size`` FULL slots and ``size_swa`` SWA slots in pages of ``page_size``.

    ``full_to_swa_index_mapping`` is int64 ``[size + page_size + 1]``: 0 is unmapped, the last element is the sentinel -1.
    ``swa_free_group`` is the set pile (gathered SWA slots, zeros included), ``swa_page_ids_group`` the page-id pile of the SWA
    side (slots at page size 1); the FULL side defers in its own group. ``signals`` evaluates the invariants.
    """

    token_class: Callable[..., TokenAllocator] = TokenAllocator
    paged_class: Callable[..., PagedAllocator] = PagedAllocator

    def __init__(
        self,
        size: int,
        size_swa: int,
        page_size: int,
        device: str,
        *,
        need_sort: bool = False,
        kvcache: KVPool | None = None,
        signals: Signals | None = None,
    ) -> None:
        BaseAllocator.__init__(self, min(size, size_swa), page_size, device, need_sort=need_sort)
        self.size_full, self.size_swa = size, size_swa
        self.signals = signals if signals is not None else Signals()
        self.full_attn_allocator = self._pool(size)
        self.swa_attn_allocator = self._pool(size_swa)
        self.full_to_swa_index_mapping = self._new_mapping(size + page_size + 1)
        self.full_to_swa_index_mapping[-1] = -1
        self._within_page = torch.arange(page_size, dtype=torch.int64, device=device)
        self.swa_free_group: list[torch.Tensor] = []
        self.swa_page_ids_group: list[torch.Tensor] = []
        if kvcache is not None:
            kvcache.register_mapping(self.full_to_swa_index_mapping)

    def clear(self) -> None:
        """Both pools free, nothing mapped, deferred or open. A sentinel that a caller overwrote is not repaired (§1)."""
        self.swa_attn_allocator.clear()
        self.full_attn_allocator.clear()
        self.full_to_swa_index_mapping[:-1] = 0
        self.free_group = None
        self.swa_free_group = []
        self.swa_page_ids_group = []

    def resize(self, config: ResizeConfig) -> None:
        """Take both new sizes and clear. Raises ValueError, nothing changed, when the mapping has no entry for a new FULL slot."""
        size, size_swa = config.full_max_total_num_tokens, config.swa_max_total_num_tokens
        entries = self.full_to_swa_index_mapping.numel() - self.page_size - 1
        if size > entries:
            raise ValueError(
                f"the FULL pool cannot grow to {size} slots: its mapping has entries for {entries}"
            )
        self.full_attn_allocator._set_size(size)
        self.swa_attn_allocator._set_size(size_swa)
        self.size_full, self.size_swa = size, size_swa
        self.size = min(size, size_swa)
        self.clear()

    def available_size(self) -> int:
        """Slots that both sides can hand out."""
        return min(self.full_available_size(), self.swa_available_size())

    def full_available_size(self) -> int:
        """Slots of the FULL side that can be handed out."""
        return self.full_attn_allocator.available_size()

    def swa_available_size(self) -> int:
        """Slots of the SWA side that can be handed out."""
        return self.swa_attn_allocator.available_size()

    def set_full_to_swa_mapping(
        self, full_indices: torch.Tensor, swa_indices: torch.Tensor
    ) -> None:
        """Map FULL slots to SWA slots, whatever they were mapped to. Raises AssertionError on unequal lengths (§6.1)."""
        if full_indices.numel() == 0:
            return
        assert full_indices.numel() == swa_indices.numel(), (
            f"{full_indices.numel()} FULL slots cannot be mapped to {swa_indices.numel()} SWA slots"
        )
        self._map(full_indices, swa_indices)

    def clear_full_to_swa_mapping(self, full_indices: torch.Tensor) -> None:
        """Unmap exactly these FULL slots."""
        self._unmap(full_indices)

    def translate_loc_from_full_to_swa(self, full_indices: torch.Tensor) -> torch.Tensor:
        """The peers of FULL slots, int64, a copy: 0 where unmapped, -1 for -1."""
        return self.full_to_swa_index_mapping[full_indices]

    def _new_mapping(self, entries: int) -> torch.Tensor:
        return torch.zeros(entries, dtype=torch.int64, device=self.device)

    def _pool(self, size: int) -> TokenAllocator | PagedAllocator:
        if self.page_size == 1:
            return self.token_class(size, self.device, need_sort=self.need_sort)
        return self.paged_class(size, self.page_size, self.device, need_sort=self.need_sort)
