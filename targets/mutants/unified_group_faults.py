"""Faults of the unified allocators' free groups: what a flush sees, in which order it frees, and what waits.

Each class is one fault (contract_unified §9, §11 B1 to B3).
"""

from __future__ import annotations

from typing import ClassVar

import torch

from targets.eager.unified.full_and_state import FullAndStateAllocator
from targets.eager.unified.three_pools import ThreePoolAllocator
from targets.eager.unified.two_pools import TwoPoolAllocator
from targets.mutants.mutant import FaultList

FAULTS = FaultList()
PILES = ("tokens", "representatives", "full_tokens", "full_representatives")


class _OnePileUnseen(TwoPoolAllocator):
    """A flush before an eviction looks at all piles but one, and does nothing when the others are empty."""

    unseen: ClassVar[str]

    def flush_deferred(self) -> None:
        """As ours, when a pile that is looked at has something."""
        seen = [pile for pile in PILES if pile != self.unseen]
        if self.group is not None and any(getattr(self.group, pile) for pile in seen):
            super().flush_deferred()


@FAULTS.add("law", "divergence")
class TokenPileUnseen(_OnePileUnseen):
    """An eviction sizes itself before the plain frees of the open group are made."""

    unseen = "tokens"


@FAULTS.add("law", "divergence")
class RepresentativePileUnseen(_OnePileUnseen):
    """An eviction sizes itself before the segment frees of the open group are made."""

    unseen = "representatives"


@FAULTS.add("law", "divergence")
class FullTokenPileUnseen(_OnePileUnseen):
    """An eviction sizes itself before the plain FULL-only frees of the open group are made."""

    unseen = "full_tokens"


@FAULTS.add("law", "divergence")
class FullRepresentativePileUnseen(_OnePileUnseen):
    """An eviction sizes itself before the FULL-only segment frees of the open group are made."""

    unseen = "full_representatives"


@FAULTS.add("law", "divergence")
class ThreePoolFlushForgotten(ThreePoolAllocator):
    """An eviction from three pools sizes itself before the deferred frees."""

    def flush_deferred(self) -> None:
        """Nothing is freed."""


@FAULTS.add("law", "divergence")
class StateFlushForgotten(FullAndStateAllocator):
    """An eviction beside states sizes itself before the deferred frees."""

    def flush_deferred(self) -> None:
        """Nothing is freed."""


@FAULTS.add("divergence")
class TokensFreedLast(TwoPoolAllocator):
    """A group ends with its segments before its plain frees."""

    def free_group_end(self) -> None:
        """The plain piles are kept back and freed after the others."""
        group = self.group
        if group is None:
            return
        tokens, group.tokens = group.tokens, []
        super().free_group_end()
        if tokens:
            self.free(torch.cat(tokens))


@FAULTS.add("divergence")
class FullOnlySegmentsFreedFirst(TwoPoolAllocator):
    """A group ends with its FULL-only segments before those with peers."""

    def free_group_end(self) -> None:
        """The segments with peers are kept back and freed after the others."""
        group = self.group
        if group is None:
            return
        kept, group.representatives = group.representatives, []
        super().free_group_end()
        if kept:
            pages = self.full.representative_pages(torch.cat(kept))
            self._expect_bound(pages)
            self.swa.release(pages)
            self.full.release(pages)


@FAULTS.add("law", "divergence", stands_for=("aliased-deferred-free",))
class TokenPileAliased(TwoPoolAllocator):
    """A plain free that waits keeps the caller's tensor."""

    def free(self, slots: torch.Tensor) -> None:
        """As ours, without the copy."""
        if self.group is not None and slots.numel():
            self.group.tokens.append(slots)
        else:
            super().free(slots)


@FAULTS.add("law", "divergence", stands_for=("aliased-deferred-free",))
class RepresentativePileAliased(TwoPoolAllocator):
    """A segment free that waits keeps a view of the caller's tensor."""

    def free_segment(self, slots: torch.Tensor, *, start_pos: int) -> None:
        """As ours, without the copy."""
        if self.group is not None and slots.numel():
            self.group.representatives.append(self._representatives(slots, start_pos))
        else:
            super().free_segment(slots, start_pos=start_pos)


@FAULTS.add("law", "divergence", stands_for=("aliased-deferred-free",))
class FullRepresentativePileAliased(ThreePoolAllocator):
    """A FULL-only segment free that waits keeps a view of the caller's tensor."""

    def free_full_segment(self, slots: torch.Tensor, *, start_pos: int) -> None:
        """As ours, without the copy."""
        super().free_full_segment(slots, start_pos=start_pos)
        if self.group is not None and slots.numel():
            self.group.full_representatives[-1] = self._representatives(slots, start_pos)


