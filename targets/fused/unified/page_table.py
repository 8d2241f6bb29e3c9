"""The tables of one band, changed by kernels (contract_unified §1, §16).

Guarantees what the torch primitives guarantee, in one launch each, two for a move of pages that are both source and destination.
"""

from __future__ import annotations

import torch

from targets.eager.unified.page_table import PageTable
from targets.fused.launcher import tiles
from targets.fused.unified.kernels_moves import move
from targets.fused.unified.kernels_tables import (
    BIND_TILE,
    TILE,
    bind,
    forget_physical,
    translate,
    unbind,
)

Tables = tuple[torch.Tensor, int, torch.Tensor, int]


class FusedPageTable(PageTable):
    """``v2p``, ``p2v`` and ``content`` as in the base form."""

    def __init__(self, ids: int, pages: int, page_size: int, device: str) -> None:
        super().__init__(ids, pages, page_size, device)
        self.on = self.v2p.device
        self.tables: Tables = (self.v2p, self.v2p.numel(), self.p2v, self.p2v.numel())
        """Both tables with their lengths, as kernels take them."""

    def unbind(self, virtual: torch.Tensor) -> torch.Tensor:
        """Forget the pages ``virtual`` int64 ``[n]`` and return the physical pages that they had, -1 where there was none."""
        count = virtual.numel()
        out = self.v2p.new_empty(count)
        if count:
            arguments = (virtual, virtual.stride(0), count, *self.tables, out)
            unbind.launch_mixed(tiles(count, TILE), arguments, (TILE,), self.on)
        return out

    def bind(self, virtual: torch.Tensor, physical: torch.Tensor) -> None:
        """Bind ``virtual`` to ``physical``, both int64 ``[n]``, pair by pair. Raises IndexError when there are not as many of both."""
        _assert_pairs(virtual, physical)
        count = virtual.numel()
        if count:
            bind.launch_mixed(
                tiles(count, BIND_TILE),
                (virtual, virtual.stride(0), physical, physical.stride(0), count, *self.tables),
                (BIND_TILE,),
                self.on,
            )

    def forget_physical(self, physical: torch.Tensor) -> None:
        """Unbind ``physical`` int64 ``[n]``, and whatever virtual pages have them."""
        count = physical.numel()
        if count:
            arguments = (physical, physical.stride(0), count, *self.tables)
            forget_physical.launch_mixed(tiles(count, TILE), arguments, (TILE,), self.on)

    def translate(self, slots: torch.Tensor) -> torch.Tensor:
        """Physical slots int64 of virtual ``slots`` (int32 or int64, any strides); 0 where there is none, or no such slot (§5)."""
        if slots.dim() > 2:
            return self.translate(slots.reshape(-1)).view(slots.shape)
        out = self.v2p.new_empty(slots.shape)
        count = slots.numel()
        if count:
            rows = slots if slots.dim() == 2 else slots.reshape(1, -1)
            translate.launch_mixed(
                tiles(count, TILE),
                (
                    *(rows, rows.stride(0), rows.stride(1), rows.shape[1], count),
                    *(self.page_size, self.v2p, self.v2p.numel(), out),
                ),
                (TILE,),
                self.on,
                slots.dtype,
            )
        return out

    def move(
        self,
        sources: torch.Tensor,
        destinations: torch.Tensor,
        *,
        apart: bool = False,
        in_order: bool = False,
    ) -> None:
        """Copy bound pages ``sources`` to ``destinations``, int64 ``[n]``, and bind their virtual pages there.

        ``apart``: no page is both, so that one launch is enough. ``in_order``: tables that are damaged name a page twice, and
        the last pair is the one that stays, so that each is laid down by itself. Raises IndexError, and moves nothing, when there
        are not as many of both.
        """
        _assert_pairs(sources, destinations)
        count, size = sources.numel(), self.page_size
        held = (self.v2p, self.content)
        if apart and not in_order:
            self._move(sources, destinations, held, lift=1, lay=1)
            return
        held = (self.v2p.new_empty(count), self.content.new_empty(count * size))
        self._move(sources, destinations, held, lift=1, lay=0)
        step = 1 if in_order else count
        for begin in range(0, count, step):
            part = (held[0][begin:], held[1][begin * size :])
            self._move(sources[:step], destinations[begin:], part, lift=0, lay=1)

    def _move(
        self,
        sources: torch.Tensor,
        destinations: torch.Tensor,
        held: tuple[torch.Tensor, torch.Tensor],
        *,
        lift: int,
        lay: int,
    ) -> None:
        count = sources.numel()
        move.launch_mixed(
            tiles(count * self.page_size, TILE),
            (
                *(sources, destinations, count, self.page_size, *self.tables),
                *(self.content, *held),
            ),
            (lift, lay, TILE),
            self.on,
        )


def _assert_pairs(first: torch.Tensor, second: torch.Tensor) -> None:
    # A kernel would read beyond the shorter list.
    if first.numel() != second.numel():
        raise IndexError(f"{first.numel()} pages cannot be paired with {second.numel()}")
