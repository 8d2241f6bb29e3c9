"""The hybrid allocator: what hands slots out on both sides and maps them (contract_paged_swa §6.2).

A call that fails takes from neither side: both are checked and planned before either gives anything.
"""

from __future__ import annotations

from collections.abc import Sequence

from oracle.call import Call
from oracle.reference import page_layout
from oracle.reference.hybrid_frees import HybridFrees
from oracle.reference.paged_alloc import PagedPool
from oracle.reference.peer_mapping import UNMAPPED
from oracle.reference.raised import PredictedError, leave_undefined, require


class HybridPool(HybridFrees):
    """The whole hybrid allocator."""

    def alloc(self, need: int) -> list[int] | None:
        """``need`` slots on each side, at page size 1 only; None when either side has fewer (§6.2)."""
        require(self.page_size == 1, f"page size: alloc needs 1, it is {self.page_size}")
        leave_undefined(unless=need >= 0, reason=f"a need of {need} slots is negative")
        if need > min(self.full.available_size(), self.swa.available_size()):
            return None
        slots, peers = self.full.alloc(need), self.swa.alloc(need)
        if slots is not None and peers is not None:
            self.mapping.assign(slots, peers)
        return slots

    def alloc_extend(self, call: Call) -> list[int] | None:
        """New slots on both sides; None, with nothing merged, when either is short of pages (§6.2)."""
        return self.take_extend(call) if self.admits_extend(call) else None

    def admits_extend(self, call: Call) -> bool:
        """Whether both sides have the pages for an extend. Nothing is changed (§6.2)."""
        self._paged_sides(call)
        page_layout.check_extend_shapes(call)
        prefix_lens, seq_lens = call.prefix_lens, call.seq_lens
        pages = sum(page_layout.new_pages_of_extend(prefix_lens, seq_lens, self.page_size))
        page_layout.check_new_pages(call.num_new_pages, pages)
        swa_last = self.mapping.peers(call.last_loc)
        growing = [i for i in self._partial(call) if seq_lens[i] > prefix_lens[i]]
        self._require_live_peers(_at(growing, swa_last))
        return self.new_pages_available(pages, pages)

    def take_extend(self, call: Call) -> list[int] | None:
        """The slots of an extend that is admitted; the debug assertions of both sides come first (§6.2)."""
        full, swa = self._paged_sides(call)
        prefix_lens, seq_lens = call.prefix_lens, call.seq_lens
        swa_last = self.mapping.peers(call.last_loc)
        partial = self._partial(call)
        full.require_extend_continues(prefix_lens, call.last_loc)
        swa.require_extend_continues(_at(partial, prefix_lens), _at(partial, swa_last))
        full_plan = full.plan_extend(prefix_lens, seq_lens, call.last_loc)
        swa_plan = swa.plan_extend(prefix_lens, seq_lens, swa_last)
        if full_plan is None or swa_plan is None:
            return None
        slots = full.take(full_plan)
        self.mapping.assign(slots, swa.take(swa_plan))
        return slots

    def alloc_extend_swa_tail(self, call: Call) -> list[int] | None:
        """FULL slots for a whole extend, peers for its last ``swa_tail_len`` slots only (§6.2).

        The tail starts at the first slot of a fresh SWA page, wherever it starts in its FULL page.
        """
        full, swa = self._paged_sides(call)
        tail = call.swa_tail_len
        require(len(call.prefix_lens) == 1, "batch size: a tail preallocation takes one request")
        require(0 <= tail <= call.extend_num_tokens, f"tail: {tail} is not within the extend")
        page_layout.check_extend_shapes(call)
        pages = sum(
            page_layout.new_pages_of_extend(call.prefix_lens, call.seq_lens, self.page_size)
        )
        page_layout.check_new_pages(call.num_new_pages, pages)
        if not self.new_pages_available(pages, page_layout.whole_pages(tail, self.page_size)):
            return None
        full.require_extend_continues(call.prefix_lens, call.last_loc)
        full_plan = full.plan_extend(call.prefix_lens, call.seq_lens, call.last_loc)
        swa_plan = swa.plan_extend([0], [tail], [-1]) if tail else None
        slots = None if full_plan is None else full.take(full_plan)
        if slots is not None and swa_plan is not None:
            head = len(slots) - tail
            self.mapping.assign(slots[head:], swa.take(swa_plan))
            self.mapping.unmap(slots[:head])
        return slots

    def alloc_decode(self, call: Call) -> list[int] | None:
        """One new slot for each request on both sides; None when either is short, both perhaps merged (§6.2)."""
        full, swa = self._paged_sides(call)
        page_layout.check_decode_shapes(call)
        seq_lens = call.seq_lens
        swa_last = self.mapping.peers(call.last_loc)
        partial = [i for i, seq in enumerate(seq_lens) if (seq - 1) % self.page_size]
        self._require_live_peers(_at(partial, swa_last))
        full.require_decode_continues(seq_lens, call.last_loc)
        swa.require_decode_continues(_at(partial, seq_lens), _at(partial, swa_last))
        full.merge_for_decode(len(seq_lens))
        swa.merge_for_decode(len(seq_lens))
        if full.short_for_decode(seq_lens) or swa.short_for_decode(seq_lens):
            return None
        full_plan = full.plan_decode(seq_lens, call.last_loc)
        swa_plan = swa.plan_decode(seq_lens, swa_last)
        slots = full.take(full_plan)
        self.mapping.assign(slots, swa.take(swa_plan))
        return slots

    def _partial(self, call: Call) -> list[int]:
        """The requests of an extend whose prefix ends inside a page."""
        return [i for i, prefix in enumerate(call.prefix_lens) if prefix % self.page_size]

    def _paged_sides(self, call: Call) -> tuple[PagedPool, PagedPool]:
        """Both sides as paged pools; the assertion that the page size is more than 1 (§6.2)."""
        if isinstance(self.full, PagedPool) and isinstance(self.swa, PagedPool):
            return self.full, self.swa
        raise PredictedError("AssertionError", f"page size: {call.method} needs more than 1")

    def _require_live_peers(self, peers: Sequence[int]) -> None:
        """Give no prediction when a partial page goes on whose last slot has no peer: a caller error (§6.2).

        That comes before every refusal: an allocator may refuse such a call for any reason, and as early as it likes.
        """
        leave_undefined(
            unless=all(peer > UNMAPPED for peer in peers),
            reason="a request continues a partial page whose last slot has no live peer",
        )


def _at(positions: Sequence[int], values: Sequence[int]) -> list[int]:
    return [values[position] for position in positions]
