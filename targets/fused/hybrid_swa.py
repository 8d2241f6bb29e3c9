"""The fused hybrid allocator: a FULL pool, an SWA pool, and the mapping from FULL slot to SWA slot (contract_paged_swa §6).

Guarantees what the torch allocator guarantees, with one launch for each call. Has no ring mode.
"""

from __future__ import annotations

import torch

from targets.eager.hybrid_swa import HybridSWAAllocator, KVPool
from targets.eager.signals import Signals
from targets.fused.buffers import Pile
from targets.fused.growth import Peers
from targets.fused.hybrid_allocation import FusedHybridAllocation
from targets.fused.hybrid_frees import FusedHybridFrees
from targets.fused.listed_pool import FIRST_PILE, ListedPool
from targets.fused.memory import DeviceBuffer
from targets.fused.paged import FusedPagedAllocator
from targets.fused.token import FusedTokenAllocator
from targets.fused.workspace import Workspace


class FusedHybridSWAAllocator(FusedHybridFrees, FusedHybridAllocation, HybridSWAAllocator):
    """As the torch allocator: ``size`` FULL slots and ``size_swa`` SWA slots in pages of ``page_size``.

    On a GPU checks are exact only if ``signals`` speak on the host (``Signals.on_host``); otherwise no call but a
    set-shaped free waits for the device at level off.
    """

    token_class = FusedTokenAllocator
    paged_class = FusedPagedAllocator

    def __init__(
        self,
        size: int,
        size_swa: int,
        page_size: int,
        device: str,
        *,
        need_sort: bool = False,
        kvcache: KVPool | None = None,
        signals: Signals | None = None,
    ) -> None:
        on = torch.empty(0, device=device).device
        self.workspace = Workspace(0, on)
        self.swa_set_pile = Pile(FIRST_PILE, on)
        self.swa_page_pile = Pile(max(FIRST_PILE, size_swa // page_size), on)
        super().__init__(
            size, size_swa, page_size, device, need_sort=need_sort, kvcache=kvcache, signals=signals
        )
        self.exact = on.type == "cpu" or self.signals.on_host
        full, swa = self.full_attn_allocator, self.swa_attn_allocator
        assert isinstance(full, ListedPool)
        assert isinstance(swa, ListedPool)
        self.full_side, self.swa_side = full, swa
        self.peers = Peers(self.table, swa.pages)
        self.debug_mode = isinstance(full, FusedPagedAllocator) and full.debug_mode

    def memories(self) -> dict[str, DeviceBuffer]:
        """All buffers of the allocator and its pools, by name."""
        found = {"mapping": self.mapping_memory, **self.workspace.memories()}
        found |= {
            "swa_set_pile": self.swa_set_pile.memory,
            "swa_page_pile": self.swa_page_pile.memory,
        }
        for name, side in (("full", self.full_side), ("swa", self.swa_side)):
            found |= {f"{name}.{part}": memory for part, memory in side.memories().items()}
        return found

    def _new_mapping(self, entries: int) -> torch.Tensor:
        self.mapping_memory = DeviceBuffer(entries, torch.int64, self.workspace.device, zero=True)
        self.table = (self.mapping_memory.address, entries)
        return self.mapping_memory.tensor

    @property
    def swa_free_group(self) -> list[torch.Tensor]:
        """The set pile, an entry for each call: gathered SWA slots, zeros included."""
        return self.swa_set_pile.entries()

    @swa_free_group.setter
    def swa_free_group(self, pile: list[torch.Tensor]) -> None:
        """Empty the set pile."""
        assert not pile, "a pile is filled by frees"
        self.swa_set_pile.empty()

    @property
    def swa_page_ids_group(self) -> list[torch.Tensor]:
        """The page-id pile of the SWA side (slots at page size 1), an entry for each call."""
        return self.swa_page_pile.entries()

    @swa_page_ids_group.setter
    def swa_page_ids_group(self, pile: list[torch.Tensor]) -> None:
        """Empty the page-id pile."""
        assert not pile, "a pile is filled by frees"
        self.swa_page_pile.empty()
