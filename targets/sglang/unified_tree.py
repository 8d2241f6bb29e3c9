"""The fake prefix tree as a release's allocator sees one: quotas in an object, a predicate, and what was evicted in another.

Guarantees that the tree itself is ``oracle.fake_tree`` and that it frees through the release's own methods.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import torch

from oracle.call import Tree
from oracle.fake_tree import FakeTree
from oracle.observation import Eviction


class ReleaseFrees:
    """The frees of a tree (``oracle.fake_tree.TreeAllocator``) on an allocator of a release."""

    def __init__(self, allocator: Any, device: str) -> None:
        self._allocator = allocator
        self._device = device

    def free_both(self, slots: Sequence[int], start_pos: int) -> None:
        """Both sides, through the composite."""
        self._allocator.free_segment(self._index(slots), start_pos=start_pos)

    def free_full_only(self, slots: Sequence[int], start_pos: int) -> None:
        """The FULL side, through the composite."""
        peered = hasattr(self._allocator, "swa_attn_allocator")
        name = "free_full_segment" if peered else "free_segment"
        getattr(self._allocator, name)(self._index(slots), start_pos=start_pos)

    def free_swa(self, slots: Sequence[int], start_pos: int) -> None:
        """The SWA side, through the composite."""
        self._allocator.free_swa_segment(self._index(slots), start_pos=start_pos)

    def free_full_band(self, slots: Sequence[int], start_pos: int) -> None:
        """The FULL side, on the band itself."""
        self._allocator.full_attn_allocator.free_segment(self._index(slots), start_pos=start_pos)

    def free_state(self, state: int) -> None:
        """One state."""
        self._allocator.mamba_allocator.free(self._index([state]))

    def _index(self, slots: Sequence[int]) -> torch.Tensor:
        return torch.tensor(slots, dtype=torch.int64, device=self._device)


class ReleaseTree:
    """A fake tree with the names that releases use. ``evicted`` says what it gave up."""

    def __init__(self, tree: Tree, allocator: Any, device: str) -> None:
        self.token_to_kv_pool_allocator = allocator
        self._fake = FakeTree(tree, ReleaseFrees(allocator, device))

    @property
    def evicted(self) -> tuple[Eviction, ...]:
        """In order."""
        return tuple(self._fake.evicted)

    def supports_prefix_sharing(self) -> bool:
        """It holds rows of several requests (0.5.22 on)."""
        return True

    def is_chunk_cache(self) -> bool:
        """The same question up to 0.5.21, the other way round."""
        return False

    def full_evictable_size(self) -> int:
        """FULL slots that it holds."""
        return self._fake.full_evictable_size()

    def swa_evictable_size(self) -> int:
        """Slots with peers that it holds."""
        return self._fake.swa_evictable_size()

    def mamba_evictable_size(self) -> int:
        """States that it holds."""
        return self._fake.mamba_evictable_size()

    def evict_for_alloc(
        self, quota: Any, allocation_reclaim_satisfied: Callable[[], bool] = lambda: False
    ) -> SimpleNamespace:
        """Free up to the quotas or until the allocator says that it is enough."""
        full, swa, states = self._fake.evict_for_alloc(
            getattr(quota, "num_tokens", 0),
            getattr(quota, "swa_num_tokens", 0),
            getattr(quota, "mamba_num", 0),
            allocation_reclaim_satisfied,
        )
        return SimpleNamespace(
            num_tokens_evicted=full, swa_num_tokens_evicted=swa, mamba_num_evicted=states
        )

    def evict(self, quota: Any) -> SimpleNamespace:
        """Free up to the quotas."""
        return self.evict_for_alloc(quota)
