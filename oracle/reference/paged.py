"""The paged allocator: its lists, and what puts pages back (contract_paged_swa §5.1, §5.5).

What takes pages out is ``oracle.reference.paged_alloc``.
"""

from __future__ import annotations

from collections.abc import Sequence

from oracle.contract import Contract
from oracle.observation import PoolState
from oracle.reference.pool import Pool, joined
from oracle.reference.raised import NEVER_SAVED, UndefinedError, leave_undefined, require


class PagedFrees(Pool):
    """Page ids that are free (consumed from the head), staged, or on a pile.

    ``staged`` has an entry for each release since the last merge, or one for all of them; ``page_pile`` an entry for each
    deferred ``free_page_ids``, or one of slots for all deferred segments. ``debug`` switches the checks of the memory-pool
    debug mode on.
    """

    def __init__(
        self, size: int, page_size: int, contract: Contract, *, need_sort: bool, debug: bool
    ) -> None:
        super().__init__(page_size, contract)
        self.saved: tuple[list[int], list[list[int]]] | None = None
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

    def backup_state(self) -> None:
        """Remember the free list and what is staged (§13.1)."""
        self.saved = self.free_list, self.staged

    def restore_state(self) -> None:
        """Return both to the last backup; an open group stays as it is (§13.1)."""
        if self.saved is None:
            raise UndefinedError(NEVER_SAVED)
        self.free_list, self.staged = self.saved
        self.staged_count = sum(map(len, self.staged))

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
        """REL: stage with need_sort, else put in front of the free list (§5.1, §13.2)."""
        if not self.need_sort:
            self.free_list = pages + self.free_list
            return
        if self.contract.staging == "appended-entries":
            self.staged = [*self.staged, pages]
        else:
            self.staged = [pages + joined(self.staged)]
        self.staged_count += len(pages)

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
        if self.contract.segment_start == "anywhere":
            self.free_pieces(slots, start_pos)
            return
        self.require_page_start(start_pos)
        self.require_whole_segment(slots)
        self.free_page_ids(self.pages_of_representatives(slots))

    def free_pieces(self, slots: Sequence[int], start_pos: int) -> None:
        """The same from any start: the first slot names its page, then the first slot of each later page (§13.2)."""
        head = -start_pos % self.page_size
        pieces = [*slots[: min(head, 1)], *slots[head :: self.page_size]]
        pages = [slot // self.page_size for slot in pieces]
        if self.debug:
            require(
                sorted(pages) == sorted(self.pages_of(slots)),
                "debug: the pages of the pieces are not the pages of the segment",
            )
        if self.group is None:
            self.free_page_ids(pages)
        else:
            self.page_pile = [joined([*self.page_pile, pieces])]

    def free_group_begin(self) -> None:
        """Open the group with both piles empty (§5.5), unless one is open."""
        if not self.stays_open():
            self.group, self.page_pile = [], []

    def free_group_end(self) -> None:
        """The plain pile as one ``free``, then the page pile as one release (§5.5)."""
        plain_pages = self.pages_of(joined(self.group or []))
        super().free_group_end()
        if self.page_pile:
            pages, self.page_pile = joined(self.page_pile), []
            if self.contract.segment_start == "anywhere":
                pages = self.pages_of_pieces(pages, plain_pages)
            self.release(pages)
        if self.contract.duplicate_check_at_group_end:
            self.require_no_duplicates()

    def pages_of_pieces(self, pieces: Sequence[int], plain_pages: set[int]) -> list[int]:
        """The pages of a pile of slots in order. A slot inside its page names the rest of it: a page is not released twice for
        that, in the pile or with ``plain_pages``. Two page starts are two frees of the page, as everywhere (§15.2).
        """
        pages: list[int] = []
        rests: set[int] = set()
        for slot in pieces:
            page, inside = divmod(slot, self.page_size)
            waits = page in rests or (inside > 0 and (page in pages or page in plain_pages))
            if inside:
                rests.add(page)
            if not waits:
                pages.append(page)
        return pages

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
        """Debug: no page is twice in the census, whoever put it there (§5.5, §13.2)."""
        if self.debug:
            free_only = self.contract.duplicate_check == "free-only"
            pages = self.free_list if free_only else self.all_free_pages()
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
