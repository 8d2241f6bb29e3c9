"""The allocator of Mamba states: a queue, and states that are taken out in advance (contract_paged_swa §8).

Guarantees first-in first-out order. Checks nothing: no duplicates, no ownership, no nesting.
"""

from __future__ import annotations

import torch


class MambaSlotAllocator:
    """``size`` states, numbered from 1. ``free_slots`` is the free list (int64 on ``device``, never changed in place);
    ``prepared`` holds what is left of the states that were taken out in advance, None where none were.
    """

    def __init__(self, size: int, device: str) -> None:
        self.size = size
        self.device = device
        self.clear()

    def clear(self) -> None:
        """Every state is free, in ascending order; nothing is taken out in advance."""
        self.free_slots = torch.arange(1, self.size + 1, dtype=torch.int64, device=self.device)
        self.prepared: torch.Tensor | None = None

    def available_size(self) -> int:
        """States in the free list; those taken out in advance do not count."""
        return self.free_slots.numel()

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """States int64 ``[need_size]``, or None; a single one comes from those taken out in advance while there are any."""
        if need_size == 1 and self.prepared is not None and self.prepared.numel():
            taken, self.prepared = self.prepared[:1], self.prepared[1:]
            return taken
        return self._pop(need_size)

    def free(self, free_index: torch.Tensor) -> None:
        """Append the states in the order given, duplicates kept."""
        if free_index.numel():
            self._append(free_index)

    def alloc_group_begin(self, num_reqs: int) -> None:
        """Take ``num_reqs`` states out in advance, none of them when there are too few.

        What is left of an earlier group is in no list any more (§8).
        """
        self.prepared = self._pop(num_reqs) if num_reqs > 0 else None

    def alloc_group_end(self) -> None:
        """Append what is left of the states that were taken out in advance."""
        rest, self.prepared = self.prepared, None
        if rest is not None:
            self._append(rest)

    def _pop(self, count: int) -> torch.Tensor | None:
        if count > self.available_size():
            return None
        taken, self.free_slots = self.free_slots[:count], self.free_slots[count:]
        return taken

    def _append(self, slots: torch.Tensor) -> None:
        self.free_slots = torch.cat((self.free_slots, slots))
