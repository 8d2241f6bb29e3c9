"""Frees of the composites that have peers: which side loses what, now or when the group ends (contract_unified §9)."""

from __future__ import annotations

from collections.abc import Sequence

from oracle.call import Segment
from oracle.contract import SEGMENT_BOUND, SEGMENT_RELEASED, Contract
from oracle.geometry import Geometry, Mode
from oracle.reference.raised import leave_undefined, require
from oracle.unified.pool import UnifiedPool, joined


class PeeredFrees(UnifiedPool):
    """FULL slots and their peers. A slot is bound when the SWA table leads it to a page beyond the padding."""

    def __init__(self, geometry: Geometry, mode: Mode, contract: Contract) -> None:
        super().__init__(geometry, mode, contract)
        self.swa = self.bands["swa"]
        self._full_only_is_two_sided = contract.full_only_segments == "two-sided"
        self._set_shaped = contract.single_slot_segments == "set-shaped" and self.page_size == 1

    def bound(self, slots: Sequence[int]) -> list[int]:
        """Those slots that have a peer, in order."""
        pages = self.swa.virtual_pages(slots)
        return [slot for slot, page in zip(slots, pages, strict=True) if self.swa.v2p[page] > 0]

    def free(self, slots: Sequence[int]) -> None:
        """Both sides; the peers of those that have one when it acts, which in a group is at its end."""
        if not slots:
            return
        if self.group is not None:
            self.group.tokens.append(list(slots))
            return
        self.full.virtual_pages(slots)
        self.swa.free(self.bound(slots))
        self.full.free(slots)

    def free_swa(self, slots: Sequence[int]) -> None:
        """The peers of those that have one, at once."""
        if slots:
            self.swa.free(self.bound(slots))

    def free_full(self, slots: Sequence[int]) -> None:
        """The FULL side only."""
        if not slots:
            return
        if self.group is not None:
            self.group.full_tokens.append(list(slots))
        else:
            self.full.free(slots)

    def free_swa_segment(self, slots: Sequence[int], start_pos: int) -> None:
        """The peers of a segment, at once, whether it has them or not."""
        if not slots:
            return
        self.require_page_start(start_pos)
        if self._set_shaped:
            self.free_swa(slots)
        else:
            self._release_peers(slots[:: self.page_size])

    def free_segment(self, slots: Sequence[int], start_pos: int) -> None:
        """Both sides of a segment; nothing is looked up before it acts."""
        if not slots:
            return
        self.require_page_start(start_pos)
        representatives = list(slots[:: self.page_size])
        if self._set_shaped:
            self.free(slots)
        elif self.group is not None:
            self.group.representatives.append(representatives)
        else:
            self._release_peers(representatives)
            self.full.free_representatives(representatives)

    def free_full_segment(self, slots: Sequence[int], start_pos: int) -> None:
        """The FULL side of a segment; that it has no peers any more is checked at the call, in a group too."""
        if not slots:
            return
        if self._full_only_is_two_sided:
            self._free_full_segment_two_sided(slots, start_pos)
            return
        self.require_page_start(start_pos)
        representatives = list(slots[:: self.page_size])
        self.signals.evaluate(SEGMENT_RELEASED, len(self.bound(representatives)))
        if self.group is not None:
            self.group.full_representatives.append(representatives)
        else:
            self.full.free_representatives(representatives)

    def _free_full_segment_two_sided(self, slots: Sequence[int], start_pos: int) -> None:
        if self.page_size == 1:
            self.free_full(slots)
        else:
            self.free_segment(slots, start_pos)

    def free_segments(self, segments: Sequence[Segment]) -> None:
        """``free_segment`` of each."""
        self.each_segment(segments, self.free_segment)

    def free_full_segments(self, segments: Sequence[Segment]) -> None:
        """``free_full_segment`` of each."""
        self.each_segment(segments, self.free_full_segment)

    def free_group_end(self) -> None:
        """Close the group first; then tokens, FULL-only tokens, and the representatives of both piles in one FULL free."""
        piles, self.group = self.group, None
        if piles is None:
            leave_undefined(unless=False, reason="the end of a group that is not open")
            return
        if piles.tokens:
            self.free(joined(piles.tokens))
        if piles.full_tokens:
            self.full.free(joined(piles.full_tokens))
        both = joined(piles.representatives)
        if both:
            self._release_peers(both)
        self.full.free_representatives(both + joined(piles.full_representatives))

    def _release_peers(self, representatives: Sequence[int]) -> None:
        """Unbind the SWA page of each representative: as the contract's choice for unbound pages says."""
        bound = self.bound(representatives)
        self.signals.evaluate(SEGMENT_BOUND, len(representatives) - len(bound))
        if self.contract.unbound_pages == "refused":
            require(
                len(bound) == len(representatives),
                "a page without a peer is freed as if it had one",
            )
        self.swa.free_representatives(
            bound if self.contract.unbound_pages == "filtered" else representatives
        )
