"""What both kinds of band share: the two page tables, ids, holes, who is next to whom, and what forbids moves (contract_unified §2 to §5).

A table is indexed as a CPU tensor is: page -1 is the sentinel at its end, which is where a damaged allocator's -1 shows.
"""

from __future__ import annotations

from collections.abc import Sequence

from oracle.byte_buffer import BandName, Grid
from oracle.contract import Contract
from oracle.reference.raised import leave_undefined, require
from oracle.unified.stream import Event, Forward
from oracle.unified_observation import BandState, PageCopy


class Band:
    """One band of the chain ``low`` to ``high`` (None at the ends of the buffer)."""

    def __init__(
        self, name: BandName, grid: Grid, total_bytes: int, contract: Contract, *, owner: bool
    ) -> None:
        self.name = name
        self.grid = grid
        self.total_bytes = total_bytes
        self.contract = contract
        self.owner = owner
        self.low: Band | None = None
        self.high: Band | None = None
        self.gates: dict[int, bool] = {}
        """The installed move gates: whether each is open."""
        self.copies: list[PageCopy] = []
        self.content = [0] * ((grid.pages + 1) * grid.page_size)
        self.reset_tables()

    def reset_tables(self) -> None:
        """Nothing is bound, every id is free, nothing is pending (§3, ``clear``). The KV stays as it is."""
        self.v2p = [0, *[-1] * self.grid.ids]
        self.p2v = [0, *[-1] * self.grid.pages]
        self.free_ids = list(range(self.grid.first, self.grid.pages)) if self.owner else []
        self.holes: list[int] = []
        self.pending: dict[Event, list[int]] = {}
        self.pending_load = 0
        self.forward_done: Event | None = None
        self.in_flight: Forward | None = None

    @property
    def lo(self) -> int:
        """The first byte of the span."""
        raise NotImplementedError

    @property
    def hi(self) -> int:
        """The first byte after the span."""
        raise NotImplementedError

    @property
    def live(self) -> int:
        """Pages that are bound or reserved, as the allocator counts them."""
        raise NotImplementedError

    @property
    def is_lazy(self) -> bool:
        """Whether frees leave holes that a flush could turn into free bytes."""
        return False

    @property
    def sorts_single_slots(self) -> bool:
        """Whether a set-shaped free sorts and drops duplicates at page size 1 too (§5, eager)."""
        return False

    @property
    def is_transparent(self) -> bool:
        """Whether neighbours look through the band (§4)."""
        return False

    def lower(self) -> Band | None:
        """The nearest band below that is not transparent."""
        band = self.low
        while band is not None and band.is_transparent:
            band = band.low
        return band

    def upper(self) -> Band | None:
        """The nearest band above that is not transparent."""
        band = self.high
        while band is not None and band.is_transparent:
            band = band.high
        return band

    def above(self) -> int:
        """Where the bytes end that the band could grow into upwards (§4)."""
        band = self.upper()
        return self.total_bytes if band is None else band.lo

    def below(self) -> int:
        """Where the bytes begin that the band could grow into downwards (§4)."""
        band = self.lower()
        return 0 if band is None else band.hi

    def moves_blocked(self) -> bool:
        """Whether no page may move: a load is outstanding or a gate is closed (§4)."""
        return self.pending_load > 0 or not all(self.gates.values())

    def index_room(self) -> int:
        """How many pages more the grid has, wherever the neighbours are: N - m - alloc_pages (§4)."""
        raise NotImplementedError

    def hole_credit_bytes(self) -> int:
        """Bytes that flushing this band would give to its neighbour (§4, schedulable)."""
        creditable = self.is_lazy and not self.moves_blocked()
        return len(self.holes) * self.grid.page_bytes if creditable else 0

    def available_pages(self) -> int:
        """Pages that can be taken as things stand (§4)."""
        raise NotImplementedError

    def schedulable_pages(self) -> int:
        """The same if the neighbours' holes were closed first (§4)."""
        raise NotImplementedError

    def allocated_pages(self) -> int:
        """What ``allocated_count`` counts (§4)."""
        return self.live

    def take(self, count: int) -> list[int] | None:
        """``count`` physical pages, or None with nothing changed (§5, §6)."""
        raise NotImplementedError

    def release(self, pages: list[int]) -> None:
        """What becomes of physical pages that were unbound (§5, §6)."""
        raise NotImplementedError

    def flush(self, *, urgent: bool) -> int:
        """Compact; how many pages were moved or stripped (§5, §6)."""
        raise NotImplementedError

    def virtual_pages(self, slots: Sequence[int]) -> list[int]:
        """The page of each slot, which the table must have."""
        pages = [slot // self.grid.page_size for slot in slots]
        known = all(0 <= page < self.grid.ids for page in pages)
        leave_undefined(unless=known, reason=f"a slot that the {self.name} table does not have")
        return pages

    def bind(self, virtual: Sequence[int], physical: Sequence[int]) -> None:
        """Both tables name the pairs (§5)."""
        unique = len(set(virtual)) == len(virtual)
        leave_undefined(unless=unique, reason="an id that is handed out twice at once")
        for page, place in zip(virtual, physical, strict=True):
            self.v2p[page] = place
            self.p2v[place] = page

    def take_and_bind(self, virtual: Sequence[int]) -> None:
        """Physical pages for ids that another band handed out. A shortfall here is a fault of the gate before (§8)."""
        places = self.take(len(virtual))
        require(places is not None, f"{self.name}: short of pages after the capacity gate")
        self.bind(virtual, places or [])

    def unbind(self, virtual: Sequence[int]) -> list[int]:
        """Neither table names these ids any more; the pages they had, -1 for one that had none. No validity check (§5)."""
        unique = len(set(virtual)) == len(virtual)
        leave_undefined(unless=unique, reason="a page that is freed twice at once")
        places = [self.v2p[page] for page in virtual]
        for page, place in zip(virtual, places, strict=True):
            self.v2p[page] = -1
            self.p2v[place] = -1
        if self.owner:
            self.free_ids = [*self.free_ids, *virtual]
        return places

    def require_free_of(self, virtual: list[int]) -> None:
        """The assertions before a free, where there are any."""

    def free_pages(self, virtual: list[int]) -> None:
        """Free virtual pages, each once (§5)."""
        if virtual:
            self.require_free_of(virtual)
            self.release(self.unbind(virtual))

    def free(self, slots: Sequence[int]) -> None:
        """Free the pages of slots: sorted and each once, but at page size 1 as they are given in a lazy band (§5)."""
        pages = self.virtual_pages(slots)
        if self.grid.page_size > 1 or self.sorts_single_slots:
            pages = sorted(set(pages))
        self.free_pages(pages)

    def free_representatives(self, representatives: Sequence[int]) -> None:
        """Free the page of each representative, in order (§5, §9)."""
        self.free_pages(self.virtual_pages(representatives))

    def relocate(self, source: int, destination: int) -> None:
        """One page moves, with its KV and its owner (§5, step 5)."""
        size = self.grid.page_size
        moved = self.content[source * size : (source + 1) * size]
        place = destination if destination >= 0 else self.grid.pages
        self.content[place * size : (place + 1) * size] = moved
        owner = self.p2v[source]
        self.v2p[owner] = destination
        self.p2v[destination] = owner
        self.p2v[source] = -1
        self.copies.append(PageCopy(self.name, source, destination))

    def translate(self, slots: Sequence[int]) -> list[int]:
        """Physical slots; 0 for whatever has none (§5)."""
        size = self.grid.page_size
        return [
            max(0, self.v2p[slot // size] * size + slot % size)
            if 0 <= slot // size <= self.grid.ids
            else 0
            for slot in slots
        ]

    def state(self) -> BandState:
        """Everything that can be seen of the band."""
        size = self.grid.page_size
        return BandState(
            v2p=self.v2p[:],
            p2v=self.p2v[:],
            free_ids=self.free_ids[:] if self.owner else None,
            holes=self.holes[:],
            live=self.live,
            pending=[pages[:] for pages in self.pending.values()],
            pending_load=self.pending_load,
            available=self.available_pages() * size,
            schedulable=self.schedulable_pages() * size,
            allocated=self.allocated_pages() * size,
            content=self.content[:],
        )
