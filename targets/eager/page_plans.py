"""Which slots an extend or a decode will hand out, worked out before anything is taken (contract_paged_swa §5.3, §5.4).

Guarantees that planning takes no page: at most it merges the staged ones. So that a hybrid allocator can plan both sides
and give up both. Lengths are read on the CPU; the device is not waited for outside debug mode.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from targets.eager import debug_checks
from targets.eager.page_list import PageList


class PagePlan(NamedTuple):
    """The slots to hand out (int64) and how many pages leave the head of the free list for them."""

    slots: torch.Tensor
    new_pages: int


def pages_spanned(length: int, page_size: int) -> int:
    """How many pages a row of ``length`` slots touches."""
    return -(-length // page_size)


def new_pages_of_extend(prefix_lens: list[int], seq_lens: list[int], page_size: int) -> int:
    """How many pages rows need to grow from ``prefix_lens`` to ``seq_lens``."""
    return sum(
        pages_spanned(seq, page_size) - pages_spanned(prefix, page_size)
        for prefix, seq in zip(prefix_lens, seq_lens, strict=True)
    )


class PagePlanner(PageList):
    """The planning part of ``PagedAllocator``."""

    def plan_extend(
        self,
        prefix_lens_cpu: torch.Tensor,
        seq_lens_cpu: torch.Tensor,
        last_loc: torch.Tensor,
        extend_num_tokens: int,
        num_new_pages: int | None = None,
    ) -> PagePlan | None:
        """Plan rows ``[bs]`` growing by ``extend_num_tokens`` in all; None when pages are short. Debug: asserts unique slots."""
        prefix_lens, seq_lens = prefix_lens_cpu.tolist(), seq_lens_cpu.tolist()
        if num_new_pages is None:
            num_new_pages = new_pages_of_extend(prefix_lens, seq_lens, self.page_size)
        if not self.room_for(self._bound(extend_num_tokens, len(prefix_lens)), num_new_pages):
            return None
        slots = self._extended_slots(prefix_lens, seq_lens, last_loc, num_new_pages)
        if self.debug_mode:
            debug_checks.assert_unique(slots)
        return PagePlan(slots, num_new_pages)

    def has_room_to_decode(self, seq_lens_cpu: torch.Tensor) -> bool:
        """Whether each of ``[bs]`` rows can have one more slot; may merge."""
        return self.room_for(len(seq_lens_cpu), len(self._openers(seq_lens_cpu)))

    def plan_decode(self, seq_lens_cpu: torch.Tensor, last_loc: torch.Tensor) -> PagePlan:
        """Plan one slot for each of ``[bs]`` rows, for which there is room. Debug: asserts unique slots."""
        openers = self._openers(seq_lens_cpu)
        slots = last_loc.to(torch.int64) + 1
        if openers:
            rows = self._on_device(openers)
            slots[rows] = self.free_pages[: len(openers)] * self.page_size
        if self.debug_mode:
            debug_checks.assert_unique(slots)
        return PagePlan(slots, len(openers))

    def take(self, plan: PagePlan) -> torch.Tensor:
        """Drop the planned pages from the free list and return the planned slots."""
        self.free_pages = self.free_pages[plan.new_pages :]
        return plan.slots

    def _bound(self, extend_num_tokens: int, rows: int) -> int:
        """At most so many pages; the merge is triggered by this, not by the exact need."""
        return extend_num_tokens // self.page_size + rows + 1

    def _extended_slots(
        self,
        prefix_lens: list[int],
        seq_lens: list[int],
        last_loc: torch.Tensor,
        num_new_pages: int,
    ) -> torch.Tensor:
        fresh = self.slots_of_pages(self.free_pages[:num_new_pages])
        pieces = [fresh[:0]]
        begin = 0
        for request, (prefix, seq) in enumerate(zip(prefix_lens, seq_lens, strict=True)):
            page_end = pages_spanned(prefix, self.page_size) * self.page_size
            open_slots = min(seq, page_end) - prefix
            if open_slots:
                pieces.append(self._rest_of_open_page(last_loc[request], open_slots))
            if seq > page_end:
                pieces.append(self._slots_of_new_pages(fresh[begin:], seq - page_end))
                begin += self._fresh_slots_used(seq - page_end)
        return torch.cat(pieces)

    def _rest_of_open_page(self, last_slot: torch.Tensor, count: int) -> torch.Tensor:
        return last_slot + torch.arange(1, count + 1, dtype=torch.int64, device=self.device)

    def _slots_of_new_pages(self, fresh: torch.Tensor, count: int) -> torch.Tensor:
        return fresh[:count]

    def _fresh_slots_used(self, count: int) -> int:
        return pages_spanned(count, self.page_size) * self.page_size

    def _on_device(self, rows: list[int]) -> torch.Tensor:
        """``rows`` on the device; only from pinned memory does a copy to a GPU not wait."""
        on_host = torch.tensor(rows)
        if self.device == "cpu":
            return on_host
        return on_host.pin_memory().to(self.device, non_blocking=True)

    def _openers(self, seq_lens_cpu: torch.Tensor) -> list[int]:
        """The rows whose new slot is the first of a page."""
        return [row for row, seq in enumerate(seq_lens_cpu.tolist()) if self._opens_page(seq)]

    def _opens_page(self, seq_len: int) -> bool:
        return (seq_len - 1) % self.page_size == 0
