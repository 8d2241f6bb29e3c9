"""Scratch memory that our kernels share: what they report, the pages they marked, who of them has arrived.

Guarantees that the report is read only where it is asked for: reading waits for the device.
"""

from __future__ import annotations

import torch

REPORT_LENGTH = 8


class Workspace:
    """The scratch memory of one allocator on ``device``.

    ``report``: int64 ``[8]``, by the positions that the kernels name. ``marks``: int8 ``[domain]``, a byte for each page from -1 on,
    all zero between launches. ``tickets``: int32 ``[1]``, how many programs have ever
    arrived, which the host knows as ``tickets_given``.
    """

    def __init__(self, pages: int, device: torch.device) -> None:
        self.device = device
        self.on_gpu = device.type != "cpu"
        self.report = torch.zeros(REPORT_LENGTH, dtype=torch.int64, device=device)
        self.tickets = torch.zeros(1, dtype=torch.int32, device=device)
        self.tickets_given = 0
        self._scratch = torch.empty(64, dtype=torch.int64, device=device)
        self.domain = 0
        self.reach(pages)

    def reach(self, pages: int) -> None:
        """Have marks for the pages -1 to ``pages`` at least."""
        if pages + 2 > self.domain:
            self.domain = pages + 2
            self.marks = torch.zeros(self.domain, dtype=torch.int8, device=self.device)

    def ticket_target(self, programs: int) -> int:
        """How many programs will have arrived after a launch of ``programs``; say ``launched`` when it is made."""
        if self.tickets_given + programs >= 1 << 31:
            self.tickets.zero_()
            self.tickets_given = 0
        return self.tickets_given + programs

    def launched(self, programs: int) -> None:
        """``programs`` that arrive were launched."""
        self.tickets_given += programs

    def scratch_for(self, count: int) -> torch.Tensor:
        """Scratch for ``count`` elements of one launch: the last peers of a batch, the pages of a set."""
        if count > self._scratch.numel():
            self._scratch = torch.empty(2 * count, dtype=torch.int64, device=self.device)
        return self._scratch

    def read(self) -> list[int]:
        """The report; waits for the device."""
        values: list[int] = self.report.tolist()
        return values
