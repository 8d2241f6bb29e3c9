"""The holes of a band in a device buffer of which the host knows the length (contract_unified §3).

Guarantees that what was given out as a view is never written over: new holes come behind, and a list that is set anew lies elsewhere.
"""

from __future__ import annotations

import torch

from targets.fused.buffers import ENDLESS, Place

FIRST_HOLES = 256
"""Holes for which a list has room as soon as it has any."""


class HoleList:
    """``count`` physical pages at the beginning of ``buffer`` int64."""

    def __init__(self, device: torch.device) -> None:
        self.buffer = torch.empty(0, dtype=torch.int64, device=device)
        self.count = 0

    def adopt(self, pages: torch.Tensor) -> None:
        """The holes are ``pages`` int64 ``[n]``."""
        count = pages.numel()
        # Room is made here and not in front of the next free, which is to be one launch.
        self.buffer = pages.new_empty(max(2 * count, FIRST_HOLES) if count else 0)
        self.buffer[:count] = pages
        self.count = count

    def view(self) -> torch.Tensor:
        """The holes in order."""
        return self.buffer[: self.count]

    def write(self, count: int) -> Place:
        """Where the next ``count`` holes are written."""
        needed = self.count + count
        if needed > self.buffer.numel():
            former = self.view()
            self.buffer = self.buffer.new_empty(max(needed, 2 * self.count, FIRST_HOLES))
            self.buffer[: former.numel()] = former
        return self.buffer, self.count, ENDLESS
