"""Faults in how a paged allocator takes pages back, at once or in a free group. Each class is one fault."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch

from targets.eager.paged import PagedAllocator
from targets.mutants.mutant import FaultList

FAULTS = FaultList()


@FAULTS.add("law", "divergence")
class DedupDropped(PagedAllocator):
    """Freeing several slots of one page releases the page several times."""

    def _pages_of(self, slots: torch.Tensor) -> torch.Tensor:
        return (slots // self.page_size).sort().values


@FAULTS.add("divergence")
class PagesLeftInGivenOrder(PagedAllocator):
    """A set-shaped free releases its pages in the order in which they are named, not ascending."""

    def _pages_of(self, slots: torch.Tensor) -> torch.Tensor:
        pages = (slots // self.page_size).tolist()
        return slots.new_tensor(list(dict.fromkeys(pages)))


@FAULTS.add("law", "divergence")
class LastPartialPageKept(PagedAllocator):
    """A segment that ends inside a page never gives that page back."""

    def representatives(self, segment: torch.Tensor) -> torch.Tensor:
        """The first slot of each page that the segment fills."""
        whole_pages = segment.numel() // self.page_size * self.page_size
        return segment[: whole_pages : self.page_size]


@FAULTS.add("divergence")
class PageIdsSorted(PagedAllocator):
    """Pages that are freed by representatives or by id are sorted."""

    def free_page_ids(self, page_ids: torch.Tensor) -> None:
        """As ours, ascending."""
        super().free_page_ids(page_ids.sort().values)


@FAULTS.add("divergence")
class PageIdsDeduplicated(PagedAllocator):
    """A page that is named twice by id is released once."""

    def free_page_ids(self, page_ids: torch.Tensor) -> None:
        """As ours, each page once."""
        super().free_page_ids(page_ids.new_tensor(list(dict.fromkeys(page_ids.tolist()))))


@FAULTS.add("divergence")
class FullSegmentByRepresentatives(PagedAllocator):
    """``free_full_segment`` goes through the representatives instead of through ``free``."""

    def free_full_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """The other way to free a segment."""
        self._assert_aligned(start_pos)
        self.free_segment(free_index, start_pos=start_pos)


@FAULTS.add("divergence")
class EmptySegmentNotAligned(PagedAllocator):
    """``free_full_segment`` accepts an empty segment with a start inside a page."""

    def free_full_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """As ours, unless there is nothing to free."""
        if free_index.numel():
            super().free_full_segment(free_index, start_pos=start_pos)


@FAULTS.add("divergence")
class EmptySegmentAligned(PagedAllocator):
    """``free_segment`` refuses an empty segment with a start inside a page."""

    def free_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        """Looks at the start first."""
        self._assert_aligned(start_pos)
        super().free_segment(free_index, start_pos=start_pos)


@FAULTS.add("divergence", "hazard")
class UnalignedStartAccepted(PagedAllocator):
    """A segment may start inside a page."""

    def _assert_aligned(self, start_pos: int) -> None:
        pass


@FAULTS.add("divergence", "hazard", stands_for=("shared-page-segments",))
class SegmentsMayShareAPage(PagedAllocator):
    """A segment may start on the page on which the one before it ended, and the page is released twice."""

    def _follows(self, first_page: int, last_page: int) -> bool:
        return first_page >= last_page


@FAULTS.add("divergence")
class SegmentsCheckedBeforehand(PagedAllocator):
    """A list of segments in the wrong order is refused before the first of them is freed."""

    def _free_in_order(
        self, segments: Iterable[tuple[torch.Tensor, int]], free_one: Callable[..., None]
    ) -> None:
        segments = list(segments)
        super()._free_in_order(segments, lambda slots, start_pos: None)  # noqa: ARG005
        super()._free_in_order(segments, free_one)


@FAULTS.add("law", "divergence", stands_for=("aliased-deferred-free",))
class GroupPileAliased(PagedAllocator):
    """A deferred free keeps the caller's tensor, so overwriting it changes what is freed."""

    def free(self, free_index: torch.Tensor) -> None:
        """As ours, without the copy."""
        super().free(free_index)
        if self.free_group and free_index.numel():
            self.free_group[-1] = free_index


@FAULTS.add("law", "divergence", stands_for=("aliased-deferred-free",))
class PagePileAliased(PagedAllocator):
    """A deferred free by page id keeps the caller's tensor, so overwriting it changes what is freed."""

    def free_page_ids(self, page_ids: torch.Tensor) -> None:
        """As ours, without the copy."""
        super().free_page_ids(page_ids)
        if self.free_page_ids_group and page_ids.numel():
            self.free_page_ids_group[-1] = page_ids


@FAULTS.add("divergence")
class PagePileFlushedFirst(PagedAllocator):
    """A group ends with the page-id pile before the plain pile."""

    def free_group_end(self) -> None:
        """Releases the page-id pile, then does as ours."""
        if self.free_page_ids_group:
            pile, self.free_page_ids_group = self.free_page_ids_group, []
            self._release(torch.cat(pile))
        super().free_group_end()


@FAULTS.add("divergence", stands_for=("group-end-twice",))
class PagePileKept(PagedAllocator):
    """The page-id pile is not emptied at the end of a group, so that a second end releases it again."""

    def free_group_end(self) -> None:
        """As ours, and forgets nothing."""
        pile = self.free_page_ids_group
        super().free_group_end()
        self.free_page_ids_group = pile


@FAULTS.add("divergence", "hazard")
class PlainPileReleasedCallByCall(PagedAllocator):
    """Each deferred free is released by itself, so a page that was freed in two parts is released twice."""

    def free_group_end(self) -> None:
        """Ends the group entry by entry."""
        pile, self.free_group = self.free_group, None
        for slots in pile or ():
            self.free(slots)
        super().free_group_end()


@FAULTS.add("divergence")
class GroupFreesActAtOnce(PagedAllocator):
    """A free by page id acts at once inside a group."""

    def free_page_ids(self, page_ids: torch.Tensor) -> None:
        """Releases in every case."""
        if page_ids.numel():
            self._release(page_ids)
            self._check_duplicates()
