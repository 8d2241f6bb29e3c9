"""How the fused unified allocators open pages for rows: one launch for their slots, one that binds (contract_unified §5, §8).

Guarantees that room is checked before any launch, on lengths that are on the CPU already, and that nothing waits for the device
unless pages have to move.
"""

from __future__ import annotations

from functools import cached_property
from typing import cast

import torch

from targets.eager.unified.chain import BandClasses
from targets.eager.unified.token_pool import TokenPool
from targets.fused.buffers import FreeList
from targets.fused.growth import launch_decode, launch_extend
from targets.fused.unified.bands import FusedEndBand, FusedFloatingBand
from targets.fused.unified.launches import Opening, open_pages
from targets.fused.workspace import Workspace


class FusedRows(TokenPool):
    """The allocating half. What lets pages be opened is the family's ``_opening``."""

    band_classes = BandClasses(FusedEndBand, FusedFloatingBand)

    @cached_property
    def owner(self) -> FusedEndBand:
        """The FULL band."""
        return cast("FusedEndBand", self.full)

    @cached_property
    def workspace(self) -> Workspace:
        """The scratch memory of the launches that make rows longer."""
        return Workspace(0, self.owner.table.on)

    def alloc_extend(
        self,
        prefix_lens: torch.Tensor,
        prefix_lens_cpu: torch.Tensor,
        seq_lens: torch.Tensor,
        seq_lens_cpu: torch.Tensor,
        last_loc: torch.Tensor,
        extend_num_tokens: int,  # noqa: ARG002 (the arguments that callers know)
    ) -> torch.Tensor | None:
        """Slots int64 for rows growing from prefix to seq lengths ``[bs]``, or None (§5, §8)."""
        prefixes, lengths = prefix_lens_cpu.tolist(), seq_lens_cpu.tolist()
        return self._extend(prefixes, lengths, prefix_lens, seq_lens, last_loc)

    def alloc_decode(
        self, seq_lens: torch.Tensor, seq_lens_cpu: torch.Tensor, last_loc: torch.Tensor
    ) -> torch.Tensor | None:
        """One slot for each row, int64 ``[bs]``, or None; ``seq_lens`` count the new token (§5)."""
        lengths = seq_lens_cpu.tolist()
        opening = self._opening(self._new_pages([length - 1 for length in lengths], lengths))
        if opening is None:
            return None
        out = self._new_slots(len(lengths))
        if lengths:
            launch_decode(
                *(self._ring, self.workspace, seq_lens, last_loc, len(lengths), self.page_size),
                out,
            )
        self._open(opening)
        return out

    def _extend(
        self,
        prefixes: list[int],
        lengths: list[int],
        prefix_lens: torch.Tensor,
        seq_lens: torch.Tensor,
        last_loc: torch.Tensor,
        *,
        bound: int | None = None,
    ) -> torch.Tensor | None:
        opening = self._opening(self._new_pages(prefixes, lengths), bound)
        if opening is None:
            return None
        grown = [seq - prefix for prefix, seq in zip(prefixes, lengths, strict=True)]
        out = self._new_slots(sum(grown))
        if out.numel():
            launch_extend(
                *(self._ring, self.workspace, prefix_lens, seq_lens, last_loc, len(lengths)),
                *(max(grown), self.page_size, out),
            )
        self._open(opening)
        return out

    def _opening(self, pages: int, bound: int | None = None) -> Opening | None:
        """Room for ``pages`` new pages, the last ``bound`` of them (None: all) on the other sides too; None when it is short."""
        raise NotImplementedError

    def _open(self, opening: Opening, out: torch.Tensor | None = None) -> None:
        open_pages(opening, out, self.page_size)

    @property
    def _ring(self) -> FreeList:
        ring = self.owner.ring
        assert ring is not None, "the FULL band owns the ids"
        return ring

    def _new_slots(self, count: int) -> torch.Tensor:
        return self.owner.table.v2p.new_empty(count)
