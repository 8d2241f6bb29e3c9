"""The table from FULL slot to SWA slot, M in contract_paged_swa §1 and §6.1.

Negative indices count from the end, as in a Python list and in a tensor on a CPU. An index outside the table makes
the call undefined.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from oracle.reference.raised import UndefinedError, leave_undefined

UNMAPPED = 0


class PeerMapping:
    """``entries`` has a place for each slot of the FULL pool, a page more, and the sentinel -1 at the end."""

    def __init__(self, size_full: int, page_size: int) -> None:
        self.page_size = page_size
        self.entries = [UNMAPPED] * (size_full + page_size) + [-1]

    def clear(self) -> None:
        """Unmap everything; the sentinel stays as it is, damaged or not (§1, §6.7)."""
        self.entries = [UNMAPPED] * (len(self.entries) - 1) + self.entries[-1:]

    def make_room(self, size_full: int) -> None:
        """Give no prediction for a FULL pool that the table has no entries for (§1, resize)."""
        leave_undefined(
            unless=size_full + self.page_size + 1 <= len(self.entries),
            reason="a resize beyond the table may work or be refused",
        )

    def peers(self, slots: Iterable[int]) -> list[int]:
        """The entry of each slot, in order."""
        entries = self.entries
        try:
            return [entries[slot] for slot in slots]
        except IndexError:
            raise UndefinedError("a slot lies outside the mapping") from None

    def assign(self, slots: Sequence[int], peers: Sequence[int]) -> None:
        """Set ``slots`` to ``peers``; two different peers for one slot have no defined winner (§6.1)."""
        length = len(self.entries)
        leave_undefined(
            unless=not slots or (min(slots) >= -length and max(slots) < length),
            reason="a slot lies outside the mapping",
        )
        places = [slot % length for slot in slots]
        written = dict(zip(places, peers, strict=True))
        leave_undefined(
            unless=len(written) == len(places)
            or [written[place] for place in places] == list(peers),
            reason="a mapping write names one slot twice with different peers",
        )
        for place, peer in written.items():
            self.entries[place] = peer

    def unmap(self, slots: Iterable[int]) -> None:
        """Set exactly ``slots`` to 0 (§6.1)."""
        try:
            for slot in slots:
                self.entries[slot] = UNMAPPED
        except IndexError:
            raise UndefinedError("a slot lies outside the mapping") from None

    def slots_of_page(self, page: int) -> range:
        """The places of all slots of a FULL page."""
        first = self._first_entry(page)
        return range(first, first + self.page_size)

    def peers_of_page(self, page: int) -> list[int]:
        """The entries of all slots of a FULL page."""
        first = self._first_entry(page)
        return self.entries[first : first + self.page_size]

    def unmap_page(self, page: int) -> None:
        """Set all slots of a FULL page to 0."""
        first = self._first_entry(page)
        self.entries[first : first + self.page_size] = [UNMAPPED] * self.page_size

    def _first_entry(self, page: int) -> int:
        first = page * self.page_size
        if first < 0:
            first += len(self.entries)
        leave_undefined(
            unless=0 <= first <= len(self.entries) - self.page_size,
            reason="a page lies outside the mapping",
        )
        return first
