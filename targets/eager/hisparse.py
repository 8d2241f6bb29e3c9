"""The allocator with a device below a larger logical pool (contract_paged_swa §7.1).

Guarantees that an extend takes from both pools or from neither. Defers nothing: frees act at once, whatever group is open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import torch

from targets.eager.hisparse_state import DeviceTier
from targets.eager.page_plans import new_pages_of_extend, pages_spanned
from targets.eager.paged import PagedAllocator

if TYPE_CHECKING:
    from targets.eager.base import ResizeConfig


class HiSparseAllocator(DeviceTier):
    """``size`` slots on the device and ``host_to_device_ratio`` times as many logical ones, in pages of ``page_size``.

    ``logical_attn_allocator`` hands out the logical slots. ``full_to_hisparse_device_index_mapping`` has
    ``size * host_to_device_ratio + page_size + 1`` entries.
    """

    def __init__(
        self,
        size: int,
        page_size: int,
        device: str,
        *,
        need_sort: bool = False,
        host_to_device_ratio: int = 2,
    ) -> None:
        self.size_full = size * host_to_device_ratio
        super().__init__(self.size_full, page_size, device, need_sort=need_sort)
        self.logical_attn_allocator = PagedAllocator(
            self.size_full, page_size, device, need_sort=need_sort
        )
        self.hisparse_attn_allocator = PagedAllocator(size, page_size, device, need_sort=need_sort)
        self.full_to_hisparse_device_index_mapping = self._new_device_mapping(
            self.size_full + page_size + 1
        )
        self._scratch_capacity = 0
        self._device_buffer_size = 0

    def clear(self) -> None:
        """Both pools free and no slot has a place on the device; what speculative decoding was set up with stays."""
        self.logical_attn_allocator.clear()
        self.hisparse_attn_allocator.clear()
        self.full_to_hisparse_device_index_mapping[:-1] = 0

    def resize(self, config: ResizeConfig) -> NoReturn:  # noqa: ARG002
        """Raises AttributeError, nothing changed: the sizes are fixed (§7.1)."""
        raise AttributeError(f"a device tier of {self.size} logical slots cannot be resized")

    def available_size(self) -> int:
        """Slots that both pools can hand out."""
        return min(
            self.logical_attn_allocator.available_size(),
            self.hisparse_attn_allocator.available_size(),
        )

    def configure_spec_scratch(self, capacity: int, *, device_buffer_size: int = 0) -> None:
        """Set what a request slot reserves, in slots. Raises ValueError unless both are whole pages, none or more."""
        for slots in (capacity, device_buffer_size):
            if slots < 0 or slots % self.page_size:
                raise ValueError(f"{slots} slots are not whole pages of {self.page_size}")
        self._scratch_capacity, self._device_buffer_size = capacity, device_buffer_size

    def request_slot_reserve(self, *, has_req_pool_slot: bool, prefill_tokens: int = 0) -> int:
        """Slots on the device to keep for a request: the rest of its buffer, and the scratch pages unless it holds its slot."""
        buffer = self._device_buffer_size if self._scratch_capacity else 0
        prefill = pages_spanned(prefill_tokens, self.page_size) * self.page_size
        return max(buffer - prefill, 0) + (0 if has_req_pool_slot else self._scratch_capacity)

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """Logical slots int64 with places on the device, or None; a short device gives the logical slots back sorted (§12).

        Raises NotImplementedError at other page sizes than 1.
        """
        if self.page_size != 1:
            raise NotImplementedError(f"alloc is for page size 1, not {self.page_size}")
        slots = self.logical_attn_allocator.alloc(need_size)
        if slots is None:
            return None
        places = self.hisparse_attn_allocator.alloc(need_size)
        if places is None:
            self._undo(slots)
            return None
        self._remember(slots, places)
        return slots

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
        """Logical slots int64 ``[extend_num_tokens]`` with places on the device, or None and nothing changed (not even a merge).

        Raises AssertionError, nothing changed, when a row continues a page that has no place on the device.
        """
        logical, device = self.logical_attn_allocator, self.hisparse_attn_allocator
        new_pages = new_pages_of_extend(
            prefix_lens_cpu.tolist(), seq_lens_cpu.tolist(), self.page_size
        )
        if new_pages * self.page_size > logical.available_size() or not self._device_has(new_pages):
            return None
        logical.check_continues(last_loc, prefix_lens)
        last_places = self._last_places(last_loc, prefix_lens, seq_lens)
        device.check_continues(last_places, prefix_lens)
        plan = logical.plan_extend(prefix_lens_cpu, seq_lens_cpu, last_loc, extend_num_tokens)
        device_plan = device.plan_extend(
            prefix_lens_cpu, seq_lens_cpu, last_places, extend_num_tokens
        )
        assert plan is not None
        assert device_plan is not None
        slots = logical.take(plan)
        self._remember(slots, device.take(device_plan))
        return slots

    def alloc_decode(
        self, seq_lens: torch.Tensor, seq_lens_cpu: torch.Tensor, last_loc: torch.Tensor
    ) -> torch.Tensor | None:
        """One logical slot for each row, without a place on the device, or None."""
        return self.logical_attn_allocator.alloc_decode(seq_lens, seq_lens_cpu, last_loc)

    def alloc_logical_only(
        self,
        prefix_lens: torch.Tensor,
        prefix_lens_cpu: torch.Tensor,
        seq_lens: torch.Tensor,
        seq_lens_cpu: torch.Tensor,
        last_loc: torch.Tensor,
        extend_num_tokens: int,
    ) -> torch.Tensor | None:
        """As ``alloc_extend``, without places on the device."""
        return self.logical_attn_allocator.alloc_extend(
            prefix_lens, prefix_lens_cpu, seq_lens, seq_lens_cpu, last_loc, extend_num_tokens
        )

    def free_hisparse(self, free_indices: torch.Tensor) -> None:
        """Give back the device pages of logical slots, which live on."""
        self._free_places_of(free_indices)

    def free(self, free_index: torch.Tensor) -> None:
        """Give back logical slots and their places at once. Raises AssertionError, the work done, when a pool is over-full."""
        if free_index.numel() == 0:
            return
        self.logical_attn_allocator.free(free_index)
        self.free_hisparse(free_index)
        self.logical_attn_allocator._assert_within_size()
        self.hisparse_attn_allocator._assert_within_size()

    def free_group_begin(self) -> None:
        """Frees never wait here."""

    def free_group_end(self) -> None:
        """Frees never wait here."""

    def _undo(self, slots: torch.Tensor) -> None:
        self.logical_attn_allocator.free(slots)
