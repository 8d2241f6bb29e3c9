"""The launches that free and hand out pages, on one band or on FULL and its peers (contract_unified §5, §9).

Guarantees one launch each and no wait for the device. Whether there is room, and whether a page may be freed, was asked before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from targets.fused.launcher import tiles
from targets.fused.unified.kernels_allocation import hand_out
from targets.fused.unified.kernels_frees import give_back as give_back_kernel
from targets.fused.unified.kernels_tables import BIND_TILE, TILE

if TYPE_CHECKING:
    from targets.eager.unified.band import Reserved
    from targets.fused.unified.bands import FusedBand


class Opening(NamedTuple):
    """``pages`` new pages of ``band`` on the places ``reserved``; those from ``first_peer`` on also on ``peers``.

    ``peer_reserved`` is None where no page gets a peer.
    """

    pages: int
    band: FusedBand
    reserved: Reserved
    peers: FusedBand | None = None
    peer_reserved: Reserved | None = None
    first_peer: int = 0


def open_pages(opening: Opening, out: torch.Tensor | None, page_size: int) -> None:
    """Bind the pages and take their ids; ``out`` int64 ``[pages * page_size]`` gets their slots."""
    pages, band, reserved, peers, peer_reserved, first_peer = opening
    if not pages:
        return
    ring = band.ring
    assert ring is not None, f"{band.name} has no ids of its own"
    other, places = (peers, peer_reserved) if peers and peer_reserved else (band, reserved)
    hand_out.launch_mixed(
        tiles(pages, BIND_TILE),
        (
            *(ring.buffer, ring.head, ring.capacity, pages, page_size),
            ring.buffer if out is None else out,
            *(*band.table.tables, *_listed(reserved)),
            *(*other.table.tables, *_listed(places), first_peer),
        ),
        (int(peer_reserved is not None), int(out is not None), BIND_TILE),
        band.table.on,
    )
    ring.took(pages)


def _listed(reserved: Reserved) -> tuple[torch.Tensor, int, int, int]:
    return reserved.drawn, reserved.drawn.numel(), reserved.fresh, reserved.step


def give_back(
    slots: torch.Tensor,
    page_size: int,
    *,
    peers: FusedBand | None = None,
    owner: FusedBand | None = None,
    more: torch.Tensor | None = None,
) -> None:
    """Free the pages of ``slots``, one slot for each (1-D, int32 or int64, any stride), on ``peers`` and on ``owner``.

    ``more`` are slots of pages that are freed on ``owner`` alone, behind the others. With ``page_size`` 1 they are pages.
    """
    band = owner or peers
    assert band is not None, "pages are freed on a band"
    own = slots.numel()
    more = slots[:0] if more is None else more
    count = own + more.numel()
    if not count:
        return
    ring = owner.ring if owner is not None else None
    peer_band = peers or band
    nowhere = band.table.v2p
    give_back_kernel.launch_mixed(
        tiles(count, TILE),
        (
            *(slots, slots.stride(0), own, more, more.stride(0), count, page_size),
            *(*peer_band.table.tables, *_end(peers, own, nowhere)),
            *(*band.table.tables, *_end(owner, count, nowhere)),
            *(ring.write(count) if ring is not None else (nowhere, 0, 1)),
        ),
        (int(peers is not None), int(owner is not None), int(ring is not None), TILE),
        band.table.on,
        slots.dtype,
        more.dtype,
    )
    if peers is not None:
        peers.released(own)
    if owner is not None:
        owner.released(count)
    if ring is not None:
        ring.wrote(count)


def _end(
    band: FusedBand | None, count: int, nowhere: torch.Tensor
) -> tuple[torch.Tensor | int, int]:
    """Where the holes of a band end."""
    if band is None:
        return nowhere, 0
    buffer, start, _ = band.hole_list.write(count)
    return buffer, start
