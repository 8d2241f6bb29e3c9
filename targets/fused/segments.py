"""One launch for any segment form (contract_paged_swa §5.5, §6.3).

Guarantees that nothing is waited for. The lists were given room before, and are told afterwards, by the caller.
"""

from __future__ import annotations

import torch

from targets.fused.buffers import Place
from targets.fused.kernels_lists import TILE
from targets.fused.kernels_segments import free_segment
from targets.fused.workspace import Workspace

MOST_PROGRAMS = 32
"""Programs of one launch that wait for each other: few enough to run at once on any GPU."""


def launch_segment(
    work: Workspace,
    segment: torch.Tensor,
    pages: int,
    page_size: int,
    mapping: torch.Tensor | None,
    swa: Place | None,
    full: Place | None,
    *,
    watched: bool = False,
    released: bool = False,
    stop: bool = False,
    commit: bool = True,
) -> None:
    """Free the ``pages`` pages of ``segment`` (1-D slots of a row, any stride) to where ``swa`` and ``full`` say.

    ``mapping`` names the peers. ``watched``: the report counts representatives without a peer, or slots with one if
    ``released``; with ``stop`` nothing is changed if there are any. Nor is it without ``commit``.
    """
    nothing = work.report
    programs = 1
    if work.on_gpu and not watched:
        touched = pages * page_size if swa is not None else pages
        programs = min(MOST_PROGRAMS, -(-touched // TILE))
    many = programs > 1 and swa is not None
    if mapping is None:
        mapping = nothing
    free_segment.launch(
        programs,
        (
            *(segment, segment.stride(0), segment.numel(), pages, page_size),
            *(mapping, mapping.numel()),
            *(swa if swa is not None else (nothing, 0, 1)),
            *(full if full is not None else (nothing, 0, 1)),
            *(nothing, int(commit), int(stop)),
            *(work.tickets, work.ticket_target(programs) if many else 0),
        ),
        (swa is not None, full is not None, released, watched, many, TILE),
        work.device,
        segment.dtype,
    )
    if many:
        work.launched(programs)
