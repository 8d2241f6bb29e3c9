"""Set-shaped frees of the fused hybrid allocator, and the end of a free group (contract_paged_swa §6.3, §6.4).

Guarantees one launch for each outside debug mode. In a group the mapping is read and cleared at the call, and only the release waits.
"""

from __future__ import annotations

import torch

from targets.eager.signals import PEER_RELEASED_INVARIANT
from targets.fused.buffers import FreeList, Pile, copy_into
from targets.fused.hybrid_state import FusedHybridState
from targets.fused.kernels_lists import TILE
from targets.fused.kernels_segments import UNRELEASED
from targets.fused.kernels_sets import defer_set
from targets.fused.launcher import tiles
from targets.fused.listed_pool import ListedPool
from targets.fused.paged import FusedPagedAllocator
from targets.fused.segments import MOST_PROGRAMS
from targets.fused.sets import SetFree
from targets.fused.watch import Watch, watch_for

FREED_ALONE = "freed from the FULL pool alone"


class FusedHybridSets(FusedHybridState):
    """The set-shaped part of the freeing half."""

    def free(self, free_index: torch.Tensor) -> None:
        """Give back slots of any pages on both sides, SWA first. At page size 1 each slot must still have its peer."""
        if free_index.numel() == 0:
            return
        if self.page_size == 1:
            self._free_segment(free_index, free_index.numel(), with_full=True)
            self.full_side._assert_within_size()
        elif self.debug_mode:
            self.free_swa(free_index)
            self.free_full(free_index)
        else:
            self._free_set(free_index, swa=True, full=True)

    def free_swa(self, free_index: torch.Tensor) -> None:
        """Give back the peers of the whole pages of these slots; those without one are skipped (page size 1: a segment)."""
        if free_index.numel() == 0:
            return
        if self.page_size == 1:
            self._free_segment(free_index, free_index.numel(), with_full=False)
        else:
            self._free_set(free_index, swa=True, full=False)

    def free_full(self, free_index: torch.Tensor) -> None:
        """Give back FULL slots whose peers are gone already."""
        if free_index.numel() == 0:
            return
        self._free_set(free_index, swa=False, full=True)

    def free_group_end(self) -> None:
        """Release the SWA piles, then the FULL side's, then check both capacities; also when no group is open (§6.4)."""
        self.free_group = None
        full, swa = self.full_side, self.swa_side
        if self.debug_mode:
            self._flush_one_by_one()
        elif self.swa_set_pile.count or (self.page_size > 1 and full.pile.count):
            self._flush_sets()
        else:
            self._flush_lists(full, swa)
        full._assert_within_size()
        swa._assert_within_size()

    def _free_segment(self, segment: torch.Tensor, slots: int, *, with_full: bool) -> None:
        raise NotImplementedError

    def _free_set(self, slots: torch.Tensor, *, swa: bool, full: bool) -> None:
        """Free on the sides named, deferred as the groups say. Both at once only when neither side checks its result in between."""
        watch = None
        if full:
            watch = watch_for(self.signals, PEER_RELEASED_INVARIANT, exact=self.exact)
        full_pool = self.full_side
        deferred_swa = swa and self.free_group is not None
        deferred_full = full and full_pool.group_is_open
        if self.page_size == 1 or deferred_swa or deferred_full:
            # One side may be deferred and the other not while a group is half open (§6.4).
            if deferred_swa or not swa:
                self._defer(slots, swa=swa, full=full, watch=watch)
            else:
                self._release_slots(slots, full=False, watch=None)
                if full:
                    self._defer(slots, swa=False, full=True, watch=watch)
        else:
            self._release_slots(slots, swa=swa, full=full, watch=watch)

    def _release_slots(
        self, slots: torch.Tensor, *, full: bool, watch: Watch | None, swa: bool = True
    ) -> None:
        full_pool, swa_pool = self._paged_sides()
        free = SetFree(
            self.workspace,
            self.page_size,
            swa=swa_pool if swa else None,
            swa_slots=slots if swa else None,
            table=self.table,
            full=full_pool if full else None,
            full_slots=slots if full else None,
        )
        free.run(released=watch is not None, stop=watch is not None and watch.stop)
        if swa:
            if free.swa_found:
                swa_pool._check_duplicates()
            swa_pool._assert_within_size()
        if watch is not None:
            watch.found(free.unreleased, FREED_ALONE)
        if full:
            full_pool._check_duplicates()
            full_pool._assert_within_size()

    def _defer(self, slots: torch.Tensor, *, swa: bool, full: bool, watch: Watch | None) -> None:
        """Read and clear for the SWA pile, and put the slots on the FULL pile (or, at page size 1 outside a group, behind the list)."""
        full_pool = self.full_side
        work, count = self.workspace, slots.numel()
        watched = watch is not None
        read = count * self.page_size if swa else 0
        buffer, start, _ = self.swa_set_pile.write(read)
        waiting: Pile | FreeList = full_pool.pile if full_pool.group_is_open else full_pool.pages
        full_place = waiting.write(count) if full else work.nothing
        programs = 1
        if work.device.type != "cpu" and not watched:
            programs = min(MOST_PROGRAMS, tiles(max(read, count), TILE))
        many = swa and programs > 1
        target = work.ticket_target(programs) if many else 0
        stop = watch is not None and watch.stop
        defer_set.launch(
            programs,
            (slots,),
            (
                *(slots.stride(0), count, self.page_size, *self.table),
                *(buffer, start, *full_place),
                *(work.report.address, work.tickets.address, target, int(stop)),
            ),
            (int(swa), int(full), int(watched), int(many), TILE),
            work.device,
            slots.dtype,
        )
        if many:
            work.launched(programs)
        if swa:
            self.swa_set_pile.wrote(read)
        if watch is not None:
            watch.judge(work, UNRELEASED.value, FREED_ALONE)
        if full:
            waiting.wrote(count)
            if isinstance(full_pool, FusedPagedAllocator):
                full_pool._check_duplicates()
            full_pool._assert_within_size()

    def _flush_sets(self) -> None:
        full, swa = self._paged_sides()
        full.group_is_open = False
        set_pile = self.swa_set_pile.everything() if self.swa_set_pile.count else None
        slots = full.pile.everything() if full.pile.count else None
        flush = SetFree(
            *(self.workspace, self.page_size),
            swa=swa,
            swa_slots=set_pile,
            full=full,
            full_slots=slots,
        )
        flush.with_page_piles(self.swa_page_pile).run()
        self.swa_page_pile.empty()
        self.swa_set_pile.empty()
        if flush.swa_is_overfull():
            # The FULL side was not reached and waits on, in a group of its own (§6.4).
            full.group_is_open = True
            swa._assert_within_size()
        full.pile.empty()
        full.page_pile.empty()

    def _flush_lists(self, full: ListedPool, swa: ListedPool) -> None:
        """Flush what needs no sorting: SWA pages, FULL pages (slots at page size 1)."""
        full.group_is_open = False
        waiting = full.pile_of_segments()
        copies = [
            (pile.everything(), pool.pages.write(pile.count))
            for pile, pool in ((self.swa_page_pile, swa), (waiting, full))
            if pile.count
        ]
        if copies:
            copy_into(*copies)
        for pile, pool in ((self.swa_page_pile, swa), (waiting, full)):
            pool.pages.wrote(pile.count)
            pile.empty()

    def _flush_one_by_one(self) -> None:
        """As debug mode needs it, which looks at each result."""
        full, swa = self._paged_sides()
        if self.swa_page_pile.count:
            pages = self.swa_page_pile.everything()
            self.swa_page_pile.empty()
            swa.free_page_ids(pages)
        if self.swa_set_pile.count:
            peers = self.swa_set_pile.everything()
            self.swa_set_pile.empty()
            free = SetFree(self.workspace, self.page_size, swa=swa, swa_slots=peers)
            free.run()
            if free.swa_found:
                swa._check_duplicates()
            swa._assert_within_size()
        full.free_group_end()
