"""How the hybrid allocator hands out slots: both sides or neither (contract_paged_swa §6.2).

Guarantees that a refusal and a failed check take nothing from either side (a decode may have merged), and that no row continues
in the padding page because its last peer is gone.
"""

from __future__ import annotations

import torch

from targets.eager.hybrid_state import HybridState
from targets.eager.page_plans import PagePlan, new_pages_of_extend, pages_spanned
from targets.eager.paged import PagedAllocator


class HybridAllocation(HybridState):
    """The allocating half of ``HybridSWAAllocator``."""

    def new_pages_available(self, num_full_pages: int, num_swa_pages: int) -> bool:
        """Whether so many pages are free on each side, staged ones included."""
        return (
            num_full_pages <= self.full_attn_allocator.available_size() // self.page_size
            and num_swa_pages <= self.swa_attn_allocator.available_size() // self.page_size
        )

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """FULL slots int64 with fresh peers, or None and nothing changed. Raises AssertionError at other page sizes than 1."""
        assert self.page_size == 1, f"alloc is for page size 1, not {self.page_size}"
        if not self.new_pages_available(need_size, need_size):
            return None
        full_slots = self.full_attn_allocator.alloc(need_size)
        swa_slots = self.swa_attn_allocator.alloc(need_size)
        assert full_slots is not None
        assert swa_slots is not None
        self._map(full_slots, swa_slots)
        return full_slots

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
        """FULL slots int64 ``[extend_num_tokens]`` with fresh peers, or None and nothing changed (not even a merge).

        Raises AssertionError at page size 1, and when a row would continue a page whose last peer is gone. The need is
        always worked out here, so ``num_new_pages`` is not used.
        """
        plans = self.plan_both(
            prefix_lens, prefix_lens_cpu, seq_lens, seq_lens_cpu, last_loc, extend_num_tokens
        )
        return None if plans is None else self.take_both(plans)

    def plan_both(
        self,
        prefix_lens: torch.Tensor,
        prefix_lens_cpu: torch.Tensor,
        seq_lens: torch.Tensor,
        seq_lens_cpu: torch.Tensor,
        last_loc: torch.Tensor,
        extend_num_tokens: int,
    ) -> tuple[PagePlan, PagePlan] | None:
        """What ``alloc_extend`` would take from the FULL and the SWA side, every check done; None when pages are short."""
        full, swa = self._paged_pools()
        new_pages = new_pages_of_extend(
            prefix_lens_cpu.tolist(), seq_lens_cpu.tolist(), self.page_size
        )
        if not self.new_pages_available(new_pages, new_pages):
            return None
        full.check_continues(last_loc, prefix_lens)
        swa_last, gone = self._last_peers(last_loc, prefix_lens, seq_lens)
        swa.check_continues(swa_last, prefix_lens)
        full_plan = full.plan_extend(
            prefix_lens_cpu, seq_lens_cpu, last_loc, extend_num_tokens, new_pages
        )
        swa_plan = swa.plan_extend(
            prefix_lens_cpu, seq_lens_cpu, swa_last, extend_num_tokens, new_pages
        )
        assert full_plan is not None
        assert swa_plan is not None
        self._assert_last_peers(gone, last_loc)
        return full_plan, swa_plan

    def take_both(self, plans: tuple[PagePlan, PagePlan]) -> torch.Tensor:
        """Take what was planned for each side and map it; the FULL slots."""
        full, swa = self._paged_pools()
        full_slots = full.take(plans[0])
        self._map(full_slots, swa.take(plans[1]))
        return full_slots

    def alloc_extend_swa_tail(
        self,
        prefix_lens: torch.Tensor,
        prefix_lens_cpu: torch.Tensor,
        seq_lens: torch.Tensor,  # noqa: ARG002 (the arguments that callers know)
        seq_lens_cpu: torch.Tensor,
        last_loc: torch.Tensor,
        extend_num_tokens: int,
        swa_tail_len: int,
    ) -> torch.Tensor | None:
        """FULL slots for one whole extension, peers for its last ``swa_tail_len`` slots, on fresh SWA pages; or None and nothing changed.

        Raises AssertionError for a page size of 1, several rows, or a tail longer than the extension.
        """
        full, swa = self._paged_pools()
        self._assert_tail(prefix_lens_cpu, extend_num_tokens, swa_tail_len)
        new_pages = new_pages_of_extend(
            prefix_lens_cpu.tolist(), seq_lens_cpu.tolist(), self.page_size
        )
        if not self.new_pages_available(new_pages, pages_spanned(swa_tail_len, self.page_size)):
            return None
        full.check_continues(last_loc, prefix_lens)
        full_plan = full.plan_extend(
            prefix_lens_cpu, seq_lens_cpu, last_loc, extend_num_tokens, new_pages
        )
        assert full_plan is not None
        if swa_tail_len == 0:
            return full.take(full_plan)
        swa_plan = self._plan_tail(swa, swa_tail_len)
        assert swa_plan is not None
        full_slots = full.take(full_plan)
        self._map_tail(full_slots, swa.take(swa_plan))
        return full_slots

    def alloc_decode(
        self, seq_lens: torch.Tensor, seq_lens_cpu: torch.Tensor, last_loc: torch.Tensor
    ) -> torch.Tensor | None:
        """One FULL slot with a fresh peer for each row, or None with nothing taken from either side.

        Raises AssertionError at page size 1, and when a row would continue a page whose last peer is gone.
        """
        full, swa = self._paged_pools()
        prefix_lens = seq_lens - 1
        full.check_continues(last_loc, prefix_lens)
        swa_last, gone = self._last_peers(last_loc, prefix_lens, seq_lens)
        swa.check_continues(swa_last, prefix_lens)
        full_has_room = full.has_room_to_decode(seq_lens_cpu)
        swa_has_room = swa.has_room_to_decode(seq_lens_cpu)
        if not (full_has_room and swa_has_room):
            return None
        full_plan = full.plan_decode(seq_lens_cpu, last_loc)
        swa_plan = swa.plan_decode(seq_lens_cpu, swa_last)
        self._assert_last_peers(gone, last_loc)
        full_slots = full.take(full_plan)
        self._map(full_slots, swa.take(swa_plan))
        return full_slots

    def _assert_tail(
        self, prefix_lens_cpu: torch.Tensor, extend_num_tokens: int, swa_tail_len: int
    ) -> None:
        assert len(prefix_lens_cpu) == 1, f"one row has a tail, not {len(prefix_lens_cpu)}"
        assert 0 <= swa_tail_len <= extend_num_tokens, (
            f"a tail of {swa_tail_len} slots is not part of an extension of {extend_num_tokens}"
        )

    def _plan_tail(self, swa: PagedAllocator, length: int) -> PagePlan | None:
        fresh_row = torch.full((1,), -1, device=self.device)
        return swa.plan_extend(torch.tensor([0]), torch.tensor([length]), fresh_row, length)

    def _map_tail(self, full_slots: torch.Tensor, tail_slots: torch.Tensor) -> None:
        head = full_slots.numel() - tail_slots.numel()
        self._map(full_slots[head:], tail_slots)
        self._unmap(full_slots[:head])

    def _last_peers(
        self, last_loc: torch.Tensor, prefix_lens: torch.Tensor, seq_lens: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The SWA slot after which each row goes on, and for which rows it is gone."""
        peers = self.full_to_swa_index_mapping[last_loc]
        inside_page = prefix_lens % self.page_size != 0
        gone = inside_page & (seq_lens > prefix_lens) & (peers <= 0)
        # At a page boundary a new page begins and the peer may be gone; -1 is in line with every boundary.
        return torch.where(inside_page, peers, -1), gone

    def _assert_last_peers(self, gone: torch.Tensor, last_loc: torch.Tensor) -> None:
        # The slot after no peer lies in the padding page, and a live slot must not be mapped there (rule 2).
        what = "a row continues a page whose last peer is gone"
        assert not self.signals.finds(gone, what), f"{what}; the last slots are {last_loc.tolist()}"
