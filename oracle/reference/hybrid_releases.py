"""How the hybrid allocator resolves slots to peers and puts them back (contract_paged_swa §6.3, §6.4, §6.6, §13.2).

Nothing here is a call: ``oracle.reference.hybrid_frees`` is made of these. Each choice of the contract is looked at in one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from oracle.contract import PEER_MAPPED, PEER_RELEASED
from oracle.reference.hybrid_state import HybridState, SubPool
from oracle.reference.peer_mapping import UNMAPPED
from oracle.reference.pool import joined
from oracle.reference.raised import leave_undefined, require


class HybridReleases(HybridState):
    """Set-shaped releases, now and at the group end, and releases by representatives."""

    def release_peers_of(self, slots: Sequence[int]) -> None:
        """Read, clear and release the peers of ``slots``, in the contract's order (§6.3, §13.2)."""
        places = self.places_of(slots)
        peers = self.mapping.peers(places)
        self.pending.forget_mapped(places)
        self.clear_and_release(places, peers)

    def release_pending(self, slots: Sequence[int]) -> None:
        """The same at the group end, for the peers that ``slots`` had at the call (§13.2)."""
        peers, still_mapped = self.pending.take(self.places_of(slots))
        self.clear_and_release(still_mapped, peers)

    def clear_and_release(self, places: Sequence[int], peers: Sequence[int]) -> None:
        """Both; a release that raises leaves the mapping only if it comes first (§13.2, order inside free_swa)."""
        if self.contract.free_swa_order == "clear-first":
            self.mapping.unmap(places)
            self.release_swa_set(peers)
        else:
            self.release_swa_set(peers)
            self.mapping.unmap(places)

    def resolve_peers_of(self, slots: Sequence[int]) -> list[int]:
        """Read and clear the peers of ``slots``, for a pile (§6.1 expand, §6.4)."""
        places = self.places_of(slots, for_pile=True)
        peers = self.mapping.peers(places)
        self.pending.forget_mapped(places)
        self.mapping.unmap(places)
        return peers

    def places_of(self, slots: Sequence[int], *, for_pile: bool = False) -> Sequence[int]:
        """The FULL slots whose peers a set-shaped free takes: all of each page, at page size 1 those given (§6.1 expand).

        A release takes each page once, so a page is named once, unless it is ``for_pile`` or waits in the SWA pool's own group.
        """
        if self.page_size == 1:
            return slots
        pages: Iterable[int] = [slot // self.page_size for slot in slots]
        if self.contract.expansion == "sorted-pages":
            pages = sorted(set(pages))
        elif not for_pile and self.swa.group is None:
            pages = dict.fromkeys(pages)
        slots_of_page = self.mapping.slots_of_page
        return [place for page in pages for place in slots_of_page(page)]

    def release_full_set(self, slots: Sequence[int]) -> None:
        """Release the FULL side of ``slots``, or let them wait in FULL's own group (§6.3, §6.4)."""
        self.full.free(slots)
        self.require_capacity_after_release("FULL", self.full)

    def release_swa_set(self, peers: Sequence[int]) -> None:
        """Release gathered SWA slots, unmapped ones skipped (§6.3, §6.4 step 3)."""
        self.swa.free([peer for peer in peers if peer > UNMAPPED])
        self.require_capacity_after_release("SWA", self.swa)

    def release_swa_pages(self, pages: list[int]) -> None:
        """Release SWA pages as they are, or put them on their pile, where nothing is asserted (§6.3, §6.4)."""
        if self.group is not None:
            self.swa_page_pile = [*self.swa_page_pile, pages]
            return
        self.swa.free_page_ids(pages)
        self.require_capacity_after_release("SWA", self.swa)

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
        if PEER_RELEASED in self.contract.invariants:
            peers = self.mapping.peers(slots)
            self.signals.evaluate(PEER_RELEASED, len(peers) - peers.count(UNMAPPED))

    def require_capacity(self, side: str, pool: SubPool) -> None:
        """The over-credit assertion: it looks at the state, not at the call (§6.3)."""
        available = pool.available_size()
        require(available <= pool.size, f"over-credit {side}: {available} of {pool.size} slots")

    def require_capacity_after_release(self, side: str, pool: SubPool) -> None:
        """The over-credit assertion, where each release has its own (§6.3, §13.2)."""
        if self.contract.capacity_check == "each-release":
            self.require_capacity(side, pool)

    def require_both_capacities(self) -> None:
        """Both assertions, FULL first (§6.4, §13.2)."""
        self.require_capacity("FULL", self.full)
        self.require_capacity("SWA", self.swa)

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
