"""The tables of one band and the primitives that change them (contract_unified §1, §16).

Guarantees one gather or scatter for each table, no data-dependent shape and no wait for the device: ``fused`` may replace each
primitive by a kernel. Checks nothing: unique virtual pages are the caller's promise.
"""

from __future__ import annotations

import torch

UNBOUND = -1


class PageTable:
    """``v2p`` int64 ``[ids + 1]`` and ``p2v`` int64 ``[pages + 1]``: entry 0 is padding, the last one a sentinel of -1.

    ``content`` int64 ``[(pages + 1) * page_size]`` is the KV that page moves carry along; it outlives ``reset``.
    """

    def __init__(self, ids: int, pages: int, page_size: int, device: str) -> None:
        self.page_size = page_size
        self.device = device
        self.v2p = torch.empty(ids + 1, dtype=torch.int64, device=device)
        self.p2v = torch.empty(pages + 1, dtype=torch.int64, device=device)
        self.content = torch.zeros((pages + 1) * page_size, dtype=torch.int64, device=device)
        self.reset()

    def reset(self) -> None:
        """Nothing is bound but padding."""
        for table in (self.v2p, self.p2v):
            table.fill_(UNBOUND)
            table[:1].zero_()

    def unbind(self, virtual: torch.Tensor) -> torch.Tensor:
        """Forget the pages ``virtual`` int64 ``[n]`` and return the physical pages that they had, -1 where there was none."""
        physical = self.v2p[virtual]
        self.v2p.index_fill_(0, self._within(virtual, self.v2p), UNBOUND)
        self.p2v.index_fill_(0, self._within(physical, self.p2v), UNBOUND)
        return physical

    def bind(self, virtual: torch.Tensor, physical: torch.Tensor) -> None:
        """Bind ``virtual`` to ``physical``, both int64 ``[n]``, pair by pair."""
        self.v2p[virtual] = physical
        self.p2v[physical] = virtual

    def bind_range(self, virtual: torch.Tensor, start: int) -> None:
        """Bind ``virtual`` int64 ``[n]`` to the physical pages from ``start`` on."""
        self.v2p[virtual] = torch.arange(
            start, start + virtual.numel(), dtype=torch.int64, device=self.device
        )
        self.p2v[start : start + virtual.numel()] = virtual

    def forget_physical(self, physical: torch.Tensor) -> None:
        """Unbind ``physical`` int64 ``[n]``, and whatever virtual pages have them."""
        self.v2p.index_fill_(0, self._within(self.p2v[physical], self.v2p), UNBOUND)
        self.p2v.index_fill_(0, self._within(physical, self.p2v), UNBOUND)

    def translate(self, slots: torch.Tensor) -> torch.Tensor:
        """Physical slots int64 of virtual ``slots``; the padding slot 0 where there is none, or no such slot (§5)."""
        slots = slots.to(torch.int64)
        pages = slots.div(self.page_size, rounding_mode="floor")
        strange = (pages < 0) | (pages >= self.v2p.numel())
        physical = self.v2p[pages.masked_fill(strange, 0)]
        places = physical * self.page_size + slots % self.page_size
        return places.clamp_min(0).masked_fill(strange, 0)

    def copy_pages(self, sources: torch.Tensor, destinations: torch.Tensor) -> None:
        """Copy content page by page, all at once: a page may be source and destination."""
        rows = self.content.view(-1, self.page_size)
        rows[destinations] = rows[sources]

    def move(self, sources: torch.Tensor, destinations: torch.Tensor) -> None:
        """Copy bound pages ``sources`` to ``destinations``, int64 ``[n]``, and bind their virtual pages there."""
        virtual = self.p2v[sources]
        self.copy_pages(sources, destinations)
        self.p2v.index_fill_(0, sources, UNBOUND)
        self.bind(virtual, destinations)

    def _within(self, indices: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        # A negative index means the sentinel; a kernel would store in front of the table instead.
        return torch.where(indices < 0, table.numel() - 1, indices)
