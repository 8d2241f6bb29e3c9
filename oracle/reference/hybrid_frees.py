"""What gives slots back in the hybrid allocator, in a group and outside (contract_paged_swa §6.3, §6.4, §6.6).

The mapping is read and cleared at the call; in a group only the release waits.
"""

from __future__ import annotations

from collections.abc import Sequence

from oracle.contract import PEER_MAPPED, PEER_RELEASED
from oracle.reference.hybrid_state import HybridState, SubPool
from oracle.reference.peer_mapping import UNMAPPED
from oracle.reference.pool import joined
from oracle.reference.raised import leave_undefined, require


class HybridFrees(HybridState):
    """Frees of both sides, of the SWA side, of the FULL side; as sets of slots and as segments."""

    def free(self, slots: Sequence[int]) -> None:
        """The SWA half, then the FULL half (§6.3)."""
        if slots:
            self.free_swa(slots)
            self.free_full(slots)

    def free_segment(self, slots: Sequence[int], start_pos: int) -> None:
        """The SWA half, then the FULL half, both by representatives (§6.3)."""
        if not slots:
            return
        self.require_page_start(start_pos)
        self.release_swa_pages(self.resolve_representatives(slots, full_follows=True))
        self.full.free_segment(slots, start_pos)

    def free_swa(self, slots: Sequence[int]) -> None:
        """Release the peers of every page that ``slots`` touch; at page size 1 unfiltered (§6.3)."""
        if not slots:
            return
        if self.page_size == 1:
            self.free_swa_segment(slots, 0)
            return
        peers = self.resolve_pages(slots)
        if self.group is None:
            self.release_swa_set(peers)
        else:
            self.swa_set_pile = [*self.swa_set_pile, peers]

    def free_swa_segment(self, slots: Sequence[int], start_pos: int) -> None:
        """Release the SWA page of each representative in row order, unmapped ones as page 0 (§6.3)."""
        if not slots:
            return
        self.require_page_start(start_pos)
        self.release_swa_pages(self.resolve_representatives(slots, full_follows=False))

    def free_full(self, slots: Sequence[int]) -> None:
        """Release the FULL side only; the mapping stays (§6.3)."""
        if not slots:
            return
        self.report_mapped(slots)
        self.full.free(slots)
        self.require_capacity("FULL", self.full)

    def free_full_segment(self, slots: Sequence[int], start_pos: int) -> None:
        """Release the FULL side only, by representatives; the invariant comes before the alignment (§6.3)."""
        if not slots:
            return
        self.report_mapped(slots)
        self.full.free_segment(slots, start_pos)

    def free_group_begin(self) -> None:
        """Open the composite's group, empty both SWA piles, then open FULL's group, which may refuse (§6.4)."""
        super().free_group_begin()
        self.swa_set_pile = []
        self.swa_page_pile = []
        self.full.free_group_begin()

    def free_group_end(self) -> None:
        """Flush the SWA page pile, the SWA set pile, then FULL's two piles (§6.4)."""
        self.group = None
        if self.swa_page_pile:
            pages, self.swa_page_pile = joined(self.swa_page_pile), []
            self.swa.free_page_ids(pages)
        if self.swa_set_pile:
            peers, self.swa_set_pile = joined(self.swa_set_pile), []
            self.release_swa_set(peers)
        self.full.free_group_end()
        self.require_capacity("FULL", self.full)
        self.require_capacity("SWA", self.swa)

    def release_swa_set(self, peers: Sequence[int]) -> None:
        """Release gathered SWA slots, unmapped ones skipped (§6.3, §6.4 step 3)."""
        self.swa.free([peer for peer in peers if peer > UNMAPPED])
        self.require_capacity("SWA", self.swa)

    def release_swa_pages(self, pages: list[int]) -> None:
        """Release SWA pages as they are, or put them on their pile, where nothing is asserted (§6.3, §6.4)."""
        if self.group is not None:
            self.swa_page_pile = [*self.swa_page_pile, pages]
            return
        self.swa.free_page_ids(pages)
        self.require_capacity("SWA", self.swa)

    def resolve_pages(self, slots: Sequence[int]) -> list[int]:
        """Read, then clear, the peers of all slots of the page of each slot, repeated pages repeated (§6.1 expand).

        Outside a group the release takes each page once, so each page is read once: same result, less to read.
        """
        pages = [slot // self.page_size for slot in slots]
        kept_as_given = self.group is not None or self.swa.group is not None
        peers_of = {page: self.mapping.peers_of_page(page) for page in dict.fromkeys(pages)}
        for page in peers_of:
            self.mapping.unmap_page(page)
        return joined([peers_of[page] for page in (pages if kept_as_given else peers_of)])

    def resolve_representatives(self, slots: Sequence[int], *, full_follows: bool) -> list[int]:
        """The SWA page of each representative, its whole FULL page unmapped; all checks of §2 and §6.6 on the way.

        ``full_follows``: the FULL half comes next, so its debug check must not fail once the mapping has changed.
        """
        representatives = slots[:: self.page_size]
        full_pages = [slot // self.page_size for slot in representatives]
        self._require_kernel_input(full_pages)
        peers = self.mapping.peers(representatives)
        swa_pages = [peer // self.page_size for peer in peers]
        match = self._peers_match(full_pages, peers)
        if not self.contract.checks_after_clearing:
            self._report_representatives(peers, match)
        if full_follows:
            self.full.require_whole_segment(slots)
        for page in full_pages:
            self.mapping.unmap_page(page)
        if self.contract.checks_after_clearing:
            self._report_representatives(peers, match)
        return swa_pages

    def report_mapped(self, slots: Sequence[int]) -> None:
        """``swa.peer_released``: every one of ``slots`` has lost its peer (§2)."""
        peers = self.mapping.peers(slots)
        self.signals.evaluate(PEER_RELEASED, len(peers) - peers.count(UNMAPPED))

    def require_capacity(self, side: str, pool: SubPool) -> None:
        """The over-credit assertion: it looks at the state, not at the call (§6.3)."""
        available = pool.available_size()
        require(available <= pool.size, f"over-credit {side}: {available} of {pool.size} slots")

    def _report_representatives(self, peers: Sequence[int], match: bool) -> None:
        """``swa.peer_mapped``, then the debug comparison (§2, order within one call)."""
        self.signals.evaluate(PEER_MAPPED, sum(peer <= UNMAPPED for peer in peers))
        require(match, "debug: swa pages do not match the mapped pages")

    def _peers_match(self, full_pages: Sequence[int], peers: Sequence[int]) -> bool:
        """Debug: the representatives' SWA pages are all there is on their FULL pages, each once (§6.6)."""
        if not self.debug:
            return True
        entries_by_page = [self.mapping.peers_of_page(page) for page in full_pages]
        if self.contract.checks_after_clearing:
            return all(map(self._kernel_finds_valid, peers, entries_by_page))
        mapped = {peer // self.page_size for peer in joined(entries_by_page) if peer > UNMAPPED}
        return sorted(peer // self.page_size for peer in peers) == sorted(mapped)

    def _kernel_finds_valid(self, peer: int, entries: Sequence[int]) -> bool:
        """The kernel's own comparison, page by page (§6.5)."""
        page = peer // self.page_size
        return peer > UNMAPPED and all(
            entry // self.page_size == page for entry in entries if entry
        )

    def _require_kernel_input(self, full_pages: Sequence[int]) -> None:
        """Give no prediction where programs of the fused kernel race or read out of bounds (§6.3)."""
        if self.contract.checks_after_clearing:
            leave_undefined(
                unless=min(full_pages) >= 0 and len(set(full_pages)) == len(full_pages),
                reason="negative or repeated representatives on a device",
            )
