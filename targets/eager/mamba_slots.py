"""The allocator of Mamba states: a queue, and states that are taken out in advance (contract_paged_swa §8).

Guarantees first-in first-out order. Checks nothing: no duplicates, no ownership, no nesting.
"""

from __future__ import annotations

import torch

from targets.eager.prepared_states import PreparedStates


class MambaSlotAllocator(PreparedStates):
    """``size`` states, numbered from 1. ``free_slots`` is the free list (int64 on ``device``, never changed in place)."""

    def __init__(self, size: int, device: str) -> None:
        self.size = size
        self.device = device
        self.clear()

    def clear(self) -> None:
        """Every state is free, in ascending order; nothing is taken out in advance."""
        self.free_slots = torch.arange(1, self.size + 1, dtype=torch.int64, device=self.device)
        self.prepared = None

    def available_size(self) -> int:
        """States in the free list; those taken out in advance do not count."""
        return self.free_slots.numel()

    def free(self, free_index: torch.Tensor) -> None:
        """Append the states in the order given, duplicates kept."""
        if free_index.numel():
            self._give_back(free_index)

    def _take(self, count: int) -> torch.Tensor | None:
        if count > self.available_size():
            return None
        taken, self.free_slots = self.free_slots[:count], self.free_slots[count:]
        return taken

    def _give_back(self, states: torch.Tensor) -> None:
        self.free_slots = torch.cat((self.free_slots, states))
