"""What the laws remember between operations: the sizes of the pools, and what was given back in the
open free group.

Releases differ in where a page waits that was freed in a group (piles of slots or of pages, of the
composite or of a pool, or no pile at all), so the ledger only knows *that* the caller gave it back.
It reads the caller's books and the mapping; everything else is worked out again from the snapshot
at each step.
"""

from __future__ import annotations

from oracle.call import Call
from oracle.geometry import Geometry
from oracle.observation import Outcome
from oracle.ownership import Ownership


class Ledger:
    """The laws' memory for one allocator of ``geometry``.

    ``full_pages`` and ``swa_pages`` count whole pages, ``first_page`` is the first FULL one that is no padding. The three sets are empty unless a group is
    open: FULL pages, SWA pages, and FULL slots whose mapping entry may linger until the group ends,
    all given back in that group.
    """

    def __init__(self, geometry: Geometry) -> None:
        self.page_size = geometry.page_size
        self.first_page = geometry.first_page
        self.full_size = geometry.full_slots - geometry.first_page * geometry.page_size
        self.swa_size = geometry.size_swa
        self.deferred_full: set[int] = set()
        self.deferred_swa: set[int] = set()
        self.lingering: set[int] = set()
        self._books: Ownership | None = None
        self._held: set[int] = set()
        self._peered: set[int] = set()
        self._mapping: list[int] = []

    @property
    def full_pages(self) -> int:
        """How many FULL pages exist beside the padding page."""
        return self.full_size // self.page_size

    @property
    def swa_pages(self) -> int:
        """How many SWA pages exist beside the padding page."""
        return self.swa_size // self.page_size

    def note_call(self, call: Call, outcome: Outcome) -> None:
        """A resize that did not fail changes how many pages there are."""
        if call.method == "resize" and not outcome.error:
            self.full_size = call.size
            self.swa_size = call.size_swa

    def restored(self, books: Ownership) -> bool:
        """Whether the caller took up other books since the last step: it restored a backup."""
        return self._books is not None and self._books is not books

    def follow(self, mapping: list[int] | None, books: Ownership) -> None:
        """Take in what left the books in the last operation, as given back in the open group, if
        one is open.
        """
        if not books.group_open:
            self.deferred_full.clear()
            self.deferred_swa.clear()
            self.lingering.clear()
        elif not self.restored(books):
            self._defer(books)
        self._books = books
        self._held = set(books.holders)
        if mapping is not None:
            self._peered = books.peered.copy()
            self._mapping = mapping

    def lingering_pages(self, mapping: list[int]) -> set[int]:
        """SWA pages that lingering mapping entries point to now: nobody's peers, but not lost
        before the group ends.
        """
        return {
            mapping[slot] // self.page_size
            for slot in self.lingering
            if 0 <= slot < len(mapping) and mapping[slot] > 0
        }

    def _defer(self, books: Ownership) -> None:
        holders = books.holders
        self.deferred_full |= self._held - holders.keys()
        self.deferred_full -= holders.keys()
        left = self._peered - books.peered
        self.lingering |= left
        self.lingering -= books.peered
        length = len(self._mapping)
        for slot in left:
            if 0 <= slot < length and self._mapping[slot] > 0:
                self.deferred_swa.add(self._mapping[slot] // self.page_size)
