"""The holes of a band in a device buffer of which the host knows the length (contract_unified §3).

Guarantees that what was given out as a view is never written over: new holes come behind, and a list that is set anew lies elsewhere.
"""

from __future__ import annotations

import torch

from targets.fused.buffers import ENDLESS, Place
from targets.fused.memory import address_of


class HoleList:
    """``count`` physical pages at the beginning of ``buffer`` int64. There is ``room`` for all that legal callers can free."""

    def __init__(self, room: int, device: torch.device) -> None:
        self.room = room
        self.buffer = torch.empty(room, dtype=torch.int64, device=device)
        self.count = 0

    def adopt(self, pages: torch.Tensor) -> None:
        """The holes are ``pages`` int64 ``[n]``."""
        self.buffer = self.buffer.new_empty(max(pages.numel(), self.room))
        self.count = pages.numel()
        self.view()[:] = pages

    def view(self) -> torch.Tensor:
        """The holes in order."""
        return self.buffer[: self.count]

    def write(self, count: int) -> Place:
        """Where the next ``count`` holes are written."""
        needed = self.count + count
        if needed > self.buffer.numel():
            former = self.view()
            self.buffer = self.buffer.new_empty(2 * needed)
            self.buffer[: former.numel()] = former
        return address_of(self.buffer), self.count, ENDLESS
