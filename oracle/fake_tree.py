"""A prefix tree that gives up rows and states when it is asked to: the other side of ``evict_to_free_tokens``.

The same for every implementation under test, which wraps its own frees as a ``TreeAllocator``. Guarantees an order: FULL
first, then SWA, then states, each oldest first, and never more than asked for by less than one row. It is the caller's
code, not the allocator's; an allocator knows its three sizes and ``evict_for_alloc`` only (contract_unified §10, §15).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from oracle.call import Tree
from oracle.observation import Eviction


class TreeAllocator(Protocol):
    """How the tree frees. Slots are virtual FULL slots of whole pages, a state is a virtual state."""

    def free_both(self, slots: Sequence[int], start_pos: int) -> None:
        """``free_segment`` of the composite."""

    def free_full_only(self, slots: Sequence[int], start_pos: int) -> None:
        """``free_full_segment`` of the composite; ``free_segment`` where the family has no SWA pool."""

    def free_swa(self, slots: Sequence[int], start_pos: int) -> None:
        """``free_swa_segment`` of the composite."""

    def free_full_band(self, slots: Sequence[int], start_pos: int) -> None:
        """``free_segment`` of the FULL band itself."""

    def free_state(self, state: int) -> None:
        """``free`` of one state."""


class FakeTree:
    """The tree of one call. ``evicted`` says what it gave up."""

    def __init__(self, tree: Tree, allocator: TreeAllocator) -> None:
        self._tree = tree
        self._allocator = allocator
        self._bound = [row.bound for row in tree.rows]
        self._held = [True for _ in tree.rows]
        self._states = list(range(len(tree.states)))
        self.evicted: list[Eviction] = []

    def full_evictable_size(self) -> int:
        """FULL slots that the tree still holds."""
        return sum(
            len(row.slots) for row, held in zip(self._tree.rows, self._held, strict=True) if held
        )

    def swa_evictable_size(self) -> int:
        """Slots with peers that the tree still holds."""
        rows = zip(self._tree.rows, self._held, self._bound, strict=True)
        return sum(len(row.slots) for row, held, bound in rows if held and bound)

    def mamba_evictable_size(self) -> int:
        """States that the tree still holds."""
        return len(self._states)

    def evict_for_alloc(
        self, full: int, swa: int, states: int, enough: Callable[[], bool] = lambda: False
    ) -> tuple[int, int, int]:
        """Free at least that many FULL slots, SWA slots and states if there are so many; ``enough``, asked before each row
        or state, stops it earlier. Returns what was freed: slots, slots, states. A row that gives up its FULL pages gives up
        its peers too, and they count.
        """
        freed_full = freed_swa = freed_states = 0
        for index, row in enumerate(self._tree.rows):
            if freed_full >= full or enough():
                break
            if self._held[index]:
                freed_swa += len(row.slots) if self._bound[index] else 0
                self._give_up(index)
                freed_full += len(row.slots)
        for index, row in enumerate(self._tree.rows):
            if freed_swa >= swa or enough():
                break
            if self._held[index] and self._bound[index]:
                self._give_up_peers(index)
                freed_swa += len(row.slots)
        while self._states and freed_states < states and not enough():
            index = self._states.pop(0)
            self._allocator.free_state(self._tree.states[index])
            self.evicted.append(Eviction(index, "state"))
            freed_states += 1
        return freed_full, freed_swa, freed_states

    def _give_up_peers(self, index: int) -> None:
        row = self._tree.rows[index]
        self._bound[index] = False
        self._allocator.free_swa(row.slots, row.start_pos)
        self.evicted.append(Eviction(index, "swa"))

    def _give_up(self, index: int) -> None:
        row, allocator = self._tree.rows[index], self._allocator
        if self._tree.direct and self._bound[index]:
            self._give_up_peers(index)
        bound, self._held[index], self._bound[index] = self._bound[index], False, False
        if self._tree.direct:
            allocator.free_full_band(row.slots, row.start_pos)
        elif bound:
            allocator.free_both(row.slots, row.start_pos)
        else:
            allocator.free_full_only(row.slots, row.start_pos)
        self.evicted.append(Eviction(index, "both" if bound else "full"))
