"""The bands of the fused unified allocators: holes and ids in device buffers that kernels write (contract_unified §5, §6).

Guarantees that a free or a take of a band is one launch (a draw of some holes sorts them first), and that every length is a host integer.
"""

from __future__ import annotations

import torch

from oracle.unified_observation import PageCopy
from targets.eager.unified.band import Band
from targets.eager.unified.end_band import EndBand
from targets.eager.unified.floating_band import FloatingBand
from targets.fused.buffers import FreeList, Side, copy_into
from targets.fused.unified.hole_list import HoleList
from targets.fused.unified.launches import Opening, give_back, open_pages
from targets.fused.unified.page_table import FusedPageTable


class FusedBand(Band):
    """What both kinds of band have in common. ``hole_list`` and ``ring`` (None: no ids of its own) are the buffers."""

    table: FusedPageTable
    hole_list: HoleList
    ring: FreeList | None
    _owners_differ = True

    def _make_table(self) -> FusedPageTable:
        table = FusedPageTable(self.grid.ids, self.pages, self.page_size, self.device)
        self.hole_list = HoleList(self.pages, table.on)
        return table

    @property
    def holes(self) -> torch.Tensor:
        """Freed pages in order, a view."""
        return self.hole_list.view()

    @holes.setter
    def holes(self, pages: torch.Tensor) -> None:
        """Set the list anew."""
        self.hole_list.adopt(pages)

    @property
    def hole_count(self) -> int:
        """Pages that can be taken without extending the span."""
        return self.hole_list.count

    @property
    def free_ids(self) -> torch.Tensor | None:
        """Virtual pages to be handed out, in order; do not change them in place."""
        return None if self.ring is None else self.ring.everything()

    @free_ids.setter
    def free_ids(self, ids: torch.Tensor | None) -> None:
        """Set the list anew; None: the ids are another band's."""
        self.ring = None
        if ids is not None:
            self.ring = FreeList(ids.numel(), self.table.on, Side.BACK)
            self.ring.push(ids)

    @property
    def id_count(self) -> int:
        """Virtual pages that can be handed out."""
        return 0 if self.ring is None else self.ring.count

    def hand_out(self, count: int) -> torch.Tensor | None:
        """As the base form, in one launch."""
        reserved = self.reserve(count)
        if reserved is None:
            return None
        out = self.table.v2p.new_empty(count)
        open_pages(Opening(count, self, reserved), out, page_size=1)
        return out

    def release(self, virtual: torch.Tensor) -> None:
        """Free the virtual pages int64 ``[n]``, in that order."""
        if virtual.numel():
            give_back(virtual, 1, owner=self)

    def free_segment(self, slots: torch.Tensor, *, start_pos: int) -> None:
        """As the base form, in one launch where frees leave holes."""
        if slots.numel() == 0 or not self.lazy_frees:
            super().free_segment(slots, start_pos=start_pos)
            return
        assert start_pos % self.page_size == 0, f"a segment starts on a page, not at {start_pos}"
        give_back(slots[:: self.page_size], self.page_size, owner=self)

    def released(self, count: int) -> None:
        """``count`` pages were unbound and listed as holes."""
        self.hole_list.count += count

    def _leave_holes(self, physical: torch.Tensor) -> None:
        count = physical.numel()
        if count:
            copy_into((physical, self.hole_list.write(count)))
        self.released(count)

    def assert_bound(self, physical: list[int]) -> None:
        """As the base form; sees whether two of the pages are bound to one. Raises IndexError for one that the band has not got."""
        if max(physical, default=0) > self.pages:
            raise IndexError(f"{self.name} has {self.pages} pages, and would move one beyond them")
        owners = self.table.p2v[self.page_list(physical)].tolist()
        assert min(owners, default=1) > 0, f"{self.name} would move a page that is not bound"
        self._owners_differ = _differ(owners)

    def move_pages(self, sources: list[int], destinations: list[int]) -> None:
        """Move pages, pair by pair."""
        if not sources:
            return
        # Only tables that a caller damaged name a page twice, and a device would leave open which pair stays.
        in_order = not (self._owners_differ and _differ(destinations))
        self.table.move(
            self.page_list(sources),
            self.page_list(destinations),
            apart=set(sources).isdisjoint(destinations),
            in_order=in_order,
        )
        self._owners_differ = True
        self.copies.extend(
            PageCopy(self.name, source, destination)
            for source, destination in zip(sources, destinations, strict=True)
        )


class FusedEndBand(FusedBand, EndBand):
    """A band with a watermark."""

    def release(self, virtual: torch.Tensor) -> None:
        """Free virtual pages: one launch in lazy mode, compaction at once otherwise."""
        if self.lazy:
            super().release(virtual)
        else:
            EndBand.release(self, virtual)

    def released(self, count: int) -> None:
        """As the base form."""
        super().released(count)
        self._live -= count

    def _return_ids(self, virtual: torch.Tensor) -> None:
        if self.ring is not None and virtual.numel():
            self.ring.push(virtual)


class FusedFloatingBand(FusedBand, FloatingBand):
    """A band with two frontiers."""

    def released(self, count: int) -> None:
        """As the base form; the band parks when nothing is left."""
        super().released(count)
        self.dirty = True
        self._park_if_empty()


def _differ(pages: list[int]) -> bool:
    return len(set(pages)) == len(pages)
