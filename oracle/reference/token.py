"""The token allocator: page size 1, a queue of slots (contract_paged_swa §4).

Checks nothing: no duplicates, no range, no owner.
"""

from __future__ import annotations

from collections.abc import Sequence

from oracle.call import Call
from oracle.contract import Contract
from oracle.observation import PoolState
from oracle.reference.pool import Pool
from oracle.reference.raised import NEVER_SAVED, UndefinedError, leave_undefined, not_implemented


class TokenPool(Pool):
    """``free_list`` is consumed from its head; ``released`` holds what need_sort has not merged yet."""

    def __init__(self, size: int, contract: Contract, *, need_sort: bool) -> None:
        super().__init__(1, contract)
        self.saved: tuple[list[int], list[int]] | None = None
        self.size = size
        self.need_sort = need_sort
        self.clear()

    def clear(self) -> None:
        """Every slot but 0 is free, in order; an open group is dropped (§1, §3)."""
        self.free_list = list(range(1, self.size + 1))
        self.released: list[int] = []
        self.group = None

    def resize(self, size: int) -> None:
        """Take a new size and clear (§1)."""
        leave_undefined(unless=size >= 0, reason=f"size {size} is negative")
        self.size = size
        self.clear()

    def backup_state(self) -> None:
        """Remember both lists (§13.1)."""
        self.saved = self.free_list, self.released

    def restore_state(self) -> None:
        """Return both lists to the last backup; an open group stays as it is (§13.1)."""
        if self.saved is None:
            raise UndefinedError(NEVER_SAVED)
        self.free_list, self.released = self.saved

    def available_size(self) -> int:
        """Slots that can be handed out, merged or not (§4)."""
        return len(self.free_list) + len(self.released)

    def merge_and_sort_free(self) -> None:
        """Merge what was released and sort; with nothing released the order stays (§1)."""
        if self.released:
            self.free_list = sorted(self.free_list + self.released)
            self.released = []

    def alloc(self, need: int) -> list[int] | None:
        """The first ``need`` slots, or None when there are fewer, the merge kept (§4)."""
        leave_undefined(unless=need >= 0, reason=f"a need of {need} slots is negative")
        if need > len(self.free_list):
            self.merge_and_sort_free()
        if need > len(self.free_list):
            return None
        taken, self.free_list = self.free_list[:need], self.free_list[need:]
        return taken

    def alloc_extend(self, call: Call) -> list[int] | None:
        """Does not exist here (§3)."""
        not_implemented(f"a token allocator has no {call.method}")

    def alloc_decode(self, call: Call) -> list[int] | None:
        """Does not exist here (§3)."""
        not_implemented(f"a token allocator has no {call.method}")

    def free(self, slots: Sequence[int]) -> None:
        """Append ``slots`` in the given order, duplicates and all (§4)."""
        if not slots:
            return
        if self.group is not None:
            self.enqueue(slots)
        else:
            self.release(slots)

    def free_page_ids(self, pages: Sequence[int]) -> None:
        """The same as ``free``: a page is a slot (§4)."""
        self.free(pages)

    def release(self, slots: Sequence[int]) -> None:
        """Where released slots go: behind the released ones with need_sort, else behind the free ones (§4)."""
        if self.need_sort:
            self.released = [*self.released, *slots]
        else:
            self.free_list = [*self.free_list, *slots]

    def state(self) -> PoolState:
        """Everything that can be seen of the pool (§14)."""
        return PoolState(
            size=self.size,
            available=self.available_size(),
            free=self.free_list[:],
            staged=[self.released[:]] if self.released else [],
            staged_count=len(self.released),
            group=None if self.group is None else self.group[:],
            page_pile=[],
            all_free=self.free_list + self.released,
        )
