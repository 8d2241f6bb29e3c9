"""What callers do right after something else: the release of a row that got peers for its tail only, recovery inside the group that freed a row, a restore soon after a backup, the end
of a load or of a forward pass, the rollback of what was allocated for speculation, the next turn of the ratchet, a row above a compressed
device that goes on inside a page, a state that was taken out in advance, a row released with a cursor behind its end.

Drawn operations seldom stand in such an order by chance. Guarantees that what follows depends on the operations before it only,
and that every second occasion is left to chance, so that nothing always follows.
"""

from __future__ import annotations

from oracle import operations as op
from oracle.geometry import BANDS, ROW_FAMILIES, Geometry

FREEING = (op.Free, op.FreeSegment, op.FreeSegments, op.Release, op.Evict)
SWA_METHODS = ("free_swa", "free_swa_segment")


class FollowUps:
    """Watches the operations of one example. ``hostile``: the caller may also give peers to a row that it has freed whole."""

    def __init__(self, geometry: Geometry, *, hostile: bool) -> None:
        self._page_size = geometry.page_size
        self._hybrid = geometry.family == "hybrid-swa"
        self._paged = geometry.family == "paged"
        self._compressed = geometry.family == "hisparse-dsv4"
        self._sliding = geometry.family == "pure-swa"
        self._cursors = geometry.family in ROW_FAMILIES
        bands = BANDS.get(geometry.family, ())
        self._state_band = bands.index("state") if "state" in bands else None
        self._hostile = hostile
        self._waiting: list[op.Base] = []
        self._in_group = False
        self._occasions = 0
        self._turn = 0
        self._begins = 0
        self._tails = 0

    def saw(self, operation: op.Base) -> None:
        """An operation was stepped."""
        if isinstance(operation, op.GroupBegin):
            self._in_group = True
            if self._paged:
                # Where a request ends, its last segment ends inside a page.
                self._plan(op.FreeSegment(cut=1))
            elif self._sliding and self._hostile:
                # Rows that left the window have the padding slot in their place.
                self._plan(op.RawFree(slots=(0,)))
        elif isinstance(operation, (op.GroupEnd, op.Clear, op.Resize)):
            self._in_group = False
            self._waiting.clear()
        elif isinstance(operation, op.Alloc) and self._compressed:
            self._plan(op.Extend((op.Part(1, 5),)))
        elif isinstance(operation, op.Backup):
            self._plan(op.Alloc(unit="pages"), op.Restore())
        elif self._in_group and self._hybrid and isinstance(operation, FREEING):
            recovery = self._recovery(operation)
            if recovery is not None:
                self._plan(recovery, op.GroupEnd())
        elif isinstance(operation, op.ExtendTail | op.EvictWindow | op.OverAllocate):
            self._saw_row(operation)
        else:
            self._saw_buffer(operation)

    def _saw_row(self, operation: op.ExtendTail | op.EvictWindow | op.OverAllocate) -> None:
        if isinstance(operation, op.ExtendTail) and self._hybrid:
            self._turn += 1
            self._plan(
                _whole_row(operation, "free_segment" if self._turn % 4 < 2 else "free_swa_segment")
            )
        elif isinstance(operation, op.ExtendTail) and self._cursors and self._hostile:
            # All of the row is dead for a cursor that points behind its end, inside a page.
            # Counted apart, so that what else follows in these rows stays as frequent.
            self._tails += 1
            if self._tails % 4 == 1 and not self._waiting:
                request = max(0, operation.request - 1)
                drift = self._page_size - 1
                self._waiting = [op.FreeRowSegments(request=request, empty=True, drift=drift)]
        elif isinstance(operation, op.EvictWindow):
            # The ratchet: the row grows, and its cursor moves once more.
            grown = op.Part(request=operation.request + 1, amount=1, unit="pages")
            self._turn += 1
            if self._turn % 3 == 0:
                self._plan(op.Extend(parts=(grown,)), op.EvictWindow(request=operation.request))
        elif isinstance(operation, op.OverAllocate):
            self._turn += 1
            self._plan(op.RollBack() if self._turn % 4 < 3 else op.ReleaseRow(together=True))

    def _saw_buffer(self, operation: op.Base) -> None:
        """What the callers of pools that share a buffer do next."""
        if isinstance(operation, op.Reserve):
            bound = (op.Evict(pages=1), op.BindReserved(), op.FinishLoad())
            self._turn += 1
            self._plan(*(bound if self._turn % 4 < 2 else (op.CancelReserved(), op.FinishLoad())))
        elif isinstance(operation, op.BindReserved):
            self._plan(op.FinishLoad())
        elif isinstance(operation, op.AllocGroupBegin) and self._state_band is not None:
            # Pages of prepared states move into the holes of older states.
            flush = op.Flush(band=self._state_band, urgent=True)
            moved = (op.StateFree(count=7), flush, op.StateAlloc())
            # Counted apart: begins would keep step with loads, half of which must be followed.
            self._begins += 1
            if self._begins % 2 and not self._waiting:
                ended = (op.StateAlloc(), op.AllocGroupEnd())
                self._waiting = list(moved if self._begins % 4 == 1 else ended)
        elif isinstance(operation, op.BeginForward):
            self._plan(op.Flush(), op.FireEvent())

    def due(self) -> op.Base | None:
        """The operation to put in before the next drawn one, None when nothing follows."""
        return self._waiting.pop(0) if self._waiting else None

    def _plan(self, *operations: op.Base) -> None:
        self._occasions += 1
        if self._occasions % 2 and not self._waiting:
            self._waiting = list(operations)

    def _recovery(self, operation: op.Base) -> op.Recover | None:
        """New peers for what ``operation`` took peers from: its pages where the row lives on, else the freed row."""
        if isinstance(operation, op.Evict):
            return op.Recover(request=operation.request)
        if isinstance(operation, (op.Free, op.FreeSegment)) and operation.method in SWA_METHODS:
            page = (
                operation.first // self._page_size
                if isinstance(operation, op.Free)
                else operation.page
            )
            return op.Recover(request=operation.request, page=page)
        return op.Recover(freed=True) if self._hostile else None


def _whole_row(tail: op.ExtendTail, method: op.SegmentMethod) -> op.FreeSegment:
    """One segment free of the whole row that ``tail`` made or grew, by a caller who takes it for a row like any other."""
    return op.FreeSegment(method=method, request=max(0, tail.request - 1), pages=-1)
