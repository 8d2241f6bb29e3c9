"""The composite of FULL and states over one buffer, without peers (contract_unified §1, §9, §10)."""

from __future__ import annotations

from collections.abc import Sequence

from oracle.call import Call, Segment
from oracle.fake_tree import FakeTree
from oracle.reference.raised import leave_undefined
from oracle.unified import band_alloc
from oracle.unified.pool import UnifiedPool, joined
from oracle.unified.token_ids import grown_slots, new_page_count


class FullAndState(UnifiedPool):
    """Two bands, each with its own ids. The group has a pile of slots and one of representatives."""

    def available_size(self) -> int:
        """What FULL could get once the states' holes are closed."""
        return self.full.schedulable_pages() * self.page_size

    def alloc(self, slots: int) -> list[int] | None:
        """A row of whole pages."""
        return band_alloc.alloc(self.full, slots)

    def alloc_extend(self, call: Call) -> list[int] | None:
        """Several requests grow."""
        return self._grow(call.prefix_lens, call)

    def alloc_decode(self, call: Call) -> list[int] | None:
        """Each request grows by one slot."""
        return self._grow([length - 1 for length in call.seq_lens], call)

    def _grow(self, prefix_lens: Sequence[int], call: Call) -> list[int] | None:
        size = self.page_size
        lengths = zip(prefix_lens, call.seq_lens, strict=True)
        pages = sum(new_page_count(prefix, length, size) for prefix, length in lengths)
        if pages > len(self.full.free_ids):
            return None
        ids = band_alloc.take_ids(self.full, pages) if pages else []
        if ids is None:
            return None
        return grown_slots(prefix_lens, call.seq_lens, call.last_loc, ids, size)

    def free(self, slots: Sequence[int]) -> None:
        """Free the pages of slots, or defer them."""
        if not slots:
            return
        if self.group is not None:
            self.group.tokens.append(list(slots))
        else:
            self.full.free(slots)

    def free_segment(self, slots: Sequence[int], start_pos: int) -> None:
        """Free the pages of a segment, or defer them; at page size 1 it is ``free``."""
        if not slots:
            return
        self.require_page_start(start_pos)
        representatives = list(slots[:: self.page_size])
        if self.page_size == 1:
            self.free(slots)
        elif self.group is not None:
            self.group.representatives.append(representatives)
        else:
            self.full.free_representatives(representatives)

    def free_segments(self, segments: Sequence[Segment]) -> None:
        """``free_segment`` of each."""
        self.each_segment(segments, self.free_segment)

    def free_group_end(self) -> None:
        """Close the group first; then the slots, then the representatives."""
        piles, self.group = self.group, None
        if piles is None:
            leave_undefined(unless=False, reason="the end of a group that is not open")
            return
        self.full.free(joined(piles.tokens))
        self.full.free_representatives(joined(piles.representatives))

    def evict(self, tree: FakeTree | None, call: Call) -> None:
        """Free what waits, then let the tree give up what is short."""
        if tree is None:
            return
        self.flush_deferred()
        shortfall = call.need - self.available_size()
        if shortfall > 0:
            tree.evict_for_alloc(shortfall, 0, 0)

    def prepare_states(self, count: int) -> None:
        """Make room for states, unless nothing can (§10)."""
        self.flush_deferred()
        state = self.state
        if state.available_pages() < count <= state.schedulable_pages():
            self.relieve_states(count)

    def size_queries(self) -> dict[str, int]:
        """The FULL side's view, which is the whole of it (§10)."""
        available = self.available_size()
        return super().size_queries() | {
            "available_size": available,
            "full_available_size": available,
            "size": available + self.full.allocated_pages() * self.page_size,
        }
