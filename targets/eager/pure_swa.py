"""The allocator of a model whose layers all have a sliding window: one pool of single slots, shown as both sides
(contract_paged_swa §6.8).

Guarantees that a slot is its own peer. Holds no FULL side: what gives up FULL slots alone does nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import torch

from targets.eager.base import BaseAllocator, ResizeConfig
from targets.eager.token import TokenAllocator

if TYPE_CHECKING:
    from targets.eager.hybrid_swa import KVPool


class PureSWAAllocator(BaseAllocator):
    """``size_swa`` slots of page size 1. ``swa_attn_allocator`` is the pool; ``full_to_swa_index_mapping`` (int64
    ``[size_swa + 2]``) maps each slot to itself, and its last element is the sentinel -1.
    """

    def __init__(
        self,
        size_swa: int,
        page_size: int,
        device: str,
        *,
        need_sort: bool = False,
        kvcache: KVPool | None = None,
    ) -> None:
        assert page_size == 1, f"all layers sliding is for page size 1, not {page_size}"
        super().__init__(size_swa, page_size, device, need_sort=need_sort)
        self.size_full = self.size_swa = size_swa
        self.swa_attn_allocator = TokenAllocator(size_swa, device, need_sort=need_sort)
        self.full_to_swa_index_mapping = torch.arange(size_swa + 2, device=device)
        self.full_to_swa_index_mapping[-1] = -1
        if kvcache is not None:
            kvcache.register_mapping(self.full_to_swa_index_mapping)

    def clear(self) -> None:
        """Every slot is free; nothing pending, no group."""
        self.swa_attn_allocator.clear()
        self.free_group = None

    def resize(self, config: ResizeConfig) -> None:
        """Take the SWA size as capacity and clear. Raises ValueError, nothing changed, when a new slot has no mapping."""
        size, size_swa = config.full_max_total_num_tokens, config.swa_max_total_num_tokens
        entries = self.full_to_swa_index_mapping.numel() - 2
        if size_swa > entries:
            raise ValueError(
                f"the pool cannot grow to {size_swa} slots: its mapping has entries for {entries}"
            )
        self.size_full, self.size_swa = size, size_swa
        self.size = min(size, size_swa)
        self.swa_attn_allocator._set_size(size_swa)
        self.clear()

    def available_size(self) -> int:
        """Slots of the one pool."""
        return self.swa_attn_allocator.available_size()

    def full_available_size(self) -> int:
        """The same."""
        return self.available_size()

    def swa_available_size(self) -> int:
        """The same."""
        return self.available_size()

    def new_pages_available(self, num_full_pages: int, num_swa_pages: int) -> bool:
        """Whether the pool has as many slots as the larger side asks for: a slot serves both."""
        return max(num_full_pages, num_swa_pages) <= self.available_size()

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """As the pool: slots int64, or None (§4)."""
        return self.swa_attn_allocator.alloc(need_size)

    def alloc_extend_swa_tail(self, *_: Any, **__: Any) -> NoReturn:
        """Raises NotImplementedError."""
        raise NotImplementedError("with all layers sliding, rows grow by alloc")

    def set_full_to_swa_mapping(self, *_: Any, **__: Any) -> NoReturn:
        """Raises NotImplementedError."""
        raise NotImplementedError("with all layers sliding, the mapping is constant")

    def clear_full_to_swa_mapping(self, *_: Any, **__: Any) -> NoReturn:
        """Raises NotImplementedError."""
        raise NotImplementedError("with all layers sliding, the mapping is constant")

    def translate_loc_from_full_to_swa(self, full_indices: torch.Tensor) -> torch.Tensor:
        """The slots themselves, a copy of the same dtype."""
        return self._own(full_indices)

    def free(self, free_index: torch.Tensor) -> None:
        """As ``free_swa``. Raises AssertionError, the work done, when more slots are free than there are."""
        if free_index.numel() == 0:
            return
        self.free_swa(free_index)
        self.swa_attn_allocator._assert_within_size()

    def free_swa(self, free_index: torch.Tensor) -> None:
        """Give back the positive ones of these slots, in the order given; in a group they all wait."""
        if free_index.numel() == 0:
            return
        if self.free_group is not None:
            self.free_group.append(self._own(free_index))
        else:
            self._release(free_index)

    def free_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:  # noqa: ARG002
        """As ``free``."""
        self.free(free_index)

    def free_swa_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:  # noqa: ARG002
        """As ``free_swa``."""
        self.free_swa(free_index)

    def free_full(self, free_index: torch.Tensor) -> None:
        """There is no FULL side of its own."""

    def free_full_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """There is no FULL side of its own."""

    def _release(self, slots: torch.Tensor) -> None:
        self.swa_attn_allocator.free(slots[slots > 0])
