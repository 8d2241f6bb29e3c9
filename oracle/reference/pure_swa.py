"""The allocator of a model whose layers all slide: one token pool that is shown as both sides (contract_paged_swa §6.8)."""

from __future__ import annotations

from collections.abc import Sequence

from oracle.call import Call, Segment
from oracle.contract import Contract
from oracle.geometry import Geometry, Mode
from oracle.observation import Snapshot, new_pages_grid
from oracle.reference.pool import Pool
from oracle.reference.raised import leave_undefined, not_implemented, require
from oracle.reference.signals import Signals
from oracle.reference.token import TokenPool


class PureSwaPool(Pool):
    """``pool`` never opens its own group: what waits is in ``group``. ``mapping`` is the identity with its sentinel, and
    nothing changes it."""

    def __init__(self, geometry: Geometry, mode: Mode, contract: Contract) -> None:
        super().__init__(1, contract)
        self.signals = Signals(mode.level, contract)
        self.pool = TokenPool(geometry.size, contract, need_sort=geometry.need_sort)
        self.size_full = geometry.size
        self.size_swa = geometry.size
        self.mapping = [*range(geometry.size + 1), -1]

    def clear(self) -> None:
        """Back to the state after construction, in a group too (rule 4)."""
        self.pool.clear()
        self.group = None

    def resize(self, size_full: int, size_swa: int) -> None:
        """Take new sizes and clear. The one pool is sized twice, and the SWA size comes last (§6.8)."""
        leave_undefined(unless=min(size_full, size_swa) >= 0, reason="a size is negative")
        leave_undefined(
            unless=max(size_full, size_swa) + 2 <= len(self.mapping),
            reason="a resize beyond the table may work or be refused",
        )
        self.size_full = size_full
        self.size_swa = size_swa
        self.pool.resize(size_swa)
        self.clear()

    def alloc(self, need: int) -> list[int] | None:
        """As the token allocator (§6.8, §4)."""
        return self.pool.alloc(need)

    def alloc_extend(self, call: Call) -> list[int] | None:
        """Does not exist here (§6.8)."""
        not_implemented(f"a pure-SWA allocator has no {call.method}")

    def alloc_decode(self, call: Call) -> list[int] | None:
        """Does not exist here (§6.8)."""
        not_implemented(f"a pure-SWA allocator has no {call.method}")

    def alloc_extend_swa_tail(self, call: Call) -> list[int] | None:
        """Does not exist here (§6.8)."""
        not_implemented(f"a pure-SWA allocator has no {call.method}")

    def set_full_to_swa_mapping(self, *_: Sequence[int]) -> None:
        """Does not exist here (§6.8)."""
        not_implemented("the mapping of a pure-SWA allocator is constant")

    def clear_full_to_swa_mapping(self, *_: Sequence[int]) -> None:
        """Does not exist here (§6.8)."""
        not_implemented("the mapping of a pure-SWA allocator is constant")

    def translate_loc_from_full_to_swa(self, slots: Sequence[int]) -> list[int]:
        """A slot is its own peer (§6.8)."""
        return list(slots)

    def free(self, slots: Sequence[int]) -> None:
        """Release the slots above 0, or let all of them wait; the over-credit assertion in either case (§6.8)."""
        if not slots:
            return
        self.free_swa(slots)
        available, size = self.pool.available_size(), self.pool.size
        require(available <= size, f"over-credit: {available} of {size} slots")

    def free_swa(self, slots: Sequence[int]) -> None:
        """The same without the assertion (§6.8)."""
        if not slots:
            return
        if self.group is not None:
            self.enqueue(slots)
        else:
            self.pool.free([slot for slot in slots if slot > 0])

    def free_segment(self, slots: Sequence[int], start_pos: int) -> None:  # noqa: ARG002
        """As ``free``: the start is ignored (§6.8)."""
        self.free(slots)

    def free_swa_segment(self, slots: Sequence[int], start_pos: int) -> None:  # noqa: ARG002
        """As ``free_swa``: the start is ignored (§6.8)."""
        self.free_swa(slots)

    def free_full(self, slots: Sequence[int]) -> None:
        """There is no other side: nothing (§6.8)."""

    def free_full_segment(self, slots: Sequence[int], start_pos: int) -> None:
        """There is no other side: nothing (§6.8)."""

    def free_full_segments(self, segments: Sequence[Segment]) -> None:
        """Nothing (§6.8). Whether the order of the segments is still asserted (§3) is left open."""
        last_page: int | None = None
        for segment in segments:
            first, length = segment.start_pos, len(segment.slots)
            leave_undefined(
                unless=not length or last_page is None or first > last_page,
                reason="segments out of order in a call that does nothing",
            )
            last_page = first + length - 1 if length else last_page

    def snapshot(self) -> Snapshot:
        """Everything that can be seen of the allocator (§14)."""
        pool = self.pool.state()
        available = pool.available
        return Snapshot(
            full=pool,
            mapping=self.mapping[:],
            group=None if self.group is None else self.group[:],
            swa_set_pile=[],
            swa_page_pile=[],
            queries={
                "available_size": available,
                "full_available_size": available,
                "swa_available_size": available,
                "size": min(self.size_full, self.size_swa),
                "size_full": self.size_full,
                "size_swa": self.size_swa,
            },
            new_pages=[
                max(full, swa) <= available for full, swa in new_pages_grid(available, available)
            ],
        )
