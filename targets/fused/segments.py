"""One launch for any segment form (contract_paged_swa §5.5, §6.3).

Guarantees that nothing is waited for. The lists were given room before, and are told afterwards, by the caller.
"""

from __future__ import annotations

import torch

from targets.fused.buffers import Place
from targets.fused.kernels_lists import TILE
from targets.fused.kernels_segments import free_segment
from targets.fused.memory import Address
from targets.fused.workspace import Workspace

MOST_PROGRAMS = 32
"""Programs of one launch that wait for each other: few enough to run at once on any GPU."""

Table = tuple[Address, int]
"""A mapping as kernels take it: its address and how many entries it has."""


def launch_segment(
    work: Workspace,
    segment: torch.Tensor,
    slots: int,
    page_size: int,
    table: Table | None,
    swa: Place | None,
    full: Place | None,
    *,
    watched: bool = False,
    released: bool = False,
    stop: bool = False,
    commit: bool = True,
) -> None:
    """Free the pages of ``segment`` (1-D, ``slots`` slots of a row, any stride) to where ``swa`` and ``full`` say.

    ``table`` names the peers. ``watched``: the report counts representatives without a peer, or slots with one if
    ``released``; with ``stop`` nothing is changed if there are any. Nor is it without ``commit``.
    """
    nothing = work.nothing
    pages = -(-slots // page_size)
    programs = 1
    if work.on_gpu and not watched:
        touched = pages * page_size if swa is not None else pages
        if touched > TILE:
            programs = min(MOST_PROGRAMS, -(-touched // TILE))
    many = programs > 1 and swa is not None
    mapping, entries = table or nothing[:2]
    swa_ring, swa_start, swa_capacity = swa or nothing
    full_ring, full_start, full_capacity = full or nothing
    # One tuple of names is made faster than one of tuples.
    arguments = (
        segment.stride(0), slots, pages, page_size, mapping, entries,
        swa_ring, swa_start, swa_capacity, full_ring, full_start, full_capacity,
        nothing[0], int(commit), int(stop),
        work.tickets.address, work.ticket_target(programs) if many else 0,
    )  # fmt: skip
    free_segment.launch(
        programs,
        (segment,),
        arguments,
        (swa is not None, full is not None, released, watched, many, TILE),
        work.device,
        segment.dtype,
    )
    if many:
        work.launched(programs)
