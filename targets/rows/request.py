"""One request as the row layer sees it: its cursors, and its row in the table of all requests (contract_paged_swa §11.1).

Guarantees that only the layer and whoever owns the request move a cursor. Knows no allocator.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(eq=False)
class Request:
    """A request whose row is ``table[index]``. ``table`` is int32, one row for each request; the cursors count slots of the row.

    ``held``: there is a row at all. ``protected``: the tree owns what lies below it. ``floor``: what lies below is never evicted by
    the window. ``evicted``: the peers from the dead lower bound up to here are gone. ``committed`` and ``allocated``: how much of
    the row counts, and how long it is.
    """

    table: torch.Tensor
    index: int
    held: bool = True
    protected: int = 0
    floor: int = 0
    evicted: int = 0
    committed: int = 0
    allocated: int = 0

    @property
    def row(self) -> torch.Tensor:
        """The request's row of the table, int32: a view, which whoever keeps it has to copy."""
        return self.table[self.index]

    def dead_lower_bound(self, page_size: int) -> int:
        """Where what the window evicted begins: a floor above what is protected counts from its next page boundary on."""
        if self.floor <= self.protected:
            return self.protected
        return -(-self.floor // page_size) * page_size

    def mark_released(self) -> None:
        """The row was given back: nothing is allocated, and there are no cursors any more."""
        self.held = False
        self.protected = self.floor = self.evicted = self.committed = self.allocated = 0

    def clamp_evicted(self, length: int) -> None:
        """The row was cut to ``length`` slots: nothing beyond it can have been evicted."""
        self.evicted = min(self.evicted, length)
