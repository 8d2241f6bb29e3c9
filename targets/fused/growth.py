"""The launches that make rows longer, of one pool or of both sides of a hybrid (contract_paged_swa §5.3, §5.4, §6.2).

Guarantees one launch. Room was checked before; the lists are told afterwards, by the caller.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from targets.fused.buffers import FreeList
from targets.fused.kernels_lists import TILE
from targets.fused.kernels_rows import ROWS, decode, extend
from targets.fused.launcher import tiles
from targets.fused.workspace import Workspace


class Peers(NamedTuple):
    """What gives new slots their peers: the mapping and the SWA free list.

    ``stop``: a row whose last peer is gone stops the launch. ``tail_start``: only output from this index on gets peers, on
    fresh pages, for a batch of one; -1 is no tail.
    """

    mapping: torch.Tensor
    swa: FreeList
    stop: bool
    tail_start: int = -1


def growth_of(prefix_lens: list[int], seq_lens: list[int], page_size: int) -> tuple[int, int]:
    """How many new pages rows need to grow from prefix to seq lengths, and the slots that the longest one grows by."""
    new_pages = longest = 0
    for prefix, seq in zip(prefix_lens, seq_lens, strict=True):
        new_pages += -(-seq // page_size) + -prefix // page_size
        longest = max(longest, seq - prefix)
    return new_pages, longest


def launch_extend(
    full: FreeList,
    workspace: Workspace,
    prefix_lens: torch.Tensor,
    seq_lens: torch.Tensor,
    last_loc: torch.Tensor,
    longest: int,
    page_size: int,
    out: torch.Tensor,
    peers: Peers | None = None,
) -> None:
    """Write the slots of rows that grow by ``longest`` or less to ``out``; lengths are on the device."""
    if not (prefix_lens.is_contiguous() and seq_lens.is_contiguous()):
        prefix_lens, seq_lens = prefix_lens.contiguous(), seq_lens.contiguous()
    rows = prefix_lens.numel()
    row_tiles = tiles(longest, TILE)
    tail = peers is not None and peers.tail_start >= 0
    stop = peers is not None and peers.stop and not tail
    one_program = (peers is not None and peers.stop) or workspace.device.type == "cpu"
    mapping, swa = (peers.mapping, peers.swa) if peers is not None else (full.buffer, full)
    extend.launch(
        1 if one_program else rows * row_tiles,
        (
            *(prefix_lens, seq_lens, last_loc, last_loc.stride(0), rows, row_tiles, page_size),
            *(full.buffer, full.head, full.capacity),
            *(mapping, mapping.numel(), swa.buffer, swa.head, swa.capacity),
            peers.tail_start if peers is not None else 0,
            *(workspace.scratch_for(rows), out, workspace.report),
        ),
        (int(peers is not None), int(tail), int(stop), ROWS, TILE),
        workspace.device,
        prefix_lens.dtype,
        seq_lens.dtype,
        last_loc.dtype,
    )


def launch_decode(
    full: FreeList,
    workspace: Workspace,
    seq_lens: torch.Tensor,
    last_loc: torch.Tensor,
    page_size: int,
    out: torch.Tensor,
    peers: Peers | None = None,
) -> None:
    """Write the new slot of each row to ``out``; lengths are on the device and count it."""
    seq_lens = seq_lens.contiguous()
    rows = seq_lens.numel()
    mapping, swa = (peers.mapping, peers.swa) if peers is not None else (full.buffer, full)
    decode.launch(
        tiles(rows, ROWS),
        (
            *(seq_lens, last_loc, last_loc.stride(0), rows, page_size),
            *(full.buffer, full.head, full.capacity),
            *(mapping, mapping.numel(), swa.buffer, swa.head, swa.capacity),
            *(out, workspace.report),
        ),
        (int(peers is not None), int(peers is not None and peers.stop), ROWS),
        workspace.device,
        seq_lens.dtype,
        last_loc.dtype,
    )
