"""What all unified allocators have in common: the chain of bands, rows of tokens, and relief by flushing
(contract_unified §1, §5, §7).

Guarantees that a failed allocation takes no id. Frees and capacity are the subclasses'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from oracle.geometry import BANDS
from targets.eager.unified.chain import make_bands
from targets.eager.unified.relief import relieve
from targets.eager.unified.stream import Event, InFlight

if TYPE_CHECKING:
    from oracle.byte_buffer import BandName
    from oracle.geometry import Geometry
    from oracle.unified_observation import PageCopy
    from targets.eager.unified.band import Band
    from targets.eager.unified.end_band import EndBand


class TokenPool:
    """The FULL band of ``geometry`` with whatever shares its buffer; ``full`` owns the ids of tokens."""

    def __init__(self, geometry: Geometry, device: str) -> None:
        self.geometry = geometry
        self.device = device
        self.page_size = geometry.page_size
        self.copies: list[PageCopy] = []
        self.events: dict[int, Event] = {}
        self.bands: dict[BandName, Band] = make_bands(geometry, device, self.copies)
        self.full: EndBand = self.bands["full"]  # type: ignore[assignment]
        self.band_names = BANDS[geometry.family]

    def clear(self) -> None:
        """Return to the state after construction; what a floating band remembers of its ends stays (§3)."""
        for band in self.bands.values():
            band.clear()

    def available_size(self) -> int:
        """Slots that ``alloc`` can give at once (§8, §10)."""
        raise NotImplementedError

    def begin_forward(self, event: int, slots: torch.Tensor) -> None:
        """A forward pass that ends with ``event`` is in flight and writes the FULL ``slots`` int64 ``[n]`` (§3)."""
        flight = InFlight(self.events.setdefault(event, Event()), slots)
        for band in self.bands.values():
            if band.name != "state":
                band.forward_done, band.in_flight = flight.event, flight

    def fire_event(self, event: int) -> None:
        """The forward pass that ends with ``event`` is over."""
        self.events.setdefault(event, Event()).fired = True

    def pages_for(self, slots: int) -> int:
        """How many pages ``slots`` touch."""
        return -(-slots // self.page_size)

    def _new_pages(self, prefix_lens: list[int], seq_lens: list[int]) -> int:
        return sum(
            self.pages_for(seq) - self.pages_for(prefix)
            for prefix, seq in zip(prefix_lens, seq_lens, strict=True)
        )

    def _take_ids(self, count: int) -> torch.Tensor | None:
        """``count`` ids from the head, bound on FULL and dropped from the free ones; None and nothing taken when short."""
        full = self.full
        assert full.free_ids is not None
        if count > full.free_ids.numel() or not relieve(full, count * self.page_size):
            return None
        ids = full.free_ids[:count]
        physical = full.take(count)
        if physical is None:
            return None
        full.table.bind(ids, physical)
        full.free_ids = full.free_ids[count:]
        return ids

    def _row_slots(
        self,
        prefix_lens: list[int],
        seq_lens: list[int],
        last_loc: torch.Tensor,
        ids: torch.Tensor,
    ) -> torch.Tensor:
        """The slots of rows that grow into the pages ``ids``, request by request (§5)."""
        fresh = self.full.slots_of(ids)
        pieces = [fresh[:0]]
        begin = 0
        for request, (prefix, seq) in enumerate(zip(prefix_lens, seq_lens, strict=True)):
            page_end = self.pages_for(prefix) * self.page_size
            open_slots = min(seq, page_end) - prefix
            if open_slots > 0:
                steps = torch.arange(1, open_slots + 1, dtype=torch.int64, device=self.device)
                pieces.append(last_loc[request] + steps)
            if seq > page_end:
                pieces.append(fresh[begin : begin + seq - page_end])
                begin += self.pages_for(seq - page_end) * self.page_size
        return torch.cat(pieces)
