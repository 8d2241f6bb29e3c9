"""The prefix tree as an allocator knows it, and how the tree reaches the allocator (contract_unified §10)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch


class EvictableTree(Protocol):
    """What an allocator asks of a prefix tree; sizes in slots and states."""

    def full_evictable_size(self) -> int:
        """FULL slots that it could give up."""

    def swa_evictable_size(self) -> int:
        """Slots with peers that it could give up."""

    def mamba_evictable_size(self) -> int:
        """States that it could give up."""

    def evict_for_alloc(
        self, full: int, swa: int, states: int, enough: Callable[[], bool] = ...
    ) -> tuple[int, int, int]:
        """Free at least so much, or until ``enough``; returns what was freed."""


class TreeFrees:
    """The frees that a tree makes on ``allocator`` (``oracle.fake_tree.TreeAllocator``)."""

    def __init__(self, allocator: Any, device: str) -> None:
        self._allocator = allocator
        self._device = device
        self._peered = hasattr(allocator, "swa")

    def free_both(self, slots: Sequence[int], start_pos: int) -> None:
        """Both sides of whole pages."""
        self._allocator.free_segment(self._tensor(slots), start_pos=start_pos)

    def free_full_only(self, slots: Sequence[int], start_pos: int) -> None:
        """The FULL side of whole pages that have no peers."""
        allocator = self._allocator
        free = allocator.free_full_segment if self._peered else allocator.free_segment
        free(self._tensor(slots), start_pos=start_pos)

    def free_swa(self, slots: Sequence[int], start_pos: int) -> None:
        """The peers of whole pages."""
        self._allocator.free_swa_segment(self._tensor(slots), start_pos=start_pos)

    def free_full_band(self, slots: Sequence[int], start_pos: int) -> None:
        """The FULL side, on the band itself: at once also in a group."""
        self._allocator.full.free_segment(self._tensor(slots), start_pos=start_pos)

    def free_state(self, state: int) -> None:
        """One state."""
        self._allocator.state_slots.free(self._tensor([state]))

    def _tensor(self, slots: Sequence[int]) -> torch.Tensor:
        return torch.tensor(slots, dtype=torch.int64, device=self._device)
