"""One launch for any set-shaped free, at once or at the end of a group (contract_paged_swa §5.5, §6.3, §6.4).

Guarantees that the lists have room before the launch. How many pages there were only the device knows, so ``run`` waits for it once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from targets.eager import debug_checks
from targets.fused.kernels_lists import TILE
from targets.fused.kernels_segments import UNRELEASED
from targets.fused.kernels_sets import (
    BY_MAPPING,
    BY_VALUE,
    FOREIGN,
    FULL_FOUND,
    SWA_FOUND,
    free_sets,
)
from targets.fused.launcher import tiles
from targets.fused.workspace import Workspace

if TYPE_CHECKING:
    from targets.fused.buffers import Pile
    from targets.fused.memory import Address
    from targets.fused.paged import FusedPagedAllocator
    from targets.fused.segments import Table

MOST_PROGRAMS = 128


class SetFree:
    """The launch that releases ``swa_slots`` on the SWA side and ``full_slots`` on the FULL side, each page once.

    With a ``table``, the mapping, ``swa_slots`` are FULL slots whose whole pages lose their peers. After ``run``: ``swa_found`` and ``full_found``
    pages were released (below 0: none, because the launch stopped before), ``unreleased`` FULL slots still had a peer.
    """

    def __init__(
        self,
        workspace: Workspace,
        page_size: int,
        *,
        swa: FusedPagedAllocator | None = None,
        swa_slots: torch.Tensor | None = None,
        table: Table | None = None,
        full: FusedPagedAllocator | None = None,
        full_slots: torch.Tensor | None = None,
    ) -> None:
        self.workspace = workspace
        self.page_size = page_size
        self.swa, self.swa_slots = swa, swa_slots
        self.full, self.full_slots = full, full_slots
        self.table = table
        self.swa_pages: Pile | None = None
        self.full_pages: Pile | None = None
        self.swa_found = self.full_found = self.unreleased = 0

    def with_page_piles(self, swa_pages: Pile | None) -> SetFree:
        """Release the page piles too: ``swa_pages`` before the SWA set, the FULL pool's own after the FULL set."""
        self.swa_pages = swa_pages
        assert self.full is not None
        self.full_pages = self.full.page_pile
        return self

    def run(self, *, released: bool = False, stop: bool = False) -> None:
        """Launch, wait, and tell the pools. ``released``: count FULL slots that have a peer; ``stop``: if any has, the FULL side is left."""
        self._launch(released=released, stop=stop)
        report = self.workspace.read()
        self.swa_found = report[SWA_FOUND.value] if self.swa_slots is not None else 0
        self.full_found = report[FULL_FOUND.value] if self.full_slots is not None else 0
        self.unreleased = report[UNRELEASED.value] if released else 0
        if self.swa is not None:
            self.swa.pages.wrote(self.swa_pages.count if self.swa_pages is not None else 0)
            self.swa.pages.wrote(self.swa_found)
        if self.full_found == FOREIGN.value:
            self._release_foreign()
        elif self.full is not None and not self.swa_is_overfull() and self.full_found >= 0:
            self.full.pages.wrote(self.full_found)
            self.full.pages.wrote(self.full_pages.count if self.full_pages is not None else 0)

    def _release_foreign(self) -> None:
        """Release pages that no mark can stand for, as only a caller's own page ids bring in: with torch, once."""
        assert self.full is not None
        assert self.full_slots is not None
        pages = debug_checks.distinct(self.full_slots // self.page_size)
        self.full.pages.push(pages)
        self.full_found = pages.numel()
        if self.full_pages is not None and self.full_pages.count:
            self.full.pages.push(self.full_pages.everything())

    def swa_is_overfull(self) -> bool:
        """Whether the SWA set left more pages there than the pool has."""
        swa = self.swa
        return self.swa_slots is not None and swa is not None and swa.available_size() > swa.size

    def _launch(self, *, released: bool, stop: bool) -> None:
        work, nothing = self.workspace, self.workspace.report
        unused = nothing.address
        by_mapping = BY_MAPPING if self.table is not None else BY_VALUE
        read = 0 if self.swa_slots is None else self.swa_slots.numel()
        marked = 0 if self.full_slots is None else self.full_slots.numel()
        programs = 1
        if work.device.type != "cpu":
            programs = min(MOST_PROGRAMS, tiles(max(read, marked), TILE))
        swa_slots = self.swa_slots if self.swa_slots is not None else nothing.tensor
        full_slots = self.full_slots if self.full_slots is not None else nothing.tensor
        pool = self.full if self.full is not None else self.swa
        assert pool is not None
        free_sets.launch(
            programs,
            (swa_slots, full_slots),
            (
                *(swa_slots.stride(0), read, full_slots.stride(0), marked, self.page_size),
                *(self.table or work.nothing[:2]),
                work.scratch_for(read),
                *_side(self.swa, self.swa_slots, self.swa_pages, unused, before=True),
                self._swa_room(),
                *_side(self.full, self.full_slots, self.full_pages, unused, before=False),
                *self._page_piles(unused),
                *(unused, int(stop), work.tickets.address, work.ticket_target(programs)),
            ),
            (
                0 if self.swa_slots is None else by_mapping,
                int(self.full_slots is not None),
                int(released),
                int(self.full_pages is not None),
                int(not pool.need_sort),
                TILE,
            ),
            work.device,
            swa_slots.dtype,
            full_slots.dtype,
        )
        work.launched(programs)

    def _swa_room(self) -> int:
        """How many more pages the SWA pool may hold once its page pile is in."""
        if self.swa is None:
            return 0
        free = self.swa.pages.count + self.swa.pages.staged_count
        waiting = self.swa_pages.count if self.swa_pages is not None else 0
        return self.swa.size // self.page_size - free - waiting

    def _page_piles(self, nothing: Address) -> tuple[int, ...]:
        """The SWA page pile, its length and where it goes; the FULL page pile and its length."""
        swa: tuple[int, ...] = (nothing, 0, 0)
        if self.swa is not None and self.swa_pages is not None:
            count = self.swa_pages.count
            _, start, _ = self.swa.pages.write(count)
            swa = (self.swa_pages.address, count, start)
        if self.full_pages is None:
            return (*swa, nothing, 0)
        return (*swa, self.full_pages.address, self.full_pages.count)


def _side(
    pool: FusedPagedAllocator | None,
    slots: torch.Tensor | None,
    page_pile: Pile | None,
    nothing: Address,
    *,
    before: bool,
) -> tuple[int, ...]:
    """Marks, how many, ring, edge and capacity of a side. ``before``: its page pile goes in before the set."""
    if pool is None:
        return (nothing, 0, nothing, 0, 1)
    waiting = page_pile.count if page_pile is not None else 0
    most = min(slots.numel() * pool.page_size, pool.workspace.domain) if slots is not None else 0
    pool.pages.reserve(most + waiting)
    edge = pool.pages.edge(waiting if before else 0)
    work = pool.workspace
    return (work.marks.address, work.domain, pool.pages.address, edge, pool.pages.capacity)
