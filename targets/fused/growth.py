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
from targets.fused.segments import Table
from targets.fused.workspace import Workspace


class Peers(NamedTuple):
    """What gives new slots their peers: the mapping and the SWA free list."""

    table: Table
    swa: FreeList


def growth_of(prefix_lens: list[int], seq_lens: list[int], page_size: int) -> tuple[int, int]:
    """How many new pages rows need to grow from prefix to seq lengths, and the slots that the longest one grows by."""
    new_pages = longest = 0
    for prefix, seq in zip(prefix_lens, seq_lens, strict=True):
        new_pages += -(-seq // page_size) + -prefix // page_size
        if seq - prefix > longest:
            longest = seq - prefix
    return new_pages, longest


def launch_extend(
    full: FreeList,
    workspace: Workspace,
    prefix_lens: torch.Tensor,
    seq_lens: torch.Tensor,
    last_loc: torch.Tensor,
    rows: int,
    longest: int,
    page_size: int,
    out: torch.Tensor,
    peers: Peers | None = None,
    *,
    stops: bool = False,
    tail_start: int = -1,
) -> None:
    """Write the slots of ``rows`` rows that grow by ``longest`` or less to ``out``; lengths are on the device.

    ``stops``: a row whose last peer is gone stops the launch. ``tail_start``: only output from this index on gets peers, on
    fresh pages, for a batch of one; -1 is no tail.
    """
    if not (prefix_lens.is_contiguous() and seq_lens.is_contiguous()):
        prefix_lens, seq_lens = prefix_lens.contiguous(), seq_lens.contiguous()
    row_tiles = 1 if longest <= TILE else tiles(longest, TILE)
    if peers is None:
        ((mapping, entries), swa), hybrid = _without_peers(full), 0
    else:
        ((mapping, entries), swa), hybrid = peers, 1
    tail = tail_start >= 0
    report = workspace.nothing[0]
    # Only a launch that may stop keeps the last peers in between.
    last_peers = workspace.scratch_for(rows) if stops else report
    # One tuple of names is made faster than one of tuples.
    arguments = (
        last_loc.stride(0), rows, row_tiles, page_size,
        full.address, full.head, full.capacity,
        mapping, entries, swa.address, swa.head, swa.capacity,
        tail_start, last_peers, report,
    )  # fmt: skip
    extend.launch(
        1 if stops or not workspace.on_gpu else rows * row_tiles,
        (prefix_lens, seq_lens, last_loc, out),
        arguments,
        (hybrid, int(tail), int(stops and not tail), ROWS, TILE),
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
    rows: int,
    page_size: int,
    out: torch.Tensor,
    peers: Peers | None = None,
    *,
    stops: bool = False,
) -> None:
    """Write the new slot of each of ``rows`` rows to ``out``; lengths are on the device and count it. ``stops`` as above."""
    if not seq_lens.is_contiguous():
        seq_lens = seq_lens.contiguous()
    if peers is None:
        ((mapping, entries), swa), hybrid = _without_peers(full), 0
    else:
        ((mapping, entries), swa), hybrid = peers, 1
    arguments = (
        last_loc.stride(0), rows, page_size,
        full.address, full.head, full.capacity,
        mapping, entries, swa.address, swa.head, swa.capacity, workspace.nothing[0],
    )  # fmt: skip
    decode.launch(
        1 if rows <= ROWS else tiles(rows, ROWS),
        (seq_lens, last_loc, out),
        arguments,
        (hybrid, int(stops), ROWS),
        workspace.device,
        seq_lens.dtype,
        last_loc.dtype,
    )


def _without_peers(full: FreeList) -> Peers:
    """Places that a launch for one pool gets and does not look at."""
    return Peers((full.address, full.capacity), full)