@FAULTS.add("signal", "divergence")
class ReleasedCheckedAtGroupEnd(TwoPoolAllocator):
    """A FULL-only segment free that waits is looked at when the group ends instead of in the call."""

    def free_full_segment(self, slots: torch.Tensor, *, start_pos: int) -> None:
        """As ours outside a group."""
        if self.group is None or slots.numel() == 0:
            super().free_full_segment(slots, start_pos=start_pos)
            return
        representatives = self._representatives(slots, start_pos)
        self.group.full_representatives.append(representatives.clone())

    def free_group_end(self) -> None:
        """Looks first, then frees."""
        if self.group is not None and self.group.full_representatives:
            waiting = torch.cat(self.group.full_representatives)
            self._expect_released(self.full.representative_pages(waiting))
        super().free_group_end()


@FAULTS.add("signal", "divergence")
class BoundCheckedAtCall(TwoPoolAllocator):
    """A segment free that waits is looked at in the call as well as when the group ends."""

    def free_segment(self, slots: torch.Tensor, *, start_pos: int) -> None:
        """Looks, then as ours."""
        if self.group is not None and slots.numel():
            representatives = self._representatives(slots, start_pos)
            self._expect_bound(self.full.representative_pages(representatives))
        super().free_segment(slots, start_pos=start_pos)


@FAULTS.add("divergence", stands_for=("nested-group-drops-frees",))
class NestedGroupDropsPiles(TwoPoolAllocator):
    """A begin inside a group is let through, and what waited is forgotten."""

    def free_group_begin(self) -> None:
        """As ours, with no group open before."""
        self.group = None
        super().free_group_begin()


@FAULTS.add("divergence")
class OpenGroupSurvivesClear(TwoPoolAllocator):
    """A clear leaves the group open, and its frees take pages that were handed out since."""

    def clear(self) -> None:
        """As ours, but for the group."""
        group = self.group
        super().clear()
        self.group = group


@FAULTS.add("divergence")
class SwaSegmentDeferred(TwoPoolAllocator):
    """A window eviction inside a group waits for its end."""

    def free_swa_segment(self, slots: torch.Tensor, *, start_pos: int) -> None:
        """Waits with the plain frees of peers, which has no pile: it is kept beside them."""
        if self.group is None or slots.numel() == 0:
            super().free_swa_segment(slots, start_pos=start_pos)
            return
        self._representatives(slots, start_pos)
        self._waiting = [*getattr(self, "_waiting", []), (slots.clone(), start_pos)]

    def free_group_end(self) -> None:
        """As ours, then the peers."""
        waiting, self._waiting = getattr(self, "_waiting", []), []
        super().free_group_end()
        for slots, start_pos in waiting:
            super().free_swa_segment(slots, start_pos=start_pos)


@FAULTS.add("divergence", stands_for=("half-double-ratchet-unified",))
class SegmentsFiltered(TwoPoolAllocator):
    """A window eviction leaves out pages that have no peer, where callers are trusted."""

    def free_swa_segment(self, slots: torch.Tensor, *, start_pos: int) -> None:
        """As ours, for the pages that are bound."""
        if slots.numel() == 0:
            return
        pages = self.full.representative_pages(self._representatives(slots, start_pos))
        self._expect_bound(pages)
        self.swa.release(pages[self.swa.bound(pages)])


@FAULTS.add("law", "divergence", stands_for=("half-double-ratchet-unified",))
class SetsTrusted(TwoPoolAllocator):
    """A plain free releases the peers of all its slots, also of those that lost theirs."""

    def _free_peers(self, slots: torch.Tensor) -> None:
        self.swa.free(slots)


@FAULTS.add("divergence")
class PaddingCountsAsBound(TwoPoolAllocator):
    """A page whose peer is the padding page counts as bound: 0 is taken for a page."""

    def _free_peers(self, slots: torch.Tensor) -> None:
        pages = self.full.representative_pages(slots)
        self.swa.free(slots[self.swa.table.v2p[pages] >= 0])


@FAULTS.add("law", "divergence")
class PeersForgottenByFullFree(TwoPoolAllocator):
    """A segment free releases the FULL side alone."""

    def free_segment(self, slots: torch.Tensor, *, start_pos: int) -> None:
        """As ours in a group; else one side."""
        if self.group is not None or slots.numel() == 0:
            super().free_segment(slots, start_pos=start_pos)
            return
        pages = self.full.representative_pages(self._representatives(slots, start_pos))
        self._expect_bound(pages)
        self.full.release(pages)
