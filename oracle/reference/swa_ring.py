"""The hybrid allocator in ring mode: each request has a ring of SWA slots of its own, so there is nothing to hand out on that
side (contract_paged_swa §6, §6.2 to §6.4).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from oracle.call import Call
from oracle.contract import Contract
from oracle.geometry import Geometry, Mode
from oracle.observation import Snapshot, new_pages_grid
from oracle.reference import page_layout
from oracle.reference.hybrid_swa import HybridPool
from oracle.reference.raised import leave_undefined, require


class SwaRingPool(HybridPool):
    """``free_request_slots`` is the caller's own count, which only the caller changes. ``swa`` and ``mapping`` lie idle, and so
    do the piles of the SWA side."""

    def __init__(self, geometry: Geometry, mode: Mode, contract: Contract) -> None:
        super().__init__(geometry, mode, contract)
        sizes = geometry.family_sizes
        self.cost = page_layout.whole_pages(sizes.ring, self.page_size) * self.page_size
        self.request_slots = sizes.request_slots
        self.free_request_slots = sizes.request_slots
        self.size_swa = sizes.request_slots * self.cost

    def take_request_slots(self, count: int) -> None:
        """The caller gives ``count`` requests a slot."""
        self._have_request_slots(self.free_request_slots - count)

    def return_request_slots(self, count: int) -> None:
        """The slots of ``count`` requests come back."""
        self._have_request_slots(self.free_request_slots + count)

    def new_pages_available(self, full_pages: int, swa_pages: int) -> bool:  # noqa: ARG002 (a ring never lacks any)
        """Whether the FULL side has that many pages (§6)."""
        return full_pages <= self.full.available_size() // self.page_size

    def alloc_extend(self, call: Call) -> list[int] | None:
        """New slots on the FULL side; None, with nothing merged, when it is short of pages (§6.2)."""
        page_layout.check_extend_shapes(call)
        return self._extend_full(call)

    def alloc_extend_swa_tail(self, call: Call) -> list[int] | None:
        """The same for one request: a ring needs no peers for the tail (§6.2)."""
        require(len(call.prefix_lens) == 1, "batch size: a tail preallocation takes one request")
        fits = 0 <= call.swa_tail_len <= call.extend_num_tokens
        require(fits, f"tail: {call.swa_tail_len} is not within the extend")
        page_layout.check_extend_shapes(call)
        return self._extend_full(call)

    def alloc_decode(self, call: Call) -> list[int] | None:
        """One new slot for each request on the FULL side; None when it is short, perhaps merged (§6.2)."""
        full, _ = self._paged_sides(call)
        return full.alloc_decode(call)

    def free_swa(self, slots: Sequence[int]) -> None:
        """Nothing: the ring stays with its request (§6.3)."""

    def free_swa_segment(self, slots: Sequence[int], start_pos: int) -> None:
        """Nothing, not even the alignment assertion (§6.3)."""

    def free_segment(self, slots: Sequence[int], start_pos: int) -> None:
        """The FULL half, which asserts the alignment (§6.3)."""
        self.full.free_segment(slots, start_pos)

    def snapshot(self) -> Snapshot:
        """Everything that can be seen of the allocator (§14)."""
        state = super().snapshot()
        full_available = state.full.available
        swa_available = self.free_request_slots * self.cost
        size = self.page_size
        return structs.replace(
            state,
            queries={
                **state.queries,
                "available_size": full_available,
                "swa_available_size": swa_available,
                "free_request_slots": self.free_request_slots,
            },
            new_pages=[
                self.new_pages_available(full, swa)
                for full, swa in new_pages_grid(full_available // size, swa_available // size)
            ],
        )

    def _extend_full(self, call: Call) -> list[int] | None:
        full, _ = self._paged_sides(call)
        pages = sum(
            page_layout.new_pages_of_extend(call.prefix_lens, call.seq_lens, self.page_size)
        )
        page_layout.check_new_pages(call.num_new_pages, pages)
        if not self.new_pages_available(pages, pages):
            return None
        return full.alloc_extend(call)

    def _have_request_slots(self, count: int) -> None:
        leave_undefined(
            unless=0 <= count <= self.request_slots,
            reason=f"{count} of {self.request_slots} request slots would be free",
        )
        self.free_request_slots = count
