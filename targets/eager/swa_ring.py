"""The hybrid allocator whose SWA side is a ring for each request, counted in request slots (contract_paged_swa §6, ring mode).

Guarantees that only the FULL side is handed out and taken back: the SWA pool lies idle and nothing is ever mapped. Takes
and returns no request slots; it only asks how many are free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import torch

from targets.eager.hybrid_swa import HybridSWAAllocator, KVPool
from targets.eager.page_plans import new_pages_of_extend, pages_spanned

if TYPE_CHECKING:
    from targets.eager.base import ResizeConfig
    from targets.eager.signals import Signals


class RingKVPool(KVPool, Protocol):
    """A KV pool with a ring of ``swa_req_ring_size`` slots for each request."""

    swa_req_ring_size: int


class RequestPool(Protocol):
    """The pool of request slots, one for each request that may run."""

    def available_size(self) -> int:
        """How many request slots are free."""


class RingSWAAllocator(HybridSWAAllocator):
    """``size`` FULL slots in pages of ``page_size``, and a ring for each slot of ``req_to_token_pool``.

    The SWA pool has the ``size_swa`` that was passed; the allocator's own ``size_swa`` is what all free requests have rings for.
    """

    def __init__(
        self,
        size: int,
        size_swa: int,
        page_size: int,
        device: str,
        *,
        kvcache: RingKVPool,
        req_to_token_pool: RequestPool,
        need_sort: bool = False,
        signals: Signals | None = None,
    ) -> None:
        super().__init__(
            size,
            size_swa,
            page_size,
            device,
            need_sort=need_sort,
            kvcache=kvcache,
            signals=signals,
        )
        self.req_to_token_pool = req_to_token_pool
        self.swa_ring_cost_tokens = pages_spanned(kvcache.swa_req_ring_size, page_size) * page_size
        self.size_swa = self.swa_available_size()
        self.size = min(self.size_full, self.size_swa)

    def resize(self, config: ResizeConfig) -> None:
        """As the hybrid allocator, but for its own ``size_swa``, which the request slots decide."""
        size_swa = self.size_swa
        super().resize(config)
        self.size_swa = size_swa
        self.size = min(self.size_full, size_swa)

    def available_size(self) -> int:
        """FULL slots that can be handed out; a request brings its ring along."""
        return self.full_available_size()

    def swa_available_size(self) -> int:
        """Slots of the rings of all free request slots."""
        return self.req_to_token_pool.available_size() * self.swa_ring_cost_tokens

    def new_pages_available(self, num_full_pages: int, num_swa_pages: int) -> bool:  # noqa: ARG002
        """Whether so many FULL pages are free, staged ones included."""
        return num_full_pages <= self.full_available_size() // self.page_size

    def alloc_extend(
        self,
        prefix_lens: torch.Tensor,
        prefix_lens_cpu: torch.Tensor,
        seq_lens: torch.Tensor,
        seq_lens_cpu: torch.Tensor,
        last_loc: torch.Tensor,
        extend_num_tokens: int,
        num_new_pages: int | None = None,  # noqa: ARG002 (the base form has it)
    ) -> torch.Tensor | None:
        """FULL slots int64 ``[extend_num_tokens]``, or None and nothing changed (not even a merge)."""
        full, _ = self._paged_pools()
        new_pages = new_pages_of_extend(
            prefix_lens_cpu.tolist(), seq_lens_cpu.tolist(), self.page_size
        )
        if not self.new_pages_available(new_pages, new_pages):
            return None
        return full.alloc_extend(
            prefix_lens,
            prefix_lens_cpu,
            seq_lens,
            seq_lens_cpu,
            last_loc,
            extend_num_tokens,
            new_pages,
        )

    def alloc_extend_swa_tail(
        self,
        prefix_lens: torch.Tensor,
        prefix_lens_cpu: torch.Tensor,
        seq_lens: torch.Tensor,
        seq_lens_cpu: torch.Tensor,
        last_loc: torch.Tensor,
        extend_num_tokens: int,
        swa_tail_len: int,
    ) -> torch.Tensor | None:
        """As ``alloc_extend``; the tail lies in the ring. Raises AssertionError for several rows or a tail that is too long."""
        self._assert_tail(prefix_lens_cpu, extend_num_tokens, swa_tail_len)
        return self.alloc_extend(
            prefix_lens, prefix_lens_cpu, seq_lens, seq_lens_cpu, last_loc, extend_num_tokens
        )

    def alloc_decode(
        self, seq_lens: torch.Tensor, seq_lens_cpu: torch.Tensor, last_loc: torch.Tensor
    ) -> torch.Tensor | None:
        """One FULL slot for each row, or None (the FULL side may have merged)."""
        full, _ = self._paged_pools()
        return full.alloc_decode(seq_lens, seq_lens_cpu, last_loc)

    def free_swa(self, free_index: torch.Tensor) -> None:
        """A ring is overwritten, not freed."""

    def free_swa_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """A ring is overwritten, not freed."""

    def free_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """Give back the FULL pages of a segment. Raises AssertionError when ``start_pos`` is not aligned."""
        self.full_attn_allocator.free_segment(free_index, start_pos=start_pos)
