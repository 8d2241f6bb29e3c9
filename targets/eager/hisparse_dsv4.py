"""The allocator with a compressed device pool below a hybrid allocator: four FULL slots share a place (contract_paged_swa §7.2).

Guarantees that an extend takes from all pools or from none. Frees of a group wait here as they were given; those of the SWA
side never wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import torch

from oracle.family_sizes import COMPRESSION
from targets.eager.base import BaseAllocator
from targets.eager.hisparse_state import DeviceTier
from targets.eager.page_plans import new_pages_of_extend
from targets.eager.paged import PagedAllocator

if TYPE_CHECKING:
    from targets.eager.base import ResizeConfig
    from targets.eager.hybrid_swa import HybridSWAAllocator


class DeepSeekV4HiSparseAllocator(DeviceTier):
    """``device_size`` places in pages of a quarter of a page, below ``logical_attn_allocator``.

    The last of four FULL slots carries the place of all four: FULL slot ``4 * c + 3`` has entry ``c`` of
    ``full_to_hisparse_device_index_mapping``. ``full_free_group`` is the pile of ``free_full`` in a group.
    """

    def __init__(self, logical_attn_allocator: HybridSWAAllocator, device_size: int) -> None:
        logical = logical_attn_allocator
        BaseAllocator.__init__(
            self, logical.size, logical.page_size, logical.device, need_sort=logical.need_sort
        )
        self.logical_attn_allocator = logical
        self.size_full, self.size_swa = logical.size_full, logical.size_swa
        page_size = logical.page_size // COMPRESSION
        self.hisparse_attn_allocator = PagedAllocator(
            device_size, page_size, logical.device, need_sort=logical.need_sort
        )
        self.full_to_hisparse_device_index_mapping = self._new_device_mapping(
            logical.size_full // COMPRESSION + page_size + 1
        )
        self.full_free_group: list[torch.Tensor] = []

    def clear(self) -> None:
        """All pools free, nothing mapped, deferred or open."""
        self.logical_attn_allocator.clear()
        self.hisparse_attn_allocator.clear()
        self.full_to_hisparse_device_index_mapping[:-1] = 0
        self.free_group = None
        self.full_free_group = []

    def resize(self, config: ResizeConfig) -> NoReturn:  # noqa: ARG002
        """Raises AttributeError, nothing changed: the sizes are fixed (§7.1)."""
        raise AttributeError(f"a device tier of {self.size} logical slots cannot be resized")

    def available_size(self) -> int:
        """FULL slots that all pools can hand out."""
        return min(self.logical_attn_allocator.available_size(), self._device_available())

    def full_available_size(self) -> int:
        """FULL slots that the FULL side and the device can hand out."""
        return min(self.logical_attn_allocator.full_available_size(), self._device_available())

    def swa_available_size(self) -> int:
        """Slots that the SWA side can hand out."""
        return self.logical_attn_allocator.swa_available_size()

    def alloc(self, need_size: int) -> NoReturn:
        """Raises NotImplementedError: rows grow by extend and decode."""
        raise NotImplementedError(f"{need_size} slots of a compressed pool: use alloc_extend")

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
        """FULL slots int64 ``[extend_num_tokens]`` with peers, each whole four of them with a place, or None and nothing changed.

        Raises AssertionError, nothing changed, when a row continues a page whose last peer or place is gone.
        """
        logical, device = self.logical_attn_allocator, self.hisparse_attn_allocator
        if not self._has_room(prefix_lens_cpu.tolist(), seq_lens_cpu.tolist()):
            return None
        prefixes, lengths = prefix_lens // COMPRESSION, seq_lens // COMPRESSION
        last_places = self._last_places(self.get_last_loc_compressed(last_loc), prefixes, lengths)
        device.check_continues(last_places, prefixes)
        plans = logical.plan_both(
            prefix_lens, prefix_lens_cpu, seq_lens, seq_lens_cpu, last_loc, extend_num_tokens
        )
        assert plans is not None
        prefixes_cpu, lengths_cpu = prefix_lens_cpu // COMPRESSION, seq_lens_cpu // COMPRESSION
        device_plan = device.plan_extend(
            prefixes_cpu, lengths_cpu, last_places, int((lengths_cpu - prefixes_cpu).sum())
        )
        assert device_plan is not None
        slots = logical.take_both(plans)
        self._remember(self.compressed(slots), device.take(device_plan))
        return slots

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
        """As the logical allocator, without places on the device."""
        return self.logical_attn_allocator.alloc_extend_swa_tail(
            prefix_lens,
            prefix_lens_cpu,
            seq_lens,
            seq_lens_cpu,
            last_loc,
            extend_num_tokens,
            swa_tail_len,
        )

    def alloc_decode(
        self, seq_lens: torch.Tensor, seq_lens_cpu: torch.Tensor, last_loc: torch.Tensor
    ) -> torch.Tensor | None:
        """As the logical allocator, without a place on the device."""
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
        """As the logical allocator's ``alloc_extend``, without places on the device."""
        return self.logical_attn_allocator.alloc_extend(
            prefix_lens, prefix_lens_cpu, seq_lens, seq_lens_cpu, last_loc, extend_num_tokens
        )

    def translate_loc_from_full_to_swa(self, full_indices: torch.Tensor) -> torch.Tensor:
        """As the logical allocator."""
        return self.logical_attn_allocator.translate_loc_from_full_to_swa(full_indices)

    def free(self, free_index: torch.Tensor) -> None:
        """Give back slots on every side; in a group they wait, mapped."""
        if free_index.numel() == 0:
            return
        if self.free_group is not None:
            self.free_group.append(self._own(free_index))
            return
        self.logical_attn_allocator.free(free_index)
        self.free_hisparse(free_index)

    def free_swa(self, free_index: torch.Tensor) -> None:
        """As the logical allocator, at once also in a group."""
        self.logical_attn_allocator.free_swa(free_index)

    def free_swa_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """As the logical allocator, at once also in a group."""
        self.logical_attn_allocator.free_swa_segment(free_index, start_pos=start_pos)

    def free_full(self, free_index: torch.Tensor) -> None:
        """As the logical allocator; in a group the slots wait, and are looked at when it ends."""
        if free_index.numel() == 0:
            return
        if self.free_group is not None:
            self.full_free_group.append(self._own(free_index))
            return
        self.logical_attn_allocator.free_full(free_index)

    def free_hisparse(self, free_indices: torch.Tensor) -> None:
        """Give back the device pages of FULL slots, which live on."""
        self.free_compressed(self.compressed(free_indices))

    def free_compressed(self, compressed_indices: torch.Tensor) -> None:
        """Give back the device pages of these entries."""
        self._free_places_of(compressed_indices)

    def free_group_begin(self) -> None:
        """As the base form, and starts an empty FULL-only pile; the logical allocator's group stays closed."""
        super().free_group_begin()
        self.full_free_group = []

    def free_group_end(self) -> None:
        """Free the plain pile, then the FULL-only one."""
        super().free_group_end()
        if self.full_free_group:
            pile, self.full_free_group = self.full_free_group, []
            self.logical_attn_allocator.free_full(torch.cat(pile))

    def compressed(self, full_slots: torch.Tensor) -> torch.Tensor:
        """The entries of those FULL slots that are the last of four."""
        return full_slots[(full_slots + 1) % COMPRESSION == 0] // COMPRESSION

    def get_last_loc_compressed(self, last_locs: torch.Tensor) -> torch.Tensor:
        """The entry of the last whole four up to each FULL slot, -1 for -1."""
        return torch.div(last_locs - 3, COMPRESSION, rounding_mode="floor")

    def _arrange(self, places: torch.Tensor, need_size: int) -> torch.Tensor:
        """The newest place of a buffer is the first of its last page."""
        newest = places.numel() - 1
        reserved = need_size - self._device_page_size
        if newest <= reserved or reserved < 0:
            return places
        order = torch.arange(places.numel(), device=self.device)
        order[newest], order[reserved] = reserved, newest
        return places[order]

    def _cut(self, places: torch.Tensor, need_size: int) -> torch.Tensor:
        """As the base form, the newest place in front of the cut, and no page goes back that a kept place lies on."""
        places = self._arrange(places, need_size)
        kept, rest = places[:need_size], places[need_size:]
        page_size = self._device_page_size
        self.free_hisparse_indices(rest[~torch.isin(rest // page_size, kept // page_size)])
        return kept

    def _has_room(self, prefix_lens: list[int], seq_lens: list[int]) -> bool:
        logical = self.logical_attn_allocator
        full_pages = new_pages_of_extend(prefix_lens, seq_lens, self.page_size)
        places = self._device_pages(
            [prefix // COMPRESSION for prefix in prefix_lens],
            [seq // COMPRESSION for seq in seq_lens],
        )
        room = logical.available_size() // self.page_size
        return full_pages <= room and self._device_has(places)

    def _device_available(self) -> int:
        return self.hisparse_attn_allocator.available_size() * COMPRESSION
