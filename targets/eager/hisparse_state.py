"""What both allocators with a device below a larger logical pool have in common (contract_paged_swa §7).

Guarantees that the mapping is only ever changed in place, that no row goes on in the padding page of the device, and that no
entry is left on a device page that went back.
"""

from __future__ import annotations

import torch

from targets.eager import debug_checks
from targets.eager.base import BaseAllocator
from targets.eager.page_plans import new_pages_of_extend
from targets.eager.paged import PagedAllocator


class DeviceTier(BaseAllocator):
    """``hisparse_attn_allocator`` hands out the device's pages; ``full_to_hisparse_device_index_mapping`` (``H``, int64) maps a
    logical slot to its place on the device: 0 is none, the last element is the sentinel -1.
    """

    hisparse_attn_allocator: PagedAllocator
    full_to_hisparse_device_index_mapping: torch.Tensor

    def free_hisparse_indices(self, buffer_indices: torch.Tensor) -> None:
        """Give back places on the device, their pages whole; those in the padding page are none."""
        self.hisparse_attn_allocator.free(self._places(buffer_indices))

    def alloc_device_buffer(self, allocated_indices: torch.Tensor, need_size: int) -> torch.Tensor:
        """A buffer of ``need_size`` places, those of the slots ``allocated_indices`` first, int64; the slots lose them.

        Places that are too many go back. Raises AssertionError for a part of a page (nothing changed) and when the device is short
        (the slots have lost their places, §12).
        """
        page_size = self.hisparse_attn_allocator.page_size
        assert need_size % page_size == 0, (
            f"a buffer has whole pages of {page_size}, not {need_size} slots"
        )
        places = self.full_to_hisparse_device_index_mapping[allocated_indices]
        self._forget(allocated_indices)
        places = places[places > 0]
        if places.numel() >= need_size:
            return self._cut(places, need_size)
        rest = self._rest_of_last_page(places)
        held = places.numel() + rest.numel()
        fresh = self.hisparse_attn_allocator.alloc(need_size - held)
        assert fresh is not None, f"the device has no room for {need_size - held} more slots"
        return torch.cat((self._arrange(places, need_size), rest, fresh))

    def _cut(self, places: torch.Tensor, need_size: int) -> torch.Tensor:
        """The first ``need_size`` of ``places``; the others go back."""
        self.free_hisparse_indices(places[need_size:])
        return places[:need_size]

    def _arrange(self, places: torch.Tensor, need_size: int) -> torch.Tensor:  # noqa: ARG002
        """The order of a buffer's first places: as the slots come."""
        return places

    def _rest_of_last_page(self, places: torch.Tensor) -> torch.Tensor:
        """The places after the last one, up to the end of its page."""
        page_size = self.hisparse_attn_allocator.page_size
        missing = -places.numel() % page_size
        # With no place at all nothing is missing, and there is no last one.
        return (
            places[-1:] + torch.arange(1, missing + 1, dtype=torch.int64, device=self.device)
            if missing
            else places[:0]
        )

    def _places(self, places: torch.Tensor) -> torch.Tensor:
        return places[places >= self.hisparse_attn_allocator.page_size]

    def _free_places_of(self, slots: torch.Tensor) -> None:
        """Give back the device pages of ``slots``, and forget every place on them."""
        places = self.full_to_hisparse_device_index_mapping[slots]
        places = places[places > 0]
        self.free_hisparse_indices(places)
        self._forget_pages(debug_checks.distinct(self._places(places) // self._device_page_size))

    def _forget_pages(self, pages: torch.Tensor) -> None:
        mapping = self.full_to_hisparse_device_index_mapping
        gone = (mapping > 0) & torch.isin(mapping // self._device_page_size, pages)
        mapping.masked_fill_(gone, 0)

    def _forget(self, slots: torch.Tensor) -> None:
        mapping = self.full_to_hisparse_device_index_mapping
        mapping[slots] = mapping.new_zeros(())

    def _remember(self, slots: torch.Tensor, places: torch.Tensor) -> None:
        self.full_to_hisparse_device_index_mapping[slots] = places

    def _new_device_mapping(self, entries: int) -> torch.Tensor:
        mapping = torch.zeros(entries, dtype=torch.int64, device=self.device)
        mapping[-1] = -1
        return mapping

    def _last_places(
        self, last_slots: torch.Tensor, prefix_lens: torch.Tensor, seq_lens: torch.Tensor
    ) -> torch.Tensor:
        """The place after which each row goes on, -1 where it begins a page.

        Raises AssertionError when a row would go on after no place, which is in the padding page (rule 2).
        """
        places = self.full_to_hisparse_device_index_mapping[last_slots]
        inside_page = prefix_lens % self._device_page_size != 0
        gone = inside_page & (seq_lens > prefix_lens) & (places <= 0)
        assert not bool(gone.any()), (
            f"a row continues a page that has no place on the device; the last slots are {last_slots.tolist()}"
        )
        return torch.where(inside_page, places, -1)

    def _device_pages(self, prefix_lens: list[int], seq_lens: list[int]) -> int:
        return new_pages_of_extend(prefix_lens, seq_lens, self._device_page_size)

    def _device_has(self, pages: int) -> bool:
        device = self.hisparse_attn_allocator
        return pages <= device.available_size() // device.page_size

    @property
    def _device_page_size(self) -> int:
        return self.hisparse_attn_allocator.page_size
