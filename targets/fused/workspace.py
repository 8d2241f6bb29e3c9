"""Scratch memory that our kernels share: what they report, the pages they marked, who of them has arrived.

Guarantees that the report is read only where it is asked for: reading waits for the device.
"""

from __future__ import annotations

import torch

from targets.fused.memory import Address, DeviceBuffer

REPORT_LENGTH = 8


class Workspace:
    """The scratch memory of one allocator on ``device``.

    ``report``: int64 ``[8]``, by the positions that the kernels name. ``marks``: int8 ``[domain]``, a byte for each page from -1 on,
    all zero between launches. ``tickets``: int32 ``[1]``, how many programs have ever
    arrived, which the host knows as ``tickets_given``. ``nothing`` is the place for a launch that writes nowhere.
    """

    def __init__(self, pages: int, device: torch.device) -> None:
        self.device = device
        self.on_gpu = device.type != "cpu"
        self.report = DeviceBuffer(REPORT_LENGTH, torch.int64, device, zero=True)
        self.tickets = DeviceBuffer(1, torch.int32, device, zero=True)
        self.tickets_given = 0
        self.nothing = (self.report.address, 0, 1)
        self.scratch = DeviceBuffer(64, torch.int64, device)
        self.domain = 0
        self.reach(pages)

    def reach(self, pages: int) -> None:
        """Have marks for the pages -1 to ``pages`` at least."""
        if pages + 2 > self.domain:
            self.domain = pages + 2
            self.marks = DeviceBuffer(self.domain, torch.int8, self.device, zero=True)

    def ticket_target(self, programs: int) -> int:
        """How many programs will have arrived after a launch of ``programs``; say ``launched`` when it is made."""
        if self.tickets_given + programs >= 1 << 31:
            self.tickets.tensor.zero_()
            self.tickets_given = 0
        return self.tickets_given + programs

    def launched(self, programs: int) -> None:
        """``programs`` that arrive were launched."""
        self.tickets_given += programs

    def scratch_for(self, count: int) -> Address:
        """Scratch for ``count`` elements of one launch: the last peers of a batch, the pages of a set."""
        if count > self.scratch.tensor.numel():
            self.scratch = DeviceBuffer(2 * count, torch.int64, self.device)
        return self.scratch.address

    def memories(self) -> dict[str, DeviceBuffer]:
        """The buffers, by name."""
        kept = {"report": self.report, "tickets": self.tickets, "scratch": self.scratch}
        return {**kept, "marks": self.marks} if self.domain else kept

    def read(self) -> list[int]:
        """The report; waits for the device."""
        values: list[int] = self.report.tensor.tolist()
        return values
