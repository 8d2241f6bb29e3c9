"""What gives slots back in the hybrid allocator, in a group and outside (contract_paged_swa §6.3, §6.4, §13.2).

With frees that are resolved at the call, the mapping is read and cleared there and in a group only the release waits; with
frees that are resolved at the group end, the slots wait, and their peers of the time of the call are released then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from oracle.contract import Pile
from oracle.reference.hybrid_releases import HybridReleases
from oracle.reference.peer_mapping import UNMAPPED
from oracle.reference.pool import joined


class HybridFrees(HybridReleases):
    """Frees of both sides, of the SWA side, of the FULL side; as sets of slots and as segments."""

    def free(self, slots: Sequence[int]) -> None:
        """Both halves, or their place on the plain pile (§6.3, §13.2)."""
        if not slots:
            return
        if self.group is not None and self.contract.grouped_free == "resolved-at-end":
            self.pending.note(self.places_of(slots))
            self.enqueue(slots)
        else:
            self.free_halves(slots, self.free_swa)
        if self.contract.capacity_check == "each-free":
            self.require_both_capacities()

    def free_halves(self, slots: Sequence[int], free_swa: Callable[[Sequence[int]], None]) -> None:
        """The FULL half and, by ``free_swa``, the SWA half, in the contract's order (§13.2, order inside free)."""
        if self.contract.free_order == "full-first":
            self.release_full_set(slots)
            free_swa(slots)
        else:
            free_swa(slots)
            self.report_mapped(slots)
            self.release_full_set(slots)

    def free_segment(self, slots: Sequence[int], start_pos: int) -> None:
        """The SWA half, then the FULL half, both by representatives (§6.3); or the base form (§13.1)."""
        if self.contract.segment_form == "set-shaped":
            super().free_segment(slots, start_pos)
            return
        if not slots:
            return
        self.require_page_start(start_pos)
        self.release_swa_pages(self.resolve_representatives(slots, full_follows=True))
        self.full.free_segment(slots, start_pos)

    def free_swa(self, slots: Sequence[int]) -> None:
        """Release the peers of every page that ``slots`` touch; at page size 1 perhaps unfiltered (§6.3, §13.2)."""
        if not slots:
            return
        if self.page_size == 1 and self.contract.unmapped == "reported":
            self.free_swa_segment(slots, 0)
            return
        in_group = self.group is not None
        when = self.contract.grouped_free_swa if in_group else "released-at-call"
        if when == "released-at-call":
            self.release_peers_of(slots)
        elif when == "resolved-at-end":
            self.pending.note(self.places_of(slots))
            self.swa_set_pile = [*self.swa_set_pile, list(slots)]
        elif self.contract.unmapped == "reported":
            self.swa_set_pile = [*self.swa_set_pile, self.resolve_peers_of(slots)]
        else:
            peers = [peer for peer in self.resolve_peers_of(slots) if peer > UNMAPPED]
            together = joined([*self.swa_set_pile, peers])
            self.swa_set_pile = [together] if together else []

    def free_swa_segment(self, slots: Sequence[int], start_pos: int) -> None:
        """Release the SWA page of each representative in row order, unmapped ones as page 0 (§6.3)."""
        if not slots:
            return
        self.require_page_start(start_pos)
        self.release_swa_pages(self.resolve_representatives(slots, full_follows=False))

    def free_full(self, slots: Sequence[int]) -> None:
        """Release the FULL side only, or put it on its pile; the mapping stays (§6.3, §13.2)."""
        if not slots:
            return
        self.report_mapped(slots)
        if self.group is not None and "full-only" in self.contract.flush_order:
            self.full_only_pile = [*self.full_only_pile, list(slots)]
        else:
            self.full.free(slots)
        self.require_capacity("FULL", self.full)

    def free_full_segment(self, slots: Sequence[int], start_pos: int) -> None:
        """Release the FULL side only, by representatives; the invariant comes before the alignment (§6.3)."""
        if not slots:
            return
        self.report_mapped(slots)
        self.full.free_segment(slots, start_pos)

    def free_group_begin(self) -> None:
        """Open the composite's group, empty its piles, then open FULL's group, which may refuse (§6.4).

        Where the frees wait in the composite, FULL's group stays closed (§13.2, FULL deferral).
        """
        if self.stays_open():
            return
        self.group = []
        self.empty_piles()
        if "full-group" in self.contract.flush_order:
            self.full.free_group_begin()

    def free_group_end(self) -> None:
        """Close the group, then flush the piles in the contract's order (§6.4, §13.2)."""
        plain, self.group = joined(self.group or []), None
        for pile in self.contract.flush_order:
            self.flush(pile, plain)
        if self.contract.capacity_check == "each-release":
            self.require_both_capacities()

    def flush(self, pile: Pile, plain: Sequence[int]) -> None:
        """Empty one pile, then release what was on it; ``plain`` is what was on the plain one."""
        if pile == "plain" and plain:
            self.free_halves(plain, self.release_pending)
            if self.contract.capacity_check == "each-free":
                self.require_both_capacities()
        elif pile == "swa-set" and self.swa_set_pile:
            waiting, self.swa_set_pile = joined(self.swa_set_pile), []
            if self.contract.grouped_free_swa == "resolved-at-end":
                self.release_pending(waiting)
            else:
                self.release_swa_set(waiting)
        elif pile == "swa-pages" and self.swa_page_pile:
            pages, self.swa_page_pile = joined(self.swa_page_pile), []
            self.swa.free_page_ids(pages)
        elif pile == "full-only" and self.full_only_pile:
            slots, self.full_only_pile = joined(self.full_only_pile), []
            self.free_full(slots)
        elif pile == "full-group":
            self.full.free_group_end()
