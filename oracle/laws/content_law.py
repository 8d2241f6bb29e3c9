"""Content: no request ever reads another's KV.

A slot is stamped (request, position) when its holder writes it, on both pools: FULL slot ``s``, and
its peer if it has one. Whatever a request may still read must carry the stamp that its own writer
put there: every slot of its row that was not given back, and the peer of every slot that has one.
"""

from __future__ import annotations

from itertools import repeat

from oracle.laws.peers import Peers
from oracle.laws.violation import CONTENT_FULL, CONTENT_SWA, Violation
from oracle.laws.wording import Stamp, place, reader_of
from oracle.ownership import Ownership, Request


class Content:
    """Who wrote what: the stamp of each slot of both pools that was ever written."""

    def __init__(self) -> None:
        self.full: dict[int, Stamp | None] = {}
        self.swa: dict[int, Stamp | None] = {}

    def stamp(self, mapping: list[int] | None, books: Ownership) -> None:
        """Write the KV of the last operation: ``books.written`` on both pools,
        ``books.loaded_peers`` on the SWA pool.

        A slot without a peer writes to SWA slot 0, which nobody reads.
        """
        tag = books.tags.get
        written = books.written
        self.full.update(zip(written, map(tag, written), strict=True))
        if mapping is None:
            return
        length = len(mapping)
        for slots in (written, books.loaded_peers):
            inside = [slot for slot in slots if 0 <= slot < length]
            self.swa.update(zip(map(mapping.__getitem__, inside), map(tag, inside), strict=True))
        self.swa.pop(0, None)

    def judge_full(self, books: Ownership, *, everything: bool) -> Violation | None:
        """Check the rows that hold a slot written in the last operation; with ``everything`` all
        rows against all stamps.
        """
        if everything:
            return self._judge_all_rows(books)
        written = set(books.written)
        if not written:
            return None
        for request in books.requests:
            if not written.isdisjoint(request.slots):
                found = self._judge_row(request, written, books)
                if found is not None:
                    return found
        return None

    def judge_swa(self, peers: Peers, books: Ownership) -> Violation | None:
        """Check the peer of every slot that has one. Cost: two C-speed passes over those slots."""
        stamps = list(map(self.swa.get, peers.values))
        wanted = list(map(books.tags.get, peers.slots))
        if stamps == wanted:
            return None
        at = min(
            (at for at in range(len(stamps)) if stamps[at] != wanted[at]),
            key=peers.slots.__getitem__,
        )
        reader = reader_of(books, peers.slots[at]) or wanted[at]
        return _misread(CONTENT_SWA, reader, peers.values[at], stamps[at])

    def _judge_all_rows(self, books: Ownership) -> Violation | None:
        for request in books.requests:
            for position, slot in enumerate(request.slots):
                if position // books.page_size in request.gone:
                    continue
                if self.full.get(slot) != books.tags.get(slot):
                    reader = (request.identity, position)
                    return _misread(CONTENT_FULL, reader, slot, self.full.get(slot))
        return None

    def _judge_row(self, request: Request, written: set[int], books: Ownership) -> Violation | None:
        own = zip(repeat(request.identity), range(len(request.slots)), strict=False)
        if list(map(self.full.get, request.slots)) == list(own):
            return None
        for position, slot in enumerate(request.slots):
            if slot in written and position // books.page_size not in request.gone:
                stamp = self.full.get(slot)
                if stamp != (request.identity, position):
                    reader = (request.identity, position)
                    return _misread(CONTENT_FULL, reader, slot, stamp)
        return None


def _misread(law: str, reader: Stamp | None, slot: int, writer: Stamp | None) -> Violation:
    pool = "full" if law == CONTENT_FULL else "swa"
    who = place(reader) if reader else "the slot's holder"
    wrote = f"KV that {place(writer)} wrote" if writer else "a slot that nobody wrote"
    return Violation(
        law=law,
        pool="full" if pool == "full" else "swa",
        expected=f"{who} reads its own KV from {pool.upper()} slot {slot}",
        got=f"{who} would read {wrote}",
    )
