"""Stand-in KV pools for the allocators with a device below a larger logical pool (contract_paged_swa §7).

They translate and keep the mapping that they are given, as an engine's pools do; there are no tensors inside.
"""

from __future__ import annotations

from typing import Any

import torch

from oracle.family_sizes import COMPRESSION
from targets.sglang.kv_pools import SubPool, pool_class_over


class DevicePool(SubPool):
    """The pool on the device, one place for ``ratio`` logical slots; ``page_size`` is the device's."""

    ratio = 1
    full_to_hisparse_device_index_mapping: torch.Tensor | None = None

    def register_mapping(self, full_to_hisparse_device_index_mapping: torch.Tensor) -> None:
        """Keep the mapping (a weak proxy, as allocators pass it)."""
        self.full_to_hisparse_device_index_mapping = full_to_hisparse_device_index_mapping

    def translate_loc_from_full_to_compressed(self, full_indices: torch.Tensor) -> torch.Tensor:
        """The entries of the mapping that FULL slots have."""
        if self.ratio == 1:
            return full_indices
        return full_indices[(full_indices + 1) % self.ratio == 0] // self.ratio

    def translate_loc_to_hisparse_device(self, compressed_indices: torch.Tensor) -> torch.Tensor:
        """The places of these entries."""
        assert self.full_to_hisparse_device_index_mapping is not None, "no mapping was registered"
        return self.full_to_hisparse_device_index_mapping[compressed_indices]

    _translate_loc_to_hisparse_device = translate_loc_to_hisparse_device


class _CompressedDevice(DevicePool):
    ratio = COMPRESSION


class CompressedPools:
    """What the compressed family needs: a hybrid pool over a device pool, instances of the classes that the release asks for."""

    def __init__(self, hybrid_base: type[Any], allocator_module: Any) -> None:
        whole: Any = allocator_module.DeepSeekV4TokenToKVPool
        device: Any = allocator_module.HiSparseC4DevicePool
        self._whole = pool_class_over(hybrid_base, whole)
        self._device = type(device)("StandInCompressedDevice", (_CompressedDevice, device), {})

    def make(self, full: SubPool, swa: SubPool, device_size: int) -> Any:
        """A pool of FULL and SWA slots with ``device_size`` places below."""
        pool = self._whole(full, swa)
        pool.c4_kv_pool = self._device(
            device_size, full.page_size // COMPRESSION, full.dtype, full.device
        )
        pool.c4_logical_size = full.size // COMPRESSION
        return pool
