"""What our allocators have in common: free groups, segment forms, and whose memory a freed tensor is
(contract_paged_swa §3).

Guarantees group and segment behaviour for every subclass that has ``free`` and ``available_size``. Holds no free list:
that is the subclass's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class ResizeConfig(Protocol):
    """The new sizes, in slots: the first for an allocator with one pool, the others for a hybrid one."""

    max_total_num_tokens: int
    full_max_total_num_tokens: int
    swa_max_total_num_tokens: int


class BaseAllocator:
    """The shared part of an allocator of ``size`` slots in pages of ``page_size`` on ``device``.

    ``free_group`` is the plain pile: None when frees act at once, a list of tensors while a free group is open.
    """

    def __init__(self, size: int, page_size: int, device: str, *, need_sort: bool) -> None:
        self.size = size
        self.page_size = page_size
        self.device = device
        self.need_sort = need_sort
        self.free_group: list[torch.Tensor] | None = None

    def available_size(self) -> int:
        """Slots that can be handed out now; deferred frees do not count (§3)."""
        raise NotImplementedError

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """Slots int64, or None when there are too few (§4, §5.2)."""
        raise NotImplementedError

    def free(self, free_index: torch.Tensor) -> None:
        """Give back the slots ``free_index`` (any integer dtype, 1-D)."""
        raise NotImplementedError

    def clear(self) -> None:
        """Return to the state after construction, whatever was pending (rule 4)."""
        raise NotImplementedError

    def alloc_extend(
        self,
        prefix_lens: torch.Tensor,
        prefix_lens_cpu: torch.Tensor,
        seq_lens: torch.Tensor,
        seq_lens_cpu: torch.Tensor,
        last_loc: torch.Tensor,
        extend_num_tokens: int,
        num_new_pages: int | None = None,
    ) -> torch.Tensor | None:
        """Only paged allocators extend rows (§3): raises NotImplementedError here."""
        raise NotImplementedError(f"{type(self).__name__} does not extend rows")

    def alloc_decode(
        self, seq_lens: torch.Tensor, seq_lens_cpu: torch.Tensor, last_loc: torch.Tensor
    ) -> torch.Tensor | None:
        """Only paged allocators decode (§3): raises NotImplementedError here."""
        raise NotImplementedError(f"{type(self).__name__} does not decode")

    def free_full(self, free_index: torch.Tensor) -> None:
        """Give back FULL slots; the same as ``free`` where there is one pool (§3)."""
        self.free(free_index)

    def free_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """Give back a segment whose first slot is at position ``start_pos``. Raises AssertionError when that is not aligned."""
        self._assert_aligned(start_pos)
        self.free(free_index)

    def free_full_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """As ``free_segment``, through ``free_full``. The alignment is asserted for an empty segment too (§0)."""
        self._assert_aligned(start_pos)
        self.free_full(free_index)

    def free_segments(self, segments: Iterable[tuple[torch.Tensor, int]]) -> None:
        """Give back (slots, start position) segments in order; they must ascend and share no page (§3)."""
        self._free_in_order(segments, self.free_segment)

    def free_full_segments(self, segments: Iterable[tuple[torch.Tensor, int]]) -> None:
        """As ``free_segments``, each through ``free_full_segment``."""
        self._free_in_order(segments, self.free_full_segment)

    def free_group_begin(self) -> None:
        """Let frees wait until ``free_group_end``. Raises AssertionError when a group is open; nothing changed then."""
        assert self.free_group is None, "free groups cannot be nested"
        self.free_group = []

    def free_group_end(self) -> None:
        """Close the group, then free the plain pile in one call. Without a group nothing is freed (§3)."""
        pile, self.free_group = self.free_group, None
        if pile:
            self.free(torch.cat(pile))

    def get_all_free_pages(self) -> torch.Tensor | None:
        """Every free page, staged ones last; None for an allocator with no list of its own (§1)."""
        return None

    def merge_and_sort_free(self) -> None:
        """Merge what is staged into the free list; nothing to do for an allocator with no list of its own (§1)."""

    def resize(self, config: ResizeConfig) -> None:
        """Take the new size and clear; an open group is closed (§1)."""
        self._set_size(config.max_total_num_tokens)
        self.clear()

    def _set_size(self, size: int) -> None:
        self.size = size

    def _own(self, tensor: torch.Tensor) -> torch.Tensor:
        """A copy that the caller cannot overwrite: rows are reused while a free is still pending (§3)."""
        return tensor.clone()

    def _assert_aligned(self, start_pos: int) -> None:
        assert start_pos % self.page_size == 0, (
            f"a segment starts on a page boundary, not at position {start_pos} "
            f"with page size {self.page_size}"
        )

    def _assert_within_size(self) -> None:
        available = self.available_size()
        assert available <= self.size, f"{available} slots available of {self.size}: freed twice"

    def _free_in_order(
        self,
        segments: Iterable[tuple[torch.Tensor, int]],
        free_one: Callable[..., None],
    ) -> None:
        last_page = -1
        for slots, start_pos in segments:
            if slots.numel() == 0:
                continue
            first_page = start_pos // self.page_size
            assert self._follows(first_page, last_page), (
                f"the segment at position {start_pos} starts on page {first_page} of its row, "
                f"but the segment before it reached page {last_page}"
            )
            free_one(slots, start_pos=start_pos)
            last_page = (start_pos + slots.numel() - 1) // self.page_size

    def _follows(self, first_page: int, last_page: int) -> bool:
        """Whether a segment that starts on ``first_page`` of its row may come after one that reached ``last_page``."""
        return first_page > last_page
