"""The allocator of states: a queue of slots, some of which may be taken out in advance (contract_paged_swa §8).

Checks nothing: no duplicates, no range, no owner. A begin drops what an earlier begin took out and no end gave back.
"""

from __future__ import annotations

from collections.abc import Sequence

from oracle.contract import Contract
from oracle.geometry import Geometry, Mode
from oracle.observation import PoolState, Snapshot
from oracle.reference.raised import leave_undefined
from oracle.reference.signals import Signals


class StateSlots:
    """``free_slots`` is consumed from its head; ``prepared`` is what is left of the slots taken out in advance, None where
    nothing was."""

    def __init__(self, geometry: Geometry, mode: Mode, contract: Contract) -> None:
        self.signals = Signals(mode.level, contract)
        self.size = geometry.size
        self.clear()

    def clear(self) -> None:
        """Every slot but 0 is free, in order, and nothing is prepared (§8, rule 4)."""
        self.free_slots = list(range(1, self.size + 1))
        self.prepared: list[int] | None = None

    def alloc(self, need: int) -> list[int] | None:
        """A single slot from the prepared ones while there are any, else ``need`` slots from the head, or None (§8)."""
        leave_undefined(unless=need >= 0, reason=f"a need of {need} states is negative")
        if need == 1 and self.prepared:
            slot, self.prepared = self.prepared[:1], self.prepared[1:]
            return slot
        return self._take(need)

    def free(self, slots: Sequence[int]) -> None:
        """Append ``slots`` in the given order, duplicates and all (§8)."""
        self.free_slots = [*self.free_slots, *slots]

    def alloc_group_begin(self, need: int) -> None:
        """Take ``need`` slots out in advance; with too few free, or none wanted, nothing is prepared (§8)."""
        self.prepared = self._take(need) if need > 0 else None

    def alloc_group_end(self) -> None:
        """What is left of the prepared slots goes back to the tail (§8)."""
        self.free(self.prepared or [])
        self.prepared = None

    def snapshot(self) -> Snapshot:
        """Everything that can be seen of the allocator (§14)."""
        available = len(self.free_slots)
        return Snapshot(
            full=PoolState(
                size=self.size,
                available=available,
                free=self.free_slots[:],
                staged=[],
                staged_count=0,
                group=None,
                page_pile=[],
            ),
            swa_set_pile=[],
            swa_page_pile=[],
            queries={"available_size": available, "size": self.size},
            new_pages=[],
            prepared=None if self.prepared is None else self.prepared[:],
        )

    def _take(self, need: int) -> list[int] | None:
        if need > len(self.free_slots):
            return None
        taken, self.free_slots = self.free_slots[:need], self.free_slots[need:]
        return taken
