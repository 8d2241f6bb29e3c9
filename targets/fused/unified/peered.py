"""FULL slots with SWA peers, handed out and given back by kernels (contract_unified §8, §9).

Guarantees one launch for each segment free and for each deferred one, and one for the segments of a whole group. Nothing waits for
the device in them unless an invariant is read. Set-shaped frees and eager bands are the torch allocator's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import torch

from targets.eager.unified.peered_pool import PeeredPool
from targets.eager.unified.relief import relieve
from targets.fused.buffers import Pile
from targets.fused.unified.bands import FusedBand
from targets.fused.unified.launches import Opening, give_back
from targets.fused.unified.rows import FusedRows

if TYPE_CHECKING:
    from oracle.geometry import Geometry
    from targets.eager.signals import Signals

FIRST_PILE = 1024
"""Representatives for which a pile has room before it grows."""


class FusedPeeredPool(FusedRows, PeeredPool):
    """Both halves; a family adds what it has room for."""

    def __init__(self, geometry: Geometry, device: str, signals: Signals) -> None:
        super().__init__(geometry, device, signals)
        self.peers = cast("FusedBand", self.swa)
        self.both_pile = Pile(FIRST_PILE, self.owner.table.on)
        self.full_pile = Pile(FIRST_PILE, self.owner.table.on)

    def alloc(self, need: int) -> torch.Tensor | None:
        """``need`` slots int64 with peers, or None; one launch. Raises AssertionError when they are no whole pages."""
        if need < 0 or not self.ensure_capacity(need, need):
            return None
        assert need % self.page_size == 0, f"{need} slots are no whole pages"
        opening = self._opening(need // self.page_size)
        if opening is None:
            return None
        out = self._new_slots(need)
        self._open(opening, out)
        return out

    def alloc_extend_swa_tail(
        self,
        prefix_lens: torch.Tensor,
        prefix_lens_cpu: torch.Tensor,
        seq_lens: torch.Tensor,
        seq_lens_cpu: torch.Tensor,
        last_loc: torch.Tensor,
        extend_num_tokens: int,
        swa_tail_len: int,
    ) -> torch.Tensor | None:
        """As the base form, in two launches."""
        prefixes, lengths = prefix_lens_cpu.tolist(), seq_lens_cpu.tolist()
        bound = self._pages_of_tail(prefixes, lengths, extend_num_tokens, swa_tail_len)
        return self._extend(prefixes, lengths, prefix_lens, seq_lens, last_loc, bound=bound)

    def _opening(self, pages: int, bound: int | None = None) -> Opening | None:
        bound = pages if bound is None else bound
        full, size = self.owner, self.page_size
        if not self.ensure_capacity(pages * size, bound * size):
            return None
        enough = pages <= full.id_count and relieve(full, pages * size)
        reserved = full.reserve(pages) if enough else None
        assert reserved is not None, f"FULL is short of {pages} pages after the gate"
        peers = self.peers.reserve(bound) if bound else None
        return Opening(pages, full, reserved, self.peers, peers, pages - bound)

    def _open(self, opening: Opening, out: torch.Tensor | None = None) -> None:
        super()._open(opening, out)
        short = opening.first_peer < opening.pages and opening.peer_reserved is None
        assert not short, f"{self.swa.name} is short of pages after the gate"

    def free_segment(self, slots: torch.Tensor, *, start_pos: int) -> None:
        """Free a segment on both sides; every page has a peer. Raises AssertionError when ``start_pos`` is not aligned."""
        if slots.numel() == 0 or not self.full.lazy:
            super().free_segment(slots, start_pos=start_pos)
            return
        representatives = self._representatives(slots, start_pos)
        if self.group is not None:
            self.group.representatives.append(_wait(self.both_pile, representatives))
            return
        self._expect_peers(representatives)
        give_back(representatives, self.page_size, peers=self.peers, owner=self.owner)

    def free_swa_segment(self, slots: torch.Tensor, *, start_pos: int) -> None:
        """Free the peers of a segment, each page has one; at once also in a group."""
        if slots.numel() == 0 or not self.swa.lazy_frees:
            super().free_swa_segment(slots, start_pos=start_pos)
            return
        representatives = self._representatives(slots, start_pos)
        self._expect_peers(representatives)
        give_back(representatives, self.page_size, peers=self.peers)

    def free_full_segment(self, slots: torch.Tensor, *, start_pos: int) -> None:
        """Free the FULL side of a segment that has no peers, which is looked at in the call."""
        if slots.numel() == 0 or not self.full.lazy:
            super().free_full_segment(slots, start_pos=start_pos)
            return
        representatives = self._representatives(slots, start_pos)
        if self._looks():
            self._expect_released(self.full.representative_pages(representatives))
        if self.group is not None:
            self.group.full_representatives.append(_wait(self.full_pile, representatives))
        else:
            give_back(representatives, self.page_size, owner=self.owner)

    def free_group_begin(self) -> None:
        """Let frees wait. Raises AssertionError when a group is open."""
        super().free_group_begin()
        self.both_pile.empty()
        self.full_pile.empty()

    def free_group_end(self) -> None:
        """As the base form; all representatives in one launch."""
        if self.group is None or not self.full.lazy:
            super().free_group_end()
            return
        group, self.group = self.group, None
        if group.tokens:
            self.free(torch.cat(group.tokens))
        if group.full_tokens:
            self.full.free(torch.cat(group.full_tokens))
        both, alone = self.both_pile.everything(), self.full_pile.everything()
        if self.both_pile.count:
            self._expect_peers(both)
        peers = self.peers if self.both_pile.count else None
        give_back(both, self.page_size, peers=peers, owner=self.owner, more=alone)

    def _expect_peers(self, representatives: torch.Tensor) -> None:
        if self._looks():
            self._expect_bound(self.full.representative_pages(representatives))


def _wait(pile: Pile, representatives: torch.Tensor) -> torch.Tensor:
    """The representatives as they lie on ``pile`` now, the allocator's own."""
    start = pile.count
    pile.push(representatives)
    return pile.buffer[start : pile.count]
