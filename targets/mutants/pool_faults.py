"""Faults of a single pool. Each class is one fault: what it overrides is what it breaks."""

from __future__ import annotations

import torch

from targets.eager.paged import PagedAllocator


class PaddingPageNotReserved(PagedAllocator):
    """Numbers its pages from 0."""

    first_page = 0


class GroupPileAliased(PagedAllocator):
    """Keeps the caller's tensor instead of a copy."""

    def _own(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor


class DedupDropped(PagedAllocator):
    """Releases a page once for each slot given."""

    def _pages_of(self, slots: torch.Tensor) -> torch.Tensor:
        return (slots // self.page_size).sort().values


class LastPartialPageKept(PagedAllocator):
    """Takes representatives of whole pages only, so a segment that ends inside a page keeps that page."""

    def representatives(self, segment: torch.Tensor) -> torch.Tensor:
        """The first slot of each page that the segment fills."""
        whole_pages = segment.numel() // self.page_size * self.page_size
        return segment[: whole_pages : self.page_size]


class MergeSkipped(PagedAllocator):
    """Does not merge what is staged when the free list is short."""

    def _merge_if_short_of(self, pages: int) -> None:
        pass


class CapacityOffByOne(PagedAllocator):
    """Refuses the request that takes exactly what is left."""

    def _short_of(self, pages: int) -> bool:
        return pages > max(self.free_pages.numel() - 1, 0)


class PagePushedTwice(PagedAllocator):
    """Releases the last page of a release of several pages once more."""

    def _release(self, pages: torch.Tensor) -> None:
        super()._release(torch.cat((pages, pages[-1:])) if pages.numel() > 1 else pages)
