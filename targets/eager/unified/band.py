"""What every band of a shared buffer has: its grid, tables, holes, ids, and what forbids it to move pages
(contract_unified §1 to §5).

Guarantees that holes, counts and watermarks are rebound, never changed in place. Where a band's span lies is the subclass's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from oracle.byte_buffer import BandName, Grid
from oracle.unified_observation import PageCopy
from targets.eager.unified.page_table import PageTable

if TYPE_CHECKING:
    from targets.eager.unified.stream import Event, InFlight

GATES = 2


class Reserved(NamedTuple):
    """Physical pages that were taken and are not bound yet: the holes ``drawn`` int64 ``[n]``, then fresh ones.

    Those are ``fresh_count`` pages: ``fresh``, ``fresh + step``, and so on.
    """

    drawn: torch.Tensor
    fresh: int
    step: int
    fresh_count: int


class Band:
    """One band named ``name`` over ``grid`` of a buffer of ``total_bytes``; ``owner``: it hands out virtual pages of its own.

    ``lower`` and ``upper`` are the other bands, the nearest first. ``copies`` collects the page copies of one call.
    """

    lazy = False
    table_class: type[PageTable] = PageTable

    def __init__(
        self,
        name: BandName,
        grid: Grid,
        total_bytes: int,
        device: str,
        copies: list[PageCopy],
        *,
        owner: bool,
    ) -> None:
        self.name = name
        self.grid = grid
        self.page_size = grid.page_size
        self.page_bytes = grid.page_bytes
        self.pages = grid.pages
        self.first = grid.first
        self.total_bytes = total_bytes
        self.device = device
        self.owner = owner
        self.table = self._make_table()
        self.copies = copies
        self.lower: list[Band] = []
        self.upper: list[Band] = []
        self.gates: list[bool | None] = [None] * GATES
        """What each gate answers; None where none is installed."""
        self._reset()

    def _make_table(self) -> PageTable:
        return self.table_class(self.grid.ids, self.pages, self.page_size, self.device)

    def _reset(self) -> None:
        self.holes = self.no_pages()
        self.free_ids = self.page_range(self.first, self.pages) if self.owner else None
        self.pending: dict[Event, torch.Tensor] = {}
        self.pending_load = 0
        self.forward_done: Event | None = None
        self.in_flight: InFlight | None = None

    def clear(self) -> None:
        """Return to the state after construction; content stays (§3)."""
        self.table.reset()
        self._reset()

    @property
    def low_byte(self) -> int:
        """The first byte of the span."""
        raise NotImplementedError

    @property
    def high_byte(self) -> int:
        """The byte after the span."""
        raise NotImplementedError

    @property
    def span(self) -> int:
        """Pages of the span, holes included."""
        raise NotImplementedError

    @property
    def live(self) -> int:
        """Pages that are taken."""
        raise NotImplementedError

    def available_size(self) -> int:
        """Slots that can be taken now (§4)."""
        raise NotImplementedError

    def schedulable_available_size(self) -> int:
        """Slots that can be taken once the neighbours gave their holes back (§4)."""
        raise NotImplementedError

    def reserve(self, count: int) -> Reserved | None:
        """Take ``count`` physical pages; None and nothing changed when they are short (§5, §6)."""
        raise NotImplementedError

    def take(self, count: int) -> torch.Tensor | None:
        """``count`` physical pages int64, or None and nothing changed (§5, §6)."""
        reserved = self.reserve(count)
        if reserved is None:
            return None
        drawn, fresh, step, fresh_count = reserved
        low = fresh if step > 0 else fresh - fresh_count + 1
        pages = self.page_range(low, low + fresh_count)
        if not drawn.numel():
            return pages
        return torch.cat([drawn, pages if step > 0 else pages.flip(0)])

    def hand_out(self, count: int) -> torch.Tensor | None:
        """``count`` virtual pages int64 from the head of the ids, bound; None and no id taken when pages are short (§5)."""
        free_ids = self.free_ids
        assert free_ids is not None, f"{self.name} has no ids of its own"
        ids = free_ids[:count]
        physical = self.take(count)
        if physical is None:
            return None
        self.table.bind(ids, physical)
        self.free_ids = free_ids[count:]
        return ids

    def flush(self, *, urgent: bool) -> int:
        """Give holes back; how many pages moved or were stripped (§5, §6)."""
        raise NotImplementedError

    def release(self, virtual: torch.Tensor) -> None:
        """Free the virtual pages int64 ``[n]``, in that order (§5)."""
        raise NotImplementedError

    def release_physical(self, physical: torch.Tensor) -> None:
        """Free physical pages int64 ``[n]`` and unbind whoever has them (§5)."""
        raise NotImplementedError

    @property
    def transparent(self) -> bool:
        """Whether neighbours do not see this band (§4)."""
        return False

    @property
    def allocated_count(self) -> int:
        """Slots that are taken (§4)."""
        return self.live * self.page_size

    @property
    def hole_count(self) -> int:
        """Pages that can be taken without extending the span."""
        return self.holes.numel()

    @property
    def id_count(self) -> int:
        """Virtual pages that can be handed out."""
        return 0 if self.free_ids is None else self.free_ids.numel()

    @property
    def page_room(self) -> int:
        """How many pages the grid can ever give out."""
        return self.pages - self.first

    @property
    def moves_blocked(self) -> bool:
        """Whether a closed gate or a load forbids moves (§4)."""
        return self.pending_load > 0 or False in self.gates

    def above(self) -> int:
        """The byte where the next band above begins."""
        neighbour = nearest(self.upper)
        return self.total_bytes if neighbour is None else neighbour.low_byte

    def below(self) -> int:
        """The byte where the next band below ends."""
        neighbour = nearest(self.lower)
        return 0 if neighbour is None else neighbour.high_byte

    def alloc_with_virtual(self, virtual: torch.Tensor) -> None:
        """Take a page for each of ``virtual`` int64 ``[n]``. Raises AssertionError when pages are short."""
        physical = self.take(virtual.numel())
        assert physical is not None, (
            f"{self.name} is short of {virtual.numel()} pages after the gate"
        )
        self.table.bind(virtual, physical)

    def pages_of(self, slots: torch.Tensor) -> torch.Tensor:
        """Pages of set-shaped ``slots``: each once, ascending, except in lazy mode at page size 1 (§5)."""
        if self.lazy_frees and self.page_size == 1:
            return slots.to(torch.int64)
        return self.representative_pages(slots).unique()  # type: ignore[no-untyped-call,no-any-return]

    @property
    def lazy_frees(self) -> bool:
        """Whether a free only leaves holes."""
        return self.lazy

    def free(self, slots: torch.Tensor) -> None:
        """Free the pages of ``slots`` (any integer dtype, 1-D) (§5)."""
        if slots.numel():
            self.release(self.pages_of(slots))

    def free_segment(self, slots: torch.Tensor, *, start_pos: int) -> None:
        """Free a segment at once, on this band alone. Raises AssertionError when ``start_pos`` is not aligned (§5)."""
        if slots.numel() == 0:
            return
        assert start_pos % self.page_size == 0, f"a segment starts on a page, not at {start_pos}"
        if self.page_size == 1:
            self.free(slots)
        else:
            self.release(self.representative_pages(slots[:: self.page_size]))

    def representative_pages(self, representatives: torch.Tensor) -> torch.Tensor:
        """The pages of one slot each, in order."""
        return representatives.to(torch.int64).div(self.page_size, rounding_mode="floor")

    def slots_of(self, pages: torch.Tensor) -> torch.Tensor:
        """All slots of ``pages`` int64 ``[n]``, page by page."""
        if self.page_size == 1:
            return pages.clone()
        offsets = torch.arange(self.page_size, dtype=torch.int64, device=self.device)
        return (pages[:, None] * self.page_size + offsets).flatten()

    def bound(self, pages: torch.Tensor) -> torch.Tensor:
        """Bool ``[n]``: which virtual ``pages`` have a page here; padding is none (§9)."""
        return self.table.v2p[pages] > 0

    def move_pages(self, sources: list[int], destinations: list[int]) -> None:
        """Move pages, pair by pair."""
        if not sources:
            return
        from_pages, to_pages = self.page_list(sources), self.page_list(destinations)
        self.table.move(from_pages, to_pages)
        self.copies.extend(
            PageCopy(self.name, source, destination)
            for source, destination in zip(sources, destinations, strict=True)
        )

    def assert_bound(self, physical: list[int]) -> None:
        """Raise AssertionError when one of the pages belongs to nobody: a reservation whose load was called finished (§5)."""
        owners = self.table.p2v[self.page_list(physical)]
        assert bool((owners > 0).all()), f"{self.name} would move a page that is not bound"

    def page_list(self, pages: list[int]) -> torch.Tensor:
        """``pages`` as a tensor on the device."""
        return torch.tensor(pages, dtype=torch.int64, device=self.device)

    def page_range(self, start: int, stop: int) -> torch.Tensor:
        """The pages from ``start`` to before ``stop``."""
        return torch.arange(start, max(start, stop), dtype=torch.int64, device=self.device)

    def no_pages(self) -> torch.Tensor:
        """An empty list of pages."""
        return torch.empty(0, dtype=torch.int64, device=self.device)


def nearest(bands: list[Band]) -> Band | None:
    """The first band that can be seen."""
    return next((band for band in bands if not band.transparent), None)
