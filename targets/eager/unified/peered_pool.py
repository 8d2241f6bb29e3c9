"""An allocator whose FULL slots have SWA peers: allocation on both sides, the views of each, loads from the host
(contract_unified §5, §8).

Guarantees that an allocation that was let through is complete on both sides. What lets it through is the subclass's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from targets.eager.unified.end_band import EndBand
from targets.eager.unified.ids import take_ids
from targets.eager.unified.peered_frees import PeeredFrees
from targets.eager.unified.relief import relieve
from targets.eager.unified.token_pool import TokenPool

if TYPE_CHECKING:
    from oracle.geometry import Geometry
    from targets.eager.signals import Signals
    from targets.eager.unified.band import Band


class PeeredPool(PeeredFrees, TokenPool):
    """FULL and SWA of one buffer. ``size_full`` and ``size_swa`` are the static caps, in slots."""

    def __init__(self, geometry: Geometry, device: str, signals: Signals) -> None:
        PeeredFrees.__init__(self)
        TokenPool.__init__(self, geometry, device)
        self.signals = signals
        self.swa: Band = self.bands["swa"]
        id_slots = self.full.page_room * self.page_size
        self.size_full = geometry.size or self.full.available_size()
        self.size_swa = geometry.size_swa or min(self.swa.available_size(), id_slots)

    def clear(self) -> None:
        """As the base form; what waits in a group is forgotten and the group closed."""
        super().clear()
        self.group = None

    def ensure_capacity(self, full: int, swa: int) -> bool:
        """Whether so many slots fit on both sides at once, if need be after pages moved (§8)."""
        raise NotImplementedError

    def full_available_size(self) -> int:
        """FULL slots within the cap that can be had."""
        return min(self.conserve_full_available_size(), self.schedulable_full_available_size())

    def swa_available_size(self) -> int:
        """SWA slots within the cap that can be had."""
        return min(self.conserve_swa_available_size(), self.schedulable_swa_available_size())

    def conserve_full_available_size(self) -> int:
        """FULL slots that the cap leaves."""
        return self.size_full - self.full.allocated_count

    def conserve_swa_available_size(self) -> int:
        """SWA slots that the cap leaves."""
        return self.size_swa - self.swa.allocated_count

    def schedulable_full_available_size(self) -> int:
        """FULL slots that the bytes leave."""
        return self.full.schedulable_available_size()

    def schedulable_swa_available_size(self) -> int:
        """SWA slots that the bytes leave."""
        return self.swa.schedulable_available_size()

    def current_full_capacity(self) -> int:
        """FULL slots that are taken or can be had."""
        return self.full_available_size() + self.full.allocated_count

    def current_swa_capacity(self) -> int:
        """SWA slots that are taken or can be had."""
        return self.swa_available_size() + self.swa.allocated_count

    def alloc(self, need: int) -> torch.Tensor | None:
        """``need`` slots int64 with peers, or None. Raises AssertionError when they are no whole pages."""
        if need < 0 or not self.ensure_capacity(need, need):
            return None
        assert need % self.page_size == 0, f"{need} slots are no whole pages"
        ids = self._take_pages(need // self.page_size)
        return None if ids is None else self.full.slots_of(ids)

    def alloc_extend_swa_tail(
        self,
        prefix_lens: torch.Tensor,  # noqa: ARG002 (the arguments that callers know)
        prefix_lens_cpu: torch.Tensor,
        seq_lens: torch.Tensor,  # noqa: ARG002 (the arguments that callers know)
        seq_lens_cpu: torch.Tensor,
        last_loc: torch.Tensor,
        extend_num_tokens: int,
        swa_tail_len: int,
    ) -> torch.Tensor | None:
        """As ``alloc_extend`` for one row, with peers for the new pages of its last ``swa_tail_len`` slots alone (§8).

        Raises AssertionError for another batch size or a tail outside 0 to ``extend_num_tokens``.
        """
        prefixes, lengths = prefix_lens_cpu.tolist(), seq_lens_cpu.tolist()
        bound = self._pages_of_tail(prefixes, lengths, extend_num_tokens, swa_tail_len)
        return self._grow(prefixes, lengths, last_loc, bound=bound)

    def _pages_of_tail(
        self, prefixes: list[int], lengths: list[int], extend_num_tokens: int, swa_tail_len: int
    ) -> int:
        """How many of the new pages of the only row its tail touches."""
        assert len(prefixes) == 1, f"a tail belongs to one row, not to {len(prefixes)}"
        assert 0 <= swa_tail_len <= extend_num_tokens, (
            f"a tail of {swa_tail_len} slots is not within the {extend_num_tokens} new ones"
        )
        first, stop = self.pages_for(prefixes[0]), self.pages_for(lengths[0])
        tail_start = (lengths[0] - swa_tail_len) // self.page_size
        return stop - max(first, tail_start) if swa_tail_len else 0

    def _take_pages(self, pages: int, bound: int | None = None) -> torch.Tensor | None:
        """Ids of ``pages`` new pages, the last ``bound`` (None: all) with peers; None when they do not fit."""
        bound = pages if bound is None else bound
        if not self.ensure_capacity(pages * self.page_size, bound * self.page_size):
            return None
        ids = take_ids(self.full, pages)
        assert ids is not None, f"FULL is short of {pages} pages after the gate"
        if bound:
            self.swa.alloc_with_virtual(ids[pages - bound :])
        return ids

    def alloc_physical(self, need: int) -> torch.Tensor | None:
        """Physical SWA slots int64 for a load, or None. Raises AssertionError when they are no whole pages (§5)."""
        swa = self.swa
        if need <= 0:
            return swa.no_pages()
        assert need % self.page_size == 0, f"{need} slots are no whole pages"
        if not relieve(swa, need):
            return None
        physical = swa.take(need // self.page_size)
        if physical is None:
            return None
        swa.pending_load += physical.numel()
        return swa.slots_of(physical)

    def cancel_physical_reservation(self, slots: torch.Tensor) -> None:
        """Give back physical SWA slots of a reservation, whole pages in the order given (§5)."""
        if slots.numel() == 0:
            return
        pages = self.swa.representative_pages(slots[:: self.page_size])
        self.swa.pending_load -= pages.numel()
        self.swa.release_physical(pages)

    def set_full_to_swa_mapping(self, slots: torch.Tensor, peers: torch.Tensor) -> None:
        """Bind the pages of FULL ``slots`` to reserved physical SWA pages, both whole pages in order (§5)."""
        pages = self.full.representative_pages(slots[:: self.page_size])
        self.swa.table.bind(pages, self.swa.representative_pages(peers[:: self.page_size]))

    def finish_load(self) -> None:
        """The copies from the host are complete (§5)."""
        self.full.pending_load = self.swa.pending_load = 0

    def members_blocked(self) -> bool:
        """Whether any band may not move its pages."""
        return any(band.moves_blocked for band in self.bands.values())

    def end_bands(self) -> list[EndBand]:
        """The bands at the ends of the buffer."""
        return [band for band in self.bands.values() if isinstance(band, EndBand)]
