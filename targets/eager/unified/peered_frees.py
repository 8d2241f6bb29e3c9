"""Frees of FULL slots that have SWA peers, at once or at the end of a group (contract_unified §9).

Guarantees that segment frees read nothing back from the device, that what waits in a group is the allocator's own, and that
frees which wait change nothing but their pile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import torch

from targets.eager.signals import Invariant, Level, Signals, current_level
from targets.eager.unified.invariants import SEGMENT_BOUND_INVARIANT, SEGMENT_RELEASED_INVARIANT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from targets.eager.unified.band import Band
    from targets.eager.unified.end_band import EndBand


class FreeSegment(Protocol):
    """One of the singular segment frees."""

    def __call__(self, slots: torch.Tensor, *, start_pos: int) -> None:
        """Free the segment ``slots`` whose first slot is at position ``start_pos``."""


class Group:
    """What waits: slots and representatives of both sides, slots and representatives of the FULL side alone."""

    def __init__(self) -> None:
        self.tokens: list[torch.Tensor] = []
        self.representatives: list[torch.Tensor] = []
        self.full_tokens: list[torch.Tensor] = []
        self.full_representatives: list[torch.Tensor] = []

    def is_empty(self) -> bool:
        """Whether nothing waits in any of the piles."""
        return not (
            self.tokens or self.representatives or self.full_tokens or self.full_representatives
        )


class PeeredFrees:
    """The frees of an allocator with the bands ``full`` and ``swa``."""

    full: EndBand
    swa: Band
    page_size: int
    signals: Signals

    def __init__(self) -> None:
        self.group: Group | None = None

    def free(self, slots: torch.Tensor) -> None:
        """Free slots of both sides; peers that are gone are left out, in a group when it ends."""
        if slots.numel() == 0:
            return
        if self.group is not None:
            self.group.tokens.append(slots.clone())
            return
        self._free_peers(slots)
        self.full.free(slots)

    def free_swa(self, slots: torch.Tensor) -> None:
        """Free the peers that are left, at once also in a group."""
        if slots.numel():
            self._free_peers(slots)

    def free_full(self, slots: torch.Tensor) -> None:
        """Free the FULL side of slots that have no peers."""
        if slots.numel() == 0:
            return
        if self.group is not None:
            self.group.full_tokens.append(slots.clone())
        else:
            self.full.free(slots)

    def free_segment(self, slots: torch.Tensor, *, start_pos: int) -> None:
        """Free a segment on both sides; every page has a peer. Raises AssertionError when ``start_pos`` is not aligned."""
        if slots.numel() == 0:
            return
        representatives = self._representatives(slots, start_pos)
        if self.group is not None:
            self.group.representatives.append(representatives.clone())
            return
        pages = self.full.representative_pages(representatives)
        self._expect_bound(pages)
        self.swa.release(pages)
        self.full.release(pages)

    def free_swa_segment(self, slots: torch.Tensor, *, start_pos: int) -> None:
        """Free the peers of a segment, each page has one; at once also in a group."""
        if slots.numel() == 0:
            return
        pages = self.full.representative_pages(self._representatives(slots, start_pos))
        self._expect_bound(pages)
        self.swa.release(pages)

    def free_full_segment(self, slots: torch.Tensor, *, start_pos: int) -> None:
        """Free the FULL side of a segment that has no peers, which is looked at in the call."""
        if slots.numel() == 0:
            return
        representatives = self._representatives(slots, start_pos)
        pages = self.full.representative_pages(representatives)
        self._expect_released(pages)
        if self.group is not None:
            self.group.full_representatives.append(representatives.clone())
        else:
            self.full.release(pages)

    def free_segments(self, segments: Iterable[tuple[torch.Tensor, int]]) -> None:
        """Free (slots, start position) segments of one row in order. Raises AssertionError at one that shares a page."""
        free_in_order(segments, self.free_segment, self.page_size)

    def free_full_segments(self, segments: Iterable[tuple[torch.Tensor, int]]) -> None:
        """As ``free_segments``, the FULL side alone."""
        free_in_order(segments, self.free_full_segment, self.page_size)

    def free_group_begin(self) -> None:
        """Let frees wait. Raises AssertionError when a group is open."""
        assert self.group is None, "free groups cannot be nested"
        self.group = Group()

    def free_group_end(self) -> None:
        """Close the group, then free slots, FULL slots and representatives, in this order. What an invariant stops is lost."""
        group, self.group = self.group, None
        if group is None:
            return
        if group.tokens:
            self.free(torch.cat(group.tokens))
        if group.full_tokens:
            self.full.free(torch.cat(group.full_tokens))
        pages = [self.full.representative_pages(pile) for pile in group.representatives]
        if pages:
            with_peers = torch.cat(pages)
            self._expect_bound(with_peers)
            self.swa.release(with_peers)
        pages += [self.full.representative_pages(pile) for pile in group.full_representatives]
        if pages:
            self.full.release(torch.cat(pages))

    def flush_deferred(self) -> None:
        """Free what waits and leave the group open (§9)."""
        if self.group is not None and not self.group.is_empty():
            self.free_group_end()
            self.free_group_begin()

    def _free_peers(self, slots: torch.Tensor) -> None:
        pages = slots.to(torch.int64).div(self.page_size, rounding_mode="floor")
        self.swa.free(slots[self.swa.bound(pages)])

    def _representatives(self, slots: torch.Tensor, start_pos: int) -> torch.Tensor:
        assert start_pos % self.page_size == 0, (
            f"a segment starts on a page boundary, not at position {start_pos} "
            f"with page size {self.page_size}"
        )
        return slots[:: self.page_size]

    def _expect_bound(self, pages: torch.Tensor) -> None:
        if self._looks():
            bound = self.swa.bound(pages)
            self._expect(SEGMENT_BOUND_INVARIANT, bound, "a segment gives up peers that it lacks")

    def _expect_released(self, pages: torch.Tensor) -> None:
        if self._looks():
            released = ~self.swa.bound(pages)
            self._expect(SEGMENT_RELEASED_INVARIANT, released, "a segment leaves peers behind")

    def _expect(self, invariant: Invariant, holds: torch.Tensor, message: str) -> None:
        self.signals.expect(invariant, holds, message)

    def _looks(self) -> bool:
        # Not even the look-up is paid for where nobody would hear of it.
        return self.signals.observer is not None or current_level() is not Level.OFF


def free_in_order(
    segments: Iterable[tuple[torch.Tensor, int]], free_one: FreeSegment, page_size: int
) -> None:
    """Free the segments one after the other. Raises AssertionError at one that starts on a page of the one before."""
    last_page = -1
    for slots, start_pos in segments:
        if slots.numel() == 0:
            continue
        first_page = start_pos // page_size
        assert first_page > last_page, (
            f"the segment at position {start_pos} starts on page {first_page} of its row, "
            f"but the segment before it reached page {last_page}"
        )
        free_one(slots, start_pos=start_pos)
        last_page = (start_pos + slots.numel() - 1) // page_size
