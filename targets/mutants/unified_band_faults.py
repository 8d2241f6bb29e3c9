"""Faults of the bands of the unified allocators: tables, holes, watermarks, moves and what protects pages from them.

Each class of an allocator is one fault (contract_unified §3 to §6); the faulty band stands in front of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from targets.eager.unified.chain import BandClasses
from targets.eager.unified.end_band import EndBand
from targets.eager.unified.floating_band import FloatingBand
from targets.eager.unified.full_and_state import FullAndStateAllocator
from targets.eager.unified.page_table import PageTable
from targets.eager.unified.three_pools import ThreePoolAllocator
from targets.eager.unified.two_pools import TwoPoolAllocator
from targets.mutants.mutant import FaultList

if TYPE_CHECKING:
    from oracle.call import Side

FAULTS = FaultList()


class _WrongEnd(EndBand):
    def _draw(self, count: int) -> torch.Tensor:
        self.up = not self.up
        try:
            return super()._draw(count)
        finally:
            self.up = not self.up


@FAULTS.add("divergence")
class HolesDrawnFromTheFrontier(TwoPoolAllocator):
    """Holes are taken from the frontier of a band instead of from its own end."""

    band_classes = BandClasses(end=_WrongEnd)


class _HeadFirst(EndBand):
    def _draw(self, count: int) -> torch.Tensor:
        drawn, self.holes = self.holes[:count], self.holes[count:]
        return drawn


@FAULTS.add("divergence")
class HolesDrawnFromTheHead(FullAndStateAllocator):
    """Holes are taken in the order in which they were left."""

    band_classes = BandClasses(end=_HeadFirst)


class _NoSentinel(PageTable):
    def reset(self) -> None:
        super().reset()
        for table in (self.v2p, self.p2v):
            table[-1:].zero_()


class _EndWithoutSentinel(EndBand):
    table_class = _NoSentinel


@FAULTS.add("law", "divergence")
class SentinelForgotten(TwoPoolAllocator):
    """The last entry of the tables is padding instead of the sentinel."""

    band_classes = BandClasses(end=_EndWithoutSentinel)


class _RetreatingFlush(EndBand):
    def flush(self, *, urgent: bool) -> int:
        moved = super().flush(urgent=urgent)
        if moved and not urgent and not self.pending:
            # The vacated pages lie at the frontier: here they are given back at once.
            self.watermark += -self.hole_count if self.up else self.hole_count
            self.holes = self.no_pages()
        return moved


@FAULTS.add("divergence")
class WatermarkMovedByLazyFlush(TwoPoolAllocator):
    """A flush without urgency gives the pages that it vacated back at once."""

    band_classes = BandClasses(end=_RetreatingFlush)


class _LastBatchOnly(EndBand):
    def flush(self, *, urgent: bool) -> int:
        before = dict(self.pending)
        moved = super().flush(urgent=urgent)
        for event, pages in self.pending.items():
            earlier = before.get(event)
            if earlier is not None and pages.numel() > earlier.numel():
                self.pending[event] = pages[earlier.numel() :]
        return moved


@FAULTS.add("law", "divergence")
class PendingBatchLost(TwoPoolAllocator):
    """A second flush under one event overwrites the pages that wait for it."""

    band_classes = BandClasses(end=_LastBatchOnly)


class _EventIgnored(EndBand):
    def flush(self, *, urgent: bool) -> int:
        moved = super().flush(urgent=urgent)
        for event in list(self.pending):
            self.holes = torch.cat([self.holes, self.pending.pop(event)])
        return moved


@FAULTS.add("divergence")
class EventNotWaitedFor(TwoPoolAllocator):
    """Pages that a forward pass may still read are holes at once."""

    band_classes = BandClasses(end=_EventIgnored)


class _WritesIgnored(EndBand):
    def flush(self, *, urgent: bool) -> int:
        flight, self.in_flight = self.in_flight, None
        try:
            return super().flush(urgent=urgent)
        finally:
            self.in_flight = flight


@FAULTS.add("divergence")
class WrittenPagesMoved(TwoPoolAllocator):
    """A flush moves pages that the forward pass in flight is about to write."""

    band_classes = BandClasses(end=_WritesIgnored)


class _ForwardRemembered(EndBand):
    def flush(self, *, urgent: bool) -> int:
        flight = self.in_flight
        moved = super().flush(urgent=urgent)
        if urgent:
            self.in_flight = flight
        return moved


@FAULTS.add("divergence")
class WaitedForwardStillSpared(TwoPoolAllocator):
    """After an urgent flush waited for the forward pass, what it wrote is spared as if it were still to be written."""

    band_classes = BandClasses(end=_ForwardRemembered)


class _GateIgnored(EndBand):
    @property
    def moves_blocked(self) -> bool:
        return self.pending_load > 0


@FAULTS.add("divergence")
class ClosedGateIgnored(TwoPoolAllocator):
    """A flush moves pages behind a closed gate."""

    band_classes = BandClasses(end=_GateIgnored)


class _ContentLeft(PageTable):
    def copy_pages(self, sources: torch.Tensor, destinations: torch.Tensor) -> None:
        pass


class _EndMovesNoContent(EndBand):
    table_class = _ContentLeft


@FAULTS.add("law", "divergence")
class MovesLeaveTheKvBehind(TwoPoolAllocator):
    """A move changes the tables and leaves the KV where it was."""

    band_classes = BandClasses(end=_EndMovesNoContent)


class _OneByOne(PageTable):
    def copy_pages(self, sources: torch.Tensor, destinations: torch.Tensor) -> None:
        rows = self.content.view(-1, self.page_size)
        for source, destination in zip(sources.tolist(), destinations.tolist(), strict=True):
            rows[destination] = rows[source]


class _FloatCopiesOneByOne(FloatingBand):
    table_class = _OneByOne


@FAULTS.add("law", "divergence")
class OverlappingPackOverwrites(ThreePoolAllocator):
    """A pack copies page by page, from below, over pages that it has still to copy."""

    band_classes = BandClasses(floating=_FloatCopiesOneByOne)


class _OldOwnerKept(PageTable):
    def unbind(self, virtual: torch.Tensor) -> torch.Tensor:
        physical = self.v2p[virtual]
        self.v2p.index_fill_(0, self._within(virtual, self.v2p), -1)
        return physical


class _EndKeepsOldOwner(EndBand):
    table_class = _OldOwnerKept


@FAULTS.add("law", "divergence")
class InverseEntryKept(TwoPoolAllocator):
    """A free forgets the page of a virtual page, but not the virtual page of that page."""

    band_classes = BandClasses(end=_EndKeepsOldOwner)


class _IdsAtTheHead(EndBand):
    def _return_ids(self, virtual: torch.Tensor) -> None:
        if self.free_ids is not None:
            self.free_ids = torch.cat([virtual, self.free_ids])


@FAULTS.add("divergence")
class IdsReturnedToTheHead(TwoPoolAllocator):
    """Freed ids go to the head of the free ones."""

    band_classes = BandClasses(end=_IdsAtTheHead)


class _OneSided(FloatingBand):
    def _draw(self, count: int) -> torch.Tensor:
        drawn = super()._draw(count)
        self.next_end = "low"
        return drawn


@FAULTS.add("divergence")
class FloatDrawsFromOneEnd(ThreePoolAllocator):
    """The floating band always takes its holes from the low end."""

    band_classes = BandClasses(floating=_OneSided)


class _NeverParked(FloatingBand):
    def _park_if_empty(self) -> None:
        pass


@FAULTS.add("divergence")
class EmptyFloatNotParked(ThreePoolAllocator):
    """A floating band with nothing live keeps its span."""

    band_classes = BandClasses(floating=_NeverParked)


class _RawBytes(FloatingBand):
    def pages_in_band(self, low_byte: int, high_byte: int) -> int:
        return max(0, high_byte - max(low_byte, self.first * self.page_bytes)) // self.page_bytes


@FAULTS.add("divergence")
class FloatRoomInRawBytes(ThreePoolAllocator):
    """Room for the floating band is bytes divided by its page, not whole pages of its own grid."""

    band_classes = BandClasses(floating=_RawBytes)


class _FloatBehindGate(FloatingBand):
    def make_room(self, side: Side, min_bytes: int) -> int:
        gates, self.gates = self.gates, [None, None]
        try:
            return super().make_room(side, min_bytes)
        finally:
            self.gates = gates


@FAULTS.add("divergence")
class FloatMovedBehindAGate(ThreePoolAllocator):
    """The floating band makes room although a gate forbids moves."""

    band_classes = BandClasses(floating=_FloatBehindGate)
