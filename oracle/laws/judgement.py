"""All laws over one allocator, in the order in which they are judged: the narrower diagnosis first.

Guarantees that equal calls, snapshots and books give equal verdicts, and that nothing a damaged
target shows or a hostile caller books makes it raise. It knows what the target returned, what the
caller freed, and the target's own snapshot; it knows no prediction and no contract. It does not say
whose fault a broken law is: the judge does.
"""

from __future__ import annotations

from oracle.geometry import Geometry
from oracle.laws import call_laws, mapping_laws, ownership_laws, returned_laws
from oracle.laws.census import Census, census_of
from oracle.laws.content_law import Content
from oracle.laws.ledger import Ledger
from oracle.laws.made_call import MadeCall
from oracle.laws.peers import Peers, peers_of
from oracle.laws.violation import Violation
from oracle.observation import Snapshot
from oracle.ownership import Ownership


class Laws:
    """The laws for one allocator of ``geometry``, from construction on. Traces share none."""

    def __init__(self, geometry: Geometry) -> None:
        self._ledger = Ledger(geometry)
        self._content = Content()
        self._page_size = geometry.page_size
        self._peers: Peers | None = None
        self._mapping: list[int] | None = None
        self._peered: set[int] = set()
        self._straddled: set[int] | None = None
        """The straddled pages with which the shape of ``_peers`` was last found right."""

    def judge_call(self, made: MadeCall[Snapshot], books: Ownership) -> Violation | None:
        """Judge one call right after it was made. ``books`` do not contain its outcome yet."""
        call, outcome, before = made.call, made.outcome, made.before
        self._ledger.note_call(call, outcome)
        found = call_laws.judge_error(call, made.breaches, outcome)
        if found is not None:
            return found
        if call_laws.failed(call, outcome):
            return call_laws.judge_failed(call, before, made.after)
        if outcome.error or outcome.value is None:
            return None
        if call.method in call_laws.ALLOCATIONS:
            return self._judge_allocation(made, outcome.value, books)
        if call.method == "translate_loc_from_full_to_swa" and before.mapping is not None:
            return returned_laws.judge_lookup(call, outcome.value, before.mapping)
        return None

    def judge_state(self, after: Snapshot, books: Ownership) -> Violation | None:
        """Judge the state after a whole operation, all of whose calls are booked."""
        ledger = self._ledger
        restored = ledger.restored(books)
        ledger.follow(after.mapping, books)
        self._content.stamp(after.mapping, books)
        full = census_of("full", after.full, ledger.full_pages, ledger.first_page)
        if after.swa is None or after.mapping is None:
            return (
                ownership_laws.judge_padding(after, [full])
                or ownership_laws.judge_one_owner(full, books.holders.keys(), books)
                or self._judge_counts(after, full, None, None, books)
                or self._content.judge_full(books, everything=restored)
            )
        swa = census_of("swa", after.swa, ledger.swa_pages)
        changed = self._look_up_peers(after.mapping, books)
        peers = self._peers or peers_of(after.mapping, books)
        return (
            ownership_laws.judge_padding(after, [full, swa])
            or mapping_laws.judge_padding_peers(peers, books)
            or mapping_laws.judge_support(after.mapping, peers, books, ledger)
            or self._judge_shape(peers, books)
            or ownership_laws.judge_one_owner(full, books.holders.keys(), books)
            or ownership_laws.judge_one_owner(swa, peers.held, books)
            or self._judge_counts(after, full, swa, peers, books)
            or self._content.judge_full(books, everything=restored)
            or (
                self._content.judge_swa(peers, books)
                if changed or restored or books.written or books.loaded_peers
                else None
            )
        )

    def _judge_allocation(
        self, made: MadeCall[Snapshot], value: tuple[int, ...], books: Ownership
    ) -> Violation | None:
        call, before = made.call, made.before
        swa = None
        if before.swa is not None:
            swa = census_of("swa", before.swa, self._ledger.swa_pages)
        if call.pool == "swa":
            return returned_laws.judge_returned(call, value, swa, books) if swa else None
        full = census_of("full", before.full, self._ledger.full_pages, self._ledger.first_page)
        found = returned_laws.judge_returned(call, value, full, books)
        if found is None and swa is not None and call.pool == "composite":
            found = returned_laws.judge_new_peers(
                call, value, before, made.after, swa, self._page_size
            )
        return found

    def _look_up_peers(self, mapping: list[int], books: Ownership) -> bool:
        """Look the peers up again if the mapping or who has peers changed, and say whether they
        did.
        """
        if self._peers is not None and self._mapping == mapping and self._peered == books.peered:
            return False
        self._peers = peers_of(mapping, books)
        self._mapping, self._peered = mapping, books.peered.copy()
        self._straddled = None
        return True

    def _judge_shape(self, peers: Peers, books: Ownership) -> Violation | None:
        if self._straddled == books.straddled:
            return None
        found = mapping_laws.judge_shape(peers, books)
        if found is None:
            self._straddled = books.straddled.copy()
        return found

    def _judge_counts(
        self,
        after: Snapshot,
        full: Census,
        swa: Census | None,
        peers: Peers | None,
        books: Ownership,
    ) -> Violation | None:
        ledger = self._ledger
        censuses = [full]
        found = ownership_laws.judge_conservation(
            full, books.holders.keys(), ledger.deferred_full
        ) or ownership_laws.judge_capacity(full, self._page_size, ledger.full_size)
        if found is None and swa is not None and peers is not None:
            censuses.append(swa)
            gone = ledger.deferred_swa
            if ledger.lingering and after.mapping is not None:
                gone = gone | ledger.lingering_pages(after.mapping)
            found = (
                ownership_laws.judge_conservation(swa, peers.held, gone)
                or mapping_laws.judge_mapped_equals_held(swa, peers, gone, self._page_size)
                or ownership_laws.judge_capacity(swa, self._page_size, ledger.swa_size)
            )
        if found is None and not (books.requests or books.tree or books.group_open):
            found = ownership_laws.judge_everything_returned(after, censuses, self._page_size)
        return found
