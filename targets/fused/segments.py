"""One launch for any segment form (contract_paged_swa §5.5, §6.3).

Guarantees that the lists have room before the launch, and that they are told of it only when it committed. Waits for the device only if
the report is read.
"""

from __future__ import annotations

import torch

from targets.fused.buffers import Place
from targets.fused.kernels_lists import TILE
from targets.fused.kernels_segments import free_segment
from targets.fused.launcher import tiles
from targets.fused.listed_pool import ListedPool
from targets.fused.workspace import Workspace

MOST_PROGRAMS = 32
"""Programs of one launch that wait for each other: few enough to run at once on any GPU."""


class SegmentFree:
    """The launch that frees ``segment`` (1-D slots of a row, any stride) on one side or both.

    ``swa`` says where SWA page ids go and ``mapping`` is what names them; ``full`` is the pool that takes the pages themselves.
    """

    def __init__(
        self,
        workspace: Workspace,
        page_size: int,
        segment: torch.Tensor,
        *,
        mapping: torch.Tensor | None = None,
        swa: Place | None = None,
        full: ListedPool | None = None,
    ) -> None:
        self.workspace = workspace
        self.page_size = page_size
        self.segment = segment
        self.mapping = mapping if mapping is not None else workspace.report
        self.swa = swa
        self.full = full
        self.slots = segment.numel()
        self.pages = -(-self.slots // page_size)

    def run(
        self,
        *,
        watched: bool = False,
        stop: bool = False,
        commit: bool = True,
        released: bool = False,
    ) -> None:
        """Launch. ``watched``: the report counts representatives without a peer, or slots with one if ``released``.

        ``stop``: nothing is changed if there are any. Nor is it without ``commit``. The FULL pool is told at once; with ``stop`` or without
        ``commit`` the caller has to do it (``committed``).
        """
        self._launch(watched=watched, stop=stop, commit=commit, released=released)
        if commit and not stop:
            self.committed()

    def committed(self) -> None:
        """Tell the FULL pool that its pages were written."""
        if self.full is not None:
            self.full.segment_placed(self.pages)

    def _launch(self, *, watched: bool, stop: bool, commit: bool, released: bool) -> None:
        work = self.workspace
        nowhere = (work.report, 0, 1)
        swa = self.swa if self.swa is not None else nowhere
        full = self.full.segment_place(self.pages) if self.full is not None else nowhere
        cleared = self.pages * self.page_size if self.swa is not None else 0
        programs = 1
        if work.device.type != "cpu" and not watched:
            programs = min(MOST_PROGRAMS, tiles(max(self.pages, cleared), TILE))
        many = programs > 1 and self.swa is not None
        target = work.ticket_target(programs) if many else 0
        free_segment.launch(
            (programs, 1),
            (
                *(self.segment, self.segment.stride(0), self.slots, self.pages, self.page_size),
                *(self.mapping, self.mapping.numel(), *swa, *full),
                *(work.report, int(commit), int(stop), work.tickets, target),
            ),
            (
                int(self.swa is not None),
                int(self.full is not None),
                int(released),
                int(watched),
                int(many),
                TILE,
            ),
            work.device,
            self.segment.dtype,
        )
        if many:
            work.launched(programs)
