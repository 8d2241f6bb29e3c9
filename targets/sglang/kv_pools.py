"""Stand-in KV pools: what an allocator's constructor wants to be given, with no tensors inside.

The hybrid allocator asserts that its pool is an instance of the release's own pool class, registers
its mapping there, and translates through it. Every other use of a pool is the engine's, not the
allocator's.
"""

from __future__ import annotations

from typing import Any

import torch


class SubPool:
    """One band's pool, as far as an allocator looks at it."""

    def __init__(self, size: int, page_size: int, dtype: torch.dtype, device: str) -> None:
        self.size = size
        self.page_size = page_size
        self.dtype = dtype
        self.store_dtype = dtype
        self.device = device


class _HybridBehaviour:
    """The methods and attributes that a hybrid allocator calls on its pool."""

    swa_req_ring_size: int | None = None
    full_to_swa_index_mapping: torch.Tensor | None = None

    def __init__(self, full: SubPool, swa: SubPool) -> None:
        self.full_kv_pool = full
        self.swa_kv_pool = swa
        self.size = full.size
        self.size_swa = swa.size
        self.page_size = full.page_size
        self.dtype = full.dtype
        self.store_dtype = full.dtype
        self.device = full.device

    def register_mapping(self, full_to_swa_index_mapping: torch.Tensor) -> None:
        """Keep the mapping, the same object that the allocator mutates."""
        self.full_to_swa_index_mapping = full_to_swa_index_mapping

    def translate_loc_from_full_to_swa(self, kv_indices: torch.Tensor) -> torch.Tensor:
        """int64 SWA slots of FULL slots `kv_indices`; 0 where unmapped."""
        assert self.full_to_swa_index_mapping is not None, "no mapping was registered"
        return self.full_to_swa_index_mapping[kv_indices]

    def get_state_buf_infos(self) -> tuple[list[int], list[int], list[int]]:
        """No buffers: pointers, lengths and item lengths are all empty."""
        return [], [], []


def pool_class_over(*bases: type[Any]) -> type[Any]:
    """The class of a pool over two sub-pools (its arguments, FULL and SWA) that is an instance of the release's classes `bases`.

    None of the bases' own code runs: what they declare abstract and nobody calls stays unimplemented.
    """
    # The classes of the bases differ between releases: some derive from a stand-in, some are one.
    metaclass: Any = max((type(base) for base in bases), key=lambda kind: len(kind.__mro__))
    pool_class: Any = metaclass("StandInHybridPool", (_HybridBehaviour, *bases), {})
    pool_class.__abstractmethods__ = frozenset()
    made: type[Any] = pool_class
    return made
