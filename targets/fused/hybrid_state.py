"""What both halves of the fused hybrid allocator work on (contract_paged_swa §1, §6.1).

Declares the state that ``FusedHybridSWAAllocator`` builds.
"""

from __future__ import annotations

from targets.eager.hybrid_state import HybridState
from targets.fused.buffers import Pile
from targets.fused.growth import Peers
from targets.fused.listed_pool import ListedPool
from targets.fused.memory import DeviceBuffer
from targets.fused.paged import FusedPagedAllocator
from targets.fused.segments import Table
from targets.fused.workspace import Workspace


class FusedHybridState(HybridState):
    """``full_side`` and ``swa_side`` are the two pools.

    ``exact``: checks are read before the host goes on, always so on a CPU. ``debug_mode`` is that of the paged pools.
    ``table`` is the mapping as kernels take it, which lies in ``mapping_memory``, and ``peers`` what gives new
    slots theirs. ``swa_set_pile`` and ``swa_page_pile`` wait for the end of the group, as the lists do that the torch allocator has.
    """

    full_side: ListedPool
    swa_side: ListedPool
    workspace: Workspace
    peers: Peers
    mapping_memory: DeviceBuffer
    table: Table
    swa_set_pile: Pile
    swa_page_pile: Pile
    exact: bool
    debug_mode: bool

    def _paged_sides(self) -> tuple[FusedPagedAllocator, FusedPagedAllocator]:
        full, swa = self.full_side, self.swa_side
        assert isinstance(full, FusedPagedAllocator), (
            "at page size 1 rows grow by alloc, not by extend or decode"
        )
        assert isinstance(swa, FusedPagedAllocator)
        return full, swa
