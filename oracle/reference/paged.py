"""The paged allocator: its lists, and what puts pages back (contract_paged_swa §5.1, §5.5).

What takes pages out is ``oracle.reference.paged_alloc``.
"""

from __future__ import annotations

from collections.abc import Sequence

from oracle.observation import PoolState
from oracle.reference.pool import Pool, joined
from oracle.reference.raised import leave_undefined, require


class PagedFrees(Pool):
    """Page ids that are free (consumed from the head), staged, or on a pile.

    ``staged`` has an entry for each release since the last merge; ``page_pile`` an entry for each deferred
    ``free_page_ids``. ``debug`` switches the checks of the memory-pool debug mode on.
    """

    def __init__(self, size: int, page_size: int, *, need_sort: bool, debug: bool) -> None:
        super().__init__(page_size)
        self.size = size
        self.need_sort = need_sort
        self.debug = debug
        self.clear()

    def clear(self) -> None:
        """Every page but 0 is free, in order; an open group and both piles are dropped (§1, §3)."""
        self.free_list = list(range(1, self.size // self.page_size + 1))
        self.staged: list[list[int]] = []
        self.staged_count = 0
        self.group = None
        self.page_pile: list[list[int]] = []

    def resize(self, size: int) -> None:
        """Take a new size in slots and clear (§1)."""
        leave_undefined(unless=size >= 0, reason=f"size {size} is negative")
        self.size = size
        self.clear()

    def available_pages(self) -> int:
        """Pages that can be handed out, merged or not."""
        return len(self.free_list) + self.staged_count

    def available_size(self) -> int:
        """The same in slots (§5)."""
        return self.available_pages() * self.page_size

    def all_free_pages(self) -> list[int]:
        """The census: the free list, then each staged entry (§1)."""
        return self.free_list + joined(self.staged) if self.staged else self.free_list[:]

    def merge_and_sort_free(self) -> None:
        """Merge what is staged and sort; with nothing staged the order stays (§1)."""
        if self.staged:
            self.free_list = sorted(self.all_free_pages())
            self.staged = []
            self.staged_count = 0

    def release(self, pages: list[int]) -> None:
        """REL: stage as one entry with need_sort, else put in front of the free list (§5.1)."""
        if self.need_sort:
            self.staged = [*self.staged, pages]
            self.staged_count += len(pages)
        else:
            self.free_list = pages + self.free_list

    def free(self, slots: Sequence[int]) -> None:
        """Release the pages of ``slots``, each once and sorted, or defer the slots (§5.5)."""
        if not slots:
            return
        if self.group is not None:
            self.enqueue(slots)
        else:
            self.release(sorted(self.pages_of(slots)))
        self.require_no_duplicates()

    def free_page_ids(self, pages: Sequence[int]) -> None:
        """Release ``pages`` in the given order, duplicates and all, or defer them (§5.5)."""
        if not pages:
            return
        if self.group is not None:
            self.page_pile = [*self.page_pile, list(pages)]
        else:
            self.release(list(pages))
            self.require_no_duplicates()

    def free_segment(self, slots: Sequence[int], start_pos: int) -> None:
        """Release the page of each representative in row order (§5.5); empty: nothing, unchecked (§0)."""
        if not slots:
            return
        self.require_page_start(start_pos)
        self.require_whole_segment(slots)
        self.free_page_ids(self.pages_of_representatives(slots))

    def free_group_begin(self) -> None:
        """Open the group with both piles empty (§5.5)."""
        super().free_group_begin()
        self.page_pile = []

    def free_group_end(self) -> None:
        """The plain pile as one ``free``, then the page pile as one release (§5.5)."""
        super().free_group_end()
        if self.page_pile:
            pages, self.page_pile = joined(self.page_pile), []
            self.release(pages)
        self.require_no_duplicates()

    def pages_of(self, slots: Sequence[int]) -> set[int]:
        """The pages that ``slots`` lie in."""
        return {slot // self.page_size for slot in slots}

    def pages_of_representatives(self, slots: Sequence[int]) -> list[int]:
        """The page of every ``page_size``-th slot, in order."""
        return [slot // self.page_size for slot in slots[:: self.page_size]]

    def require_whole_segment(self, slots: Sequence[int]) -> None:
        """Debug: the representatives name each page of the segment exactly once (§5.5)."""
        if self.debug:
            require(
                sorted(self.pages_of_representatives(slots)) == sorted(self.pages_of(slots)),
                "debug: the pages of the representatives are not the pages of the segment",
            )

    def require_no_duplicates(self) -> None:
        """Debug: no page is twice in the census, whoever put it there (§5.5)."""
        if self.debug:
            pages = self.all_free_pages()
            require(len(set(pages)) == len(pages), "debug: duplicate pages in the free list")

    def state(self) -> PoolState:
        """Everything that can be seen of the pool (§14)."""
        return PoolState(
            size=self.size,
            available=self.available_size(),
            free=self.free_list[:],
            staged=self.staged[:],
            staged_count=self.staged_count,
            group=None if self.group is None else self.group[:],
            page_pile=self.page_pile[:],
            all_free=self.all_free_pages(),
        )
