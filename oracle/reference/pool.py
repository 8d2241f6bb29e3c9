"""What every allocator of the contract shares: the plain group, and the base forms of the frees (§3).

A pool's lists are rebound, never changed in place, so a snapshot may hold on to the ones it was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from oracle.call import Segment
from oracle.contract import Contract
from oracle.reference.raised import require


class Pool:
    """Sizes, the plain pile and the forms of ``free`` that are the same in every allocator.

    ``group`` is None when no group is open (frees act now), else the pile: one entry for each deferred call.
    """

    def __init__(self, page_size: int, contract: Contract) -> None:
        self.page_size = page_size
        self.contract = contract
        self.group: list[list[int]] | None = None

    def free(self, slots: Sequence[int]) -> None:
        """Give ``slots`` back; each allocator has its own."""
        raise NotImplementedError

    def free_group_begin(self) -> None:
        """Defer the frees that follow. With a group open nothing changes, refused or not (§3, §13.2)."""
        if not self.stays_open():
            self.group = []

    def stays_open(self) -> bool:
        """Whether a begin finds a group open and leaves it at that; the assertion where it may not."""
        accepted = self.contract.nested_begin == "accepted"
        require(self.group is None or accepted, "nested group: a free group is already open")
        return self.group is not None

    def free_group_end(self) -> None:
        """Close the group first, then free the whole plain pile as one call (§3)."""
        pile, self.group = self.group, None
        if pile:
            self.free(joined(pile))

    def enqueue(self, slots: Sequence[int]) -> None:
        """Put a copy of ``slots`` on the plain pile as one entry (§3)."""
        self.group = [*(self.group or []), list(slots)]

    def free_full(self, slots: Sequence[int]) -> None:
        """The same as ``free`` where there is one side only (§3)."""
        self.free(slots)

    def free_segment(self, slots: Sequence[int], start_pos: int) -> None:
        """Base form: the start must be a page start, even when ``slots`` is empty (§0, §3)."""
        self.require_page_start(start_pos)
        self.free(slots)

    def free_full_segment(self, slots: Sequence[int], start_pos: int) -> None:
        """Base form: the start must be a page start, even when ``slots`` is empty (§0, §3)."""
        self.require_page_start(start_pos)
        self.free_full(slots)

    def free_segments(self, segments: Sequence[Segment]) -> None:
        """``free_segment`` for each non-empty segment; a late error leaves the earlier ones freed (§3)."""
        last_page: int | None = None
        for segment in segments:
            part = self.after_last_page(segment, last_page)
            if part.slots:
                last_page = self.require_later_pages(part, last_page)
                self.free_segment(part.slots, part.start_pos)

    def free_full_segments(self, segments: Sequence[Segment]) -> None:
        """``free_full_segment`` for each non-empty segment; a late error leaves the earlier ones freed (§3)."""
        last_page: int | None = None
        for segment in segments:
            part = self.after_last_page(segment, last_page)
            if part.slots:
                last_page = self.require_later_pages(part, last_page)
                self.free_full_segment(part.slots, part.start_pos)

    def require_whole_segment(self, slots: Sequence[int]) -> None:
        """Debug check of a segment's pages; an allocator without debug mode has none (§0)."""

    def require_page_start(self, start_pos: int) -> None:
        """The alignment assertion of the segment forms, where there is one (§3, §13.2)."""
        require(
            self.contract.segment_start == "anywhere" or start_pos % self.page_size == 0,
            f"alignment: start_pos {start_pos} is no multiple of the page size {self.page_size}",
        )

    def after_last_page(self, segment: Segment, last_page: int | None) -> Segment:
        """``segment`` without what it has on ``last_page``, if it starts there and overlaps are trimmed (§13.2)."""
        first_page = segment.start_pos // self.page_size
        if self.contract.segment_overlap != "trimmed" or first_page != last_page:
            return segment
        cut = self.page_size - segment.start_pos % self.page_size
        return Segment(segment.slots[cut:], segment.start_pos + cut)

    def require_later_pages(self, segment: Segment, last_page: int | None) -> int:
        """The overlap assertion of the plural forms, where there is one; returns the last page (of the row) of ``segment`` (§3)."""
        first_page = segment.start_pos // self.page_size
        trimmed = self.contract.segment_overlap == "trimmed"
        require(
            trimmed or last_page is None or first_page > last_page,
            f"overlap: a segment starts on page {first_page} of its row, the one before ends on {last_page}",
        )
        return (segment.start_pos + len(segment.slots) - 1) // self.page_size


def joined(pile: Sequence[Sequence[int]]) -> list[int]:
    """The entries of ``pile`` in order as one list."""
    return list(chain.from_iterable(pile))
