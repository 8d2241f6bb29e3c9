"""The mapping of the fused hybrid allocator as callers use it, in one launch each (contract_paged_swa §6, §6.1).

Guarantees that a slot outside the mapping, which only a caller's own page ids bring in, does no harm: it has no peer.
"""

from __future__ import annotations

import torch

from targets.eager import debug_checks
from targets.fused.hybrid_state import FusedHybridState
from targets.fused.kernels_lists import TILE
from targets.fused.kernels_mapping import map_slots, translate
from targets.fused.launcher import tiles


class FusedHybridMapping(FusedHybridState):
    """The primitives on the mapping, also those that the torch code of debug mode works with."""

    def translate_loc_from_full_to_swa(self, full_indices: torch.Tensor) -> torch.Tensor:
        """The peers of FULL slots, int64, a copy of the same shape: 0 where unmapped, -1 for -1."""
        if full_indices.dim() != 1:
            peers = self.translate_loc_from_full_to_swa(full_indices.reshape(-1))
            return peers.view(full_indices.shape)
        count = full_indices.numel()
        out = self.full_to_swa_index_mapping.new_empty(count)
        if count:
            translate.launch(
                tiles(count, TILE),
                (full_indices, out),
                (full_indices.stride(0), count, *self.table),
                (TILE,),
                self.workspace.device,
                full_indices.dtype,
            )
        return out

    def clear_full_to_swa_mapping(self, full_indices: torch.Tensor) -> None:
        """Unmap exactly these FULL slots."""
        self._unmap(full_indices)

    def _map(self, full_slots: torch.Tensor, swa_slots: torch.Tensor) -> None:
        self._write(full_slots, swa_slots, unmap=False)

    def _unmap(self, full_slots: torch.Tensor) -> None:
        self._write(full_slots, full_slots, unmap=True)

    def _write(self, slots: torch.Tensor, peers: torch.Tensor, *, unmap: bool) -> None:
        count = slots.numel()
        if count:
            map_slots.launch(
                tiles(count, TILE),
                (slots, peers),
                (slots.stride(0), count, peers.stride(0), *self.table),
                (unmap, TILE),
                self.workspace.device,
                slots.dtype,
                peers.dtype,
            )

    def _last_peers(
        self, last_loc: torch.Tensor, prefix_lens: torch.Tensor, seq_lens: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The SWA slot after which each row goes on, -1 at a page boundary, and for which rows it is gone."""
        peers = self.translate_loc_from_full_to_swa(last_loc)
        inside_page = prefix_lens % self.page_size != 0
        gone = inside_page & (seq_lens > prefix_lens) & (peers <= 0)
        return torch.where(inside_page, peers, -1), gone

    def _check_swa_pages(self, representatives: torch.Tensor, swa_pages: torch.Tensor) -> None:
        peers = self.translate_loc_from_full_to_swa(self.expand(representatives))
        debug_checks.assert_same_pages(
            swa_pages,
            peers[peers > 0] // self.page_size,
            "swa pages do not match the mapped pages",
        )
