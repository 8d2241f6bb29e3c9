"""Faults of the list of pages: what is in it, its order, and the merge. Each class is one fault."""

from __future__ import annotations

import torch

from targets.eager.paged import PagedAllocator
from targets.mutants.mutant import FaultList

FAULTS = FaultList()


@FAULTS.add("law", "divergence")
class PaddingPageNotReserved(PagedAllocator):
    """The padding page is in the initial free list and is handed out."""

    first_page = 0


@FAULTS.add("law", "divergence")
class LastPageNeverUsed(PagedAllocator):
    """The pool's last page is in no list."""

    def clear(self) -> None:
        """All pages but the last."""
        super().clear()
        self.free_pages = self.free_pages[:-1]


@FAULTS.add("divergence")
class MergeSkipped(PagedAllocator):
    """A short free list is not refilled from the staged pages, so a request that fits is refused."""

    def _merge_if_short_of(self, pages: int) -> None:
        pass


@FAULTS.add("divergence", "law")
class PagesMergedUnsorted(PagedAllocator):
    """A merge appends the staged pages and does not sort."""

    def merge_and_sort_free(self) -> None:
        """Merge without the sort."""
        self.free_pages = self.get_all_free_pages()
        self.staged, self.num_staged = [], 0


@FAULTS.add("divergence")
class PagesSortedWithoutMerge(PagedAllocator):
    """The free list is sorted also when nothing is staged."""

    def merge_and_sort_free(self) -> None:
        """Sort in every case."""
        super().merge_and_sort_free()
        self.free_pages = self.free_pages.sort().values


@FAULTS.add("law", "divergence")
class MergeDropsAPage(PagedAllocator):
    """A merge loses the highest page."""

    def merge_and_sort_free(self) -> None:
        """Merge all pages but one."""
        merging = bool(self.staged)
        super().merge_and_sort_free()
        if merging:
            self.free_pages = self.free_pages[:-1]


@FAULTS.add("law", "divergence")
class MergedPagesStayStaged(PagedAllocator):
    """A merge leaves the merged pages staged, so that the next merge brings them again."""

    def merge_and_sort_free(self) -> None:
        """Merge and forget nothing."""
        if self.staged:
            self.free_pages = self.get_all_free_pages().sort().values


@FAULTS.add("divergence", stands_for=("exact-fit-refused",))
class CapacityOffByOne(PagedAllocator):
    """A request that takes exactly the last free pages is refused."""

    def _short_of(self, pages: int) -> bool:
        return pages > max(self.free_pages.numel() - 1, 0)


@FAULTS.add("law", "divergence")
class ShortPoolAccepted(PagedAllocator):
    """A request for one page more than there is gets what there is."""

    def _short_of(self, pages: int) -> bool:
        return pages > self.free_pages.numel() + 1


@FAULTS.add("divergence")
class StagedInFront(PagedAllocator):
    """A release is staged in front of the earlier ones."""

    def _release(self, pages: torch.Tensor) -> None:
        super()._release(pages)
        if self.need_sort:
            self.staged.insert(0, self.staged.pop())


@FAULTS.add("divergence")
class StagedEntriesJoined(PagedAllocator):
    """All staged pages are one entry."""

    def _release(self, pages: torch.Tensor) -> None:
        super()._release(pages)
        self.staged = [torch.cat(self.staged)] if self.staged else []


@FAULTS.add("law", "divergence", stands_for=("aliased-deferred-free",))
class StagedEntryAliased(PagedAllocator):
    """Staging keeps the caller's tensor of page ids, so overwriting it changes what is free."""

    def _release(self, pages: torch.Tensor) -> None:
        super()._release(pages)
        if self.need_sort:
            self.staged[-1] = pages


@FAULTS.add("divergence", "law")
class StagedPagesNotCounted(PagedAllocator):
    """Staged pages are left out of the count, so they do not seem available."""

    def _release(self, pages: torch.Tensor) -> None:
        super()._release(pages)
        self.num_staged = 0


@FAULTS.add("divergence")
class NeedSortIgnored(PagedAllocator):
    """Released pages go straight into the free list although it is to stay sorted."""

    def _release(self, pages: torch.Tensor) -> None:
        self.free_pages = torch.cat((pages, self.free_pages))


@FAULTS.add("divergence")
class PagesReleasedBehind(PagedAllocator):
    """Released pages go behind the free list instead of in front of it."""

    def _release(self, pages: torch.Tensor) -> None:
        if self.need_sort:
            super()._release(pages)
        else:
            self.free_pages = torch.cat((self.free_pages, pages))


@FAULTS.add("divergence")
class ReleaseReversed(PagedAllocator):
    """The pages of one release enter the list last page first."""

    def _release(self, pages: torch.Tensor) -> None:
        super()._release(pages.flip(0))


@FAULTS.add("law", "divergence")
class PagePushedTwice(PagedAllocator):
    """The last page of a release of several pages enters the free list twice."""

    def _release(self, pages: torch.Tensor) -> None:
        super()._release(torch.cat((pages, pages[-1:])) if pages.numel() > 1 else pages)


@FAULTS.add("divergence", "law")
class DeferredPagesCounted(PagedAllocator):
    """Pages that wait in the page-id pile count as available."""

    def available_size(self) -> int:
        """Free, staged and waiting pages."""
        waiting = sum(page_ids.numel() for page_ids in self.free_page_ids_group)
        return super().available_size() + waiting * self.page_size


@FAULTS.add("divergence")
class PartOfAPageRoundedUp(PagedAllocator):
    """A need that is not whole pages is rounded up instead of down."""

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """As ours, for the pages that the need touches."""
        whole = need_size if self.debug_mode else -(-need_size // self.page_size) * self.page_size
        return super().alloc(whole)


@FAULTS.add("divergence", "law")
class PagesHandedOutBackwards(PagedAllocator):
    """The slots of one request come in reverse order."""

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """As ours, the last one first."""
        slots = super().alloc(need_size)
        return None if slots is None else slots.flip(0)


@FAULTS.add("divergence", "law")
class ResizeForgetsPageCount(PagedAllocator):
    """A resize changes the size in slots and keeps the number of pages."""

    def _set_size(self, size: int) -> None:
        self.size = size


@FAULTS.add("law", "divergence")
class ClearKeepsStaged(PagedAllocator):
    """Pages that were staged stay so when the pool is cleared, and are free twice."""

    def clear(self) -> None:
        """As ours, but for what is staged."""
        staged, count = getattr(self, "staged", []), getattr(self, "num_staged", 0)
        super().clear()
        self.staged, self.num_staged = staged, count


@FAULTS.add("divergence")
class ClearKeepsPagePile(PagedAllocator):
    """Pages that wait in the page-id pile stay there when the pool is cleared."""

    def clear(self) -> None:
        """As ours, but for the page-id pile."""
        pile = getattr(self, "free_page_ids_group", [])
        super().clear()
        self.free_page_ids_group = pile
