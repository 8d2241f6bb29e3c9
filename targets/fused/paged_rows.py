"""How the paged pool makes rows longer: one launch each (contract_paged_swa §5.3, §5.4).

Guarantees that room is checked before any launch, on lengths that are on the CPU already.
"""

from __future__ import annotations

import torch

from targets.eager import debug_checks
from targets.eager.page_plans import PagePlan, PagePlanner
from targets.fused.buffers import FreeList
from targets.fused.growth import growth_of, launch_decode, launch_extend
from targets.fused.workspace import Workspace


class PagedRows(PagePlanner):
    """The planning part of ``FusedPagedAllocator``."""

    pages: FreeList
    workspace: Workspace
    device_object: torch.device

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
        """Slots int64 ``[extend_num_tokens]`` for rows growing from prefix to seq lengths ``[bs]``, request by request, or None (§5.3)."""
        if self.debug_mode:
            debug_checks.assert_continues_page(last_loc, prefix_lens, self.page_size)
        prefixes, lengths = prefix_lens_cpu.tolist(), seq_lens_cpu.tolist()
        new_pages, longest = growth_of(prefixes, lengths, self.page_size)
        if num_new_pages is None:
            num_new_pages = new_pages
        if not self.room_for(self._bound(extend_num_tokens, len(prefixes)), num_new_pages):
            return None
        out = self.pages.new_slots(extend_num_tokens)
        if longest:
            self._launch_extend(prefix_lens, seq_lens, last_loc, len(lengths), longest, out)
        if self.debug_mode:
            debug_checks.assert_unique(out)
        self.pages.took(num_new_pages)
        return out

    def alloc_decode(
        self, seq_lens: torch.Tensor, seq_lens_cpu: torch.Tensor, last_loc: torch.Tensor
    ) -> torch.Tensor | None:
        """One slot for each row, int64 ``[bs]``, or None; ``seq_lens`` count the new token (§5.4)."""
        if self.debug_mode:
            debug_checks.assert_continues_page(last_loc, seq_lens - 1, self.page_size)
        lengths = seq_lens_cpu.tolist()
        new_pages = self.pages_to_open(lengths)
        if not self.room_for(len(lengths), new_pages):
            return None
        out = self.pages.new_slots(len(lengths))
        if lengths:
            self._launch_decode(seq_lens, last_loc, len(lengths), out)
        if self.debug_mode:
            debug_checks.assert_unique(out)
        self.pages.took(new_pages)
        return out

    def pages_to_open(self, lengths: list[int]) -> int:
        """How many of the new last slots are the first of a page."""
        page_size = self.page_size
        return sum((length - 1) % page_size == 0 for length in lengths)

    def plan_decode(self, seq_lens_cpu: torch.Tensor, last_loc: torch.Tensor) -> PagePlan:
        """Plan one slot for each of ``[bs]`` rows, for which there is room. Debug: asserts unique slots."""
        out = self.pages.new_slots(len(seq_lens_cpu))
        if len(seq_lens_cpu):
            seq_lens = seq_lens_cpu.to(self.device_object)
            self._launch_decode(seq_lens, last_loc, len(seq_lens_cpu), out)
        if self.debug_mode:
            debug_checks.assert_unique(out)
        return PagePlan(out, self.pages_to_open(seq_lens_cpu.tolist()))

    def _extended_slots(
        self,
        prefix_lens: list[int],
        seq_lens: list[int],
        last_loc: torch.Tensor,
        num_new_pages: int,  # noqa: ARG002 (the kernel works it out)
    ) -> torch.Tensor:
        grown = [b - a for a, b in zip(prefix_lens, seq_lens, strict=True)]
        out = self.pages.new_slots(sum(grown))
        if out.numel():
            lengths = torch.tensor([prefix_lens, seq_lens], device=self.device_object)
            self._launch_extend(lengths[0], lengths[1], last_loc, len(grown), max(grown), out)
        return out

    def _launch_extend(
        self,
        prefix_lens: torch.Tensor,
        seq_lens: torch.Tensor,
        last_loc: torch.Tensor,
        rows: int,
        longest: int,
        out: torch.Tensor,
    ) -> None:
        launch_extend(
            *(self.pages, self.workspace, prefix_lens, seq_lens, last_loc),
            *(rows, longest, self.page_size, out),
        )

    def _launch_decode(
        self, seq_lens: torch.Tensor, last_loc: torch.Tensor, rows: int, out: torch.Tensor
    ) -> None:
        launch_decode(self.pages, self.workspace, seq_lens, last_loc, rows, self.page_size, out)
