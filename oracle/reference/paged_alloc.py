"""The paged allocator: what takes pages out of the free list (contract_paged_swa §5.2 to §5.4).

An extend and a decode are each split in three: the check of ``last_loc``, which precedes every change; the plan,
which may merge and may be refused; and ``take``, which cannot fail. A composite checks and plans both sides before
it takes from either (§6.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from oracle.call import Call
from oracle.reference import page_layout
from oracle.reference.paged import PagedFrees
from oracle.reference.raised import leave_undefined, require


class Plan(Struct, frozen=True):
    """The slots to hand out, in order, and how many pages of the head of the free list they use up."""

    slots: list[int]
    pages: int


class PagedPool(PagedFrees):
    """The whole paged allocator."""

    def alloc(self, need: int) -> list[int] | None:
        """``need`` slots as whole pages, rounded down; None when there are too few, the merge kept (§5.2)."""
        leave_undefined(unless=need >= 0, reason=f"a need of {need} slots is negative")
        if self.debug:
            require(need % self.page_size == 0, f"debug: {need} slots are no whole pages")
        pages = need // self.page_size
        if pages > len(self.free_list):
            self.merge_and_sort_free()
        if pages > len(self.free_list):
            return None
        slots = [
            slot
            for page in self.free_list[:pages]
            for slot in range(page * self.page_size, (page + 1) * self.page_size)
        ]
        return self.take(Plan(slots, pages))

    def alloc_extend(self, call: Call) -> list[int] | None:
        """New slots for requests that grow from prefix to seq; None when pages are short (§5.3)."""
        page_layout.check_extend_shapes(call)
        leave_undefined(
            unless=call.num_new_pages is None or self.contract.takes_page_count,
            reason="num_new_pages is passed to an allocator that does not take it",
        )
        self.require_extend_continues(call.prefix_lens, call.last_loc)
        plan = self.plan_extend(
            call.prefix_lens, call.seq_lens, call.last_loc, num_new_pages=call.num_new_pages
        )
        return None if plan is None else self.take(plan)

    def alloc_decode(self, call: Call) -> list[int] | None:
        """One new slot for each request; None when pages are short (§5.4)."""
        page_layout.check_decode_shapes(call)
        self.require_decode_continues(call.seq_lens, call.last_loc)
        self.merge_for_decode(len(call.seq_lens))
        if self.short_for_decode(call.seq_lens):
            return None
        return self.take(self.plan_decode(call.seq_lens, call.last_loc))

    def require_extend_continues(self, prefix_lens: Sequence[int], last_loc: Sequence[int]) -> None:
        """Debug: ``last_loc`` sits where the prefix ends in its page (§5.3)."""
        if self.debug:
            self._require_offsets(
                ((last + 1) - prefix) for prefix, last in zip(prefix_lens, last_loc, strict=True)
            )

    def require_decode_continues(self, seq_lens: Sequence[int], last_loc: Sequence[int]) -> None:
        """Debug: ``last_loc`` sits where the sequence without its new slot ends in its page (§5.4)."""
        if self.debug:
            self._require_offsets(
                ((last + 2) - seq) for seq, last in zip(seq_lens, last_loc, strict=True)
            )

    def plan_extend(
        self,
        prefix_lens: Sequence[int],
        seq_lens: Sequence[int],
        last_loc: Sequence[int],
        num_new_pages: int | None = None,
    ) -> Plan | None:
        """Steps 1 to 4 of §5.3. The merge depends on a bound, not on the need: both are looked at."""
        need = sum(page_layout.new_pages_of_extend(prefix_lens, seq_lens, self.page_size))
        page_layout.check_new_pages(num_new_pages, need)
        bound = (sum(seq_lens) - sum(prefix_lens)) // self.page_size + len(seq_lens) + 1
        if bound > len(self.free_list):
            self.merge_and_sort_free()
        if bound > len(self.free_list) and need > len(self.free_list):
            self.leave_short_launch()
            return None
        slots = page_layout.slots_of_extend(
            prefix_lens, seq_lens, last_loc, self.free_list[:need], self.page_size
        )
        self._require_unique(slots)
        return Plan(slots, need)

    def merge_for_decode(self, requests: int) -> None:
        """Step 1 of §5.4: the merge depends on the number of requests, not on the need."""
        if requests > len(self.free_list):
            self.merge_and_sort_free()

    def short_for_decode(self, seq_lens: Sequence[int]) -> bool:
        """Step 2 of §5.4: whether the requests that open a page are more than the free pages."""
        short = self._pages_for_decode(seq_lens) > len(self.free_list)
        if short:
            self.leave_short_launch()
        return short

    def leave_short_launch(self) -> None:
        """Give no prediction where debug mode looks at what a kernel made of too few pages (§13.2, Paged.alloc_extend)."""
        leave_undefined(
            unless=not self.debug or self.contract.capacity_test == "before-launch",
            reason="a short pool is noticed before or after debug mode looks at the slots",
        )

    def plan_decode(self, seq_lens: Sequence[int], last_loc: Sequence[int]) -> Plan:
        """Steps 3 and 4 of §5.4."""
        pages = self._pages_for_decode(seq_lens)
        slots = page_layout.slots_of_decode(
            seq_lens, last_loc, self.free_list[:pages], self.page_size
        )
        self._require_unique(slots)
        return Plan(slots, pages)

    def take(self, plan: Plan) -> list[int]:
        """Drop the planned pages from the head of the free list (§5.3 step 5, §5.4 step 5)."""
        self.free_list = self.free_list[plan.pages :]
        return plan.slots

    def _pages_for_decode(self, seq_lens: Sequence[int]) -> int:
        return sum(page_layout.takes_page(seq, self.page_size) for seq in seq_lens)

    def _require_offsets(self, differences: Iterable[int]) -> None:
        require(
            all(difference % self.page_size == 0 for difference in differences),
            "debug: last_loc does not continue the prefix in its page",
        )

    def _require_unique(self, slots: Sequence[int]) -> None:
        if self.debug:
            require(len(set(slots)) == len(slots), "debug: a slot would be handed out twice")
