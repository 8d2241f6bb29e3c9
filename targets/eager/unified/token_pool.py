"""What all unified allocators have in common: the chain of bands, rows of tokens, and relief by flushing
(contract_unified §1, §5, §7).

Guarantees that a failed allocation takes no id. Frees and capacity are the subclasses'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from oracle.geometry import BANDS
from targets.eager.unified.chain import BandClasses, make_bands
from targets.eager.unified.stream import Event, InFlight

if TYPE_CHECKING:
    from oracle.byte_buffer import BandName
    from oracle.geometry import Geometry
    from oracle.unified_observation import PageCopy
    from targets.eager.unified.band import Band
    from targets.eager.unified.end_band import EndBand


class TokenPool:
    """The FULL band of ``geometry`` with whatever shares its buffer; ``full`` owns the ids of tokens."""

    band_classes = BandClasses()

    def __init__(self, geometry: Geometry, device: str) -> None:
        self.geometry = geometry
        self.device = device
        self.page_size = geometry.page_size
        self.copies: list[PageCopy] = []
        self.events: dict[int, Event] = {}
        self.bands: dict[BandName, Band] = make_bands(
            geometry, device, self.copies, self.band_classes
        )
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

    def alloc_extend(
        self,
        prefix_lens: torch.Tensor,  # noqa: ARG002 (the arguments that callers know)
        prefix_lens_cpu: torch.Tensor,
        seq_lens: torch.Tensor,  # noqa: ARG002 (the arguments that callers know)
        seq_lens_cpu: torch.Tensor,
        last_loc: torch.Tensor,
        extend_num_tokens: int,  # noqa: ARG002 (the arguments that callers know)
    ) -> torch.Tensor | None:
        """Slots int64 ``[extend_num_tokens]`` for rows growing from prefix to seq lengths ``[bs]``, or None (§5, §8)."""
        return self._grow(prefix_lens_cpu.tolist(), seq_lens_cpu.tolist(), last_loc)

    def alloc_decode(
        self,
        seq_lens: torch.Tensor,  # noqa: ARG002 (the arguments that callers know)
        seq_lens_cpu: torch.Tensor,
        last_loc: torch.Tensor,
    ) -> torch.Tensor | None:
        """One slot for each row, int64 ``[bs]``, or None; ``seq_lens`` count the new token (§5)."""
        lengths = seq_lens_cpu.tolist()
        return self._grow([length - 1 for length in lengths], lengths, last_loc)

    def _grow(
        self,
        prefix_lens: list[int],
        seq_lens: list[int],
        last_loc: torch.Tensor,
        *,
        bound: int | None = None,
    ) -> torch.Tensor | None:
        ids = self._take_pages(self._new_pages(prefix_lens, seq_lens), bound)
        return None if ids is None else self._row_slots(prefix_lens, seq_lens, last_loc, ids)

    def _take_pages(self, pages: int, bound: int | None = None) -> torch.Tensor | None:
        """Ids of ``pages`` new pages, bound; the last ``bound`` of them (None: all) also on the other sides."""
        raise NotImplementedError

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
