"""Content: whatever may still be read carries the number that its own writer put there (``oracle.kv_content``).

The ledger numbers what was written as every implementation under test does, but by virtual slot: it never follows a page.
So a page that moved without its KV, or that two owners wrote, is found whoever moved it.
"""

from __future__ import annotations

from collections.abc import Iterator

from oracle.byte_buffer import BandName
from oracle.call import Call
from oracle.kv_content import written_by
from oracle.laws.unified_bands import bands_of
from oracle.laws.unified_names import CONTENT
from oracle.laws.violation import Violation
from oracle.laws.wording import place, reader_of
from oracle.observation import Outcome
from oracle.ownership import Ownership
from oracle.unified_observation import UnifiedSnapshot


class WrittenNumbers:
    """The number that was last written for each virtual slot of each band, from construction on."""

    def __init__(self) -> None:
        self.last: dict[BandName, dict[int, int]] = {"full": {}, "swa": {}, "state": {}}
        self._next = 1

    def note_call(self, call: Call, outcome: Outcome) -> None:
        """Number what ``call`` wrote. Must be told of every call."""
        slots, bands = written_by(call, outcome)
        for name in bands:
            self.last[name].update(
                zip(slots, range(self._next, self._next + len(slots)), strict=True)
            )
        self._next += len(slots)

    def judge(self, after: UnifiedSnapshot, books: Ownership) -> Violation | None:
        """Compare what stands where every slot that may be read is bound. An unbound slot is another law's matter."""
        for name, band in bands_of(after):
            size = books.page_size if name != "state" else 1
            written = self.last[name]
            for slot in dict.fromkeys(_readable(name, books)):
                page = band.v2p[slot // size] if 0 <= slot // size < len(band.v2p) else -1
                if not 0 < page * size < len(band.content):
                    continue
                found, wanted = band.content[page * size + slot % size], written.get(slot)
                if wanted is not None and found != wanted:
                    return _misread(name, slot, page, wanted, found, books)
        return None


def _readable(name: BandName, books: Ownership) -> Iterator[int]:
    """The virtual slots of a band that a request may still read."""
    if name == "state":
        yield from books.states
    elif name == "swa":
        yield from sorted(books.peered)
    else:
        for request in books.requests:
            for position, slot in enumerate(request.slots):
                if position // books.page_size not in request.gone:
                    yield slot


def _misread(
    name: BandName, slot: int, page: int, wanted: int, found: int, books: Ownership
) -> Violation:
    reader = reader_of(books, slot) if name != "state" else None
    who = f"{place(reader)}, " if reader else ""
    return Violation(
        law=CONTENT,
        pool=name,
        expected=f"{who}{name.upper()} slot {slot} on page {page}, reads KV number {wanted}",
        got=f"number {found}" if found else "a slot that nobody wrote",
    )
