"""How the fused hybrid allocator hands out slots: both sides and the mapping in one launch (contract_paged_swa §6.2).

Guarantees that a refusal launches nothing and that no slot is mapped into the padding page. Where checks are exact, a row that goes on after a
peer that is gone is an AssertionError that changes nothing; elsewhere nothing waits for the device and such a row gets no peers.
"""

from __future__ import annotations

import torch

from targets.eager.hybrid_allocation import HybridAllocation
from targets.eager.page_plans import new_pages_of_extend, pages_spanned
from targets.fused.growth import growth_of, launch_decode, launch_extend
from targets.fused.hybrid_state import FusedHybridState
from targets.fused.kernels_lists import TILE, take
from targets.fused.kernels_rows import GONE
from targets.fused.launcher import tiles
from targets.fused.paged import FusedPagedAllocator
from targets.fused.watch import levels_are_off

GONE_MESSAGE = "a row continues a page whose last peer is gone"


class FusedHybridAllocation(FusedHybridState, HybridAllocation):
    """The allocating half of ``FusedHybridSWAAllocator``. Debug mode plans both sides one by one, as the torch allocator does."""

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """FULL slots int64 with fresh peers, or None and nothing changed. Raises AssertionError at other page sizes than 1."""
        assert self.page_size == 1, f"alloc is for page size 1, not {self.page_size}"
        full, swa = self.full_side, self.swa_side
        if need_size > full.available_size() or need_size > swa.available_size():
            return None
        for side in (full, swa):
            if need_size > side.pages.count:
                side.pages.merge()
        out = full.pages.new_slots(need_size)
        if need_size:
            take.launch(
                tiles(need_size, TILE),
                (out,),
                (
                    *(full.pages.address, full.pages.head, full.pages.capacity),
                    *(swa.pages.address, swa.pages.head, swa.pages.capacity),
                    *(*self.table, need_size, 1),
                ),
                (1, TILE),
                self.workspace.device,
            )
            full.pages.took(need_size)
            swa.pages.took(need_size)
        return out

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
        """FULL slots int64 ``[extend_num_tokens]`` with fresh peers, or None and nothing changed (not even a merge).

        Raises AssertionError at page size 1, and, if checks are exact, when a row would continue a page whose last peer is gone.
        """
        full, swa = self._paged_sides()
        if self.debug_mode:
            return super().alloc_extend(
                *(prefix_lens, prefix_lens_cpu, seq_lens, seq_lens_cpu),
                *(last_loc, extend_num_tokens, num_new_pages),
            )
        prefixes, lengths = prefix_lens_cpu.tolist(), seq_lens_cpu.tolist()
        new_pages, longest = growth_of(prefixes, lengths, self.page_size)
        full_pages, swa_pages = full.pages, swa.pages
        bound = extend_num_tokens // self.page_size + len(prefixes) + 1
        at_hand = min(full_pages.count, swa_pages.count)
        if bound > at_hand or new_pages > at_hand:
            if not self._has_pages(full, swa, new_pages, new_pages):
                return None
            full._merge_if_short_of(bound)
            swa._merge_if_short_of(bound)
        out = full_pages.new_slots(extend_num_tokens)
        if longest:
            launch_extend(
                full_pages, self.workspace, prefix_lens, seq_lens, last_loc, len(prefixes),
                longest, self.page_size, out, self.peers, stops=self.exact,
            )  # fmt: skip
            self._assert_none_gone(last_loc)
        full_pages.took(new_pages)
        swa_pages.took(new_pages)
        return out

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
        """FULL slots for one whole extension, peers for its last ``swa_tail_len`` slots, on fresh SWA pages; or None and nothing changed.

        Raises AssertionError for a page size of 1, several rows, or a tail longer than the extension.
        """
        full, swa = self._paged_sides()
        if self.debug_mode:
            return super().alloc_extend_swa_tail(
                *(prefix_lens, prefix_lens_cpu, seq_lens, seq_lens_cpu),
                *(last_loc, extend_num_tokens, swa_tail_len),
            )
        assert len(prefix_lens_cpu) == 1, f"one row has a tail, not {len(prefix_lens_cpu)}"
        assert 0 <= swa_tail_len <= extend_num_tokens, (
            f"a tail of {swa_tail_len} slots is not part of an extension of {extend_num_tokens}"
        )
        size = self.page_size
        new_pages = new_pages_of_extend(prefix_lens_cpu.tolist(), seq_lens_cpu.tolist(), size)
        tail_pages = pages_spanned(swa_tail_len, size)
        if not self._has_pages(full, swa, new_pages, tail_pages):
            return None
        full._merge_if_short_of(extend_num_tokens // size + 2)
        if swa_tail_len:
            swa._merge_if_short_of(swa_tail_len // size + 2)
        out = full.pages.new_slots(extend_num_tokens)
        if extend_num_tokens:
            launch_extend(
                *(full.pages, self.workspace, prefix_lens, seq_lens, last_loc, 1),
                *(extend_num_tokens, size, out, self.peers if swa_tail_len else None),
                stops=self.exact and swa_tail_len > 0,
                tail_start=extend_num_tokens - swa_tail_len if swa_tail_len else -1,
            )
        full.pages.took(new_pages)
        swa.pages.took(tail_pages)
        return out

    def alloc_decode(
        self, seq_lens: torch.Tensor, seq_lens_cpu: torch.Tensor, last_loc: torch.Tensor
    ) -> torch.Tensor | None:
        """One FULL slot with a fresh peer for each row, or None with nothing taken from either side.

        Raises AssertionError at page size 1, and, if checks are exact, when a row would continue a page whose last peer is gone.
        """
        full, swa = self._paged_sides()
        if self.debug_mode:
            return super().alloc_decode(seq_lens, seq_lens_cpu, last_loc)
        lengths = seq_lens_cpu.tolist()
        new_pages = full.pages_to_open(lengths)
        full_has_room = full.room_for(len(lengths), new_pages)
        swa_has_room = swa.room_for(len(lengths), new_pages)
        if not (full_has_room and swa_has_room):
            return None
        out = full.pages.new_slots(len(lengths))
        if lengths:
            launch_decode(
                full.pages, self.workspace, seq_lens, last_loc, len(lengths),
                self.page_size, out, self.peers, stops=self.exact,
            )  # fmt: skip
            self._assert_none_gone(last_loc)
        full.pages.took(new_pages)
        swa.pages.took(new_pages)
        return out

    def _has_pages(
        self, full: FusedPagedAllocator, swa: FusedPagedAllocator, full_pages: int, swa_pages: int
    ) -> bool:
        return (
            full_pages <= full.pages.count + full.pages.staged_count
            and swa_pages <= swa.pages.count + swa.pages.staged_count
        )

    def _assert_none_gone(self, last_loc: torch.Tensor) -> None:
        work = self.workspace
        if self.exact:
            gone = work.read()[GONE.value]
            assert not gone, f"{GONE_MESSAGE}; the last slots are {last_loc.tolist()}"
        elif not levels_are_off():
            torch._assert_async(work.report.tensor[GONE.value] == 0, GONE_MESSAGE)
