"""What any caller does now and then, put in where the drawn operations lack it for long.

Swarm testing switches rules off for a whole example: most examples would otherwise soon have no row to free, a pool that
stays full, or a group that is never closed, and half of their steps would do nothing. Guarantees that what is put in
depends on the operations before it only, never on what a target returned.
"""

from __future__ import annotations

from oracle import operations as op
from oracle.geometry import BANDS, Geometry
from strategies.follow_ups import FollowUps

ALLOCATING: tuple[type[op.Base], ...] = (op.Alloc, op.Extend, op.ExtendTail, op.Load, op.HitPrefix)
GIVING_BACK: tuple[type[op.Base], ...] = (
    op.Free,
    op.FreeSegment,
    op.FreeSegments,
    op.FreePages,
    op.Release,
    op.ReleaseRow,
    op.Clear,
    op.Resize,
)
ENDING: tuple[type[op.Base], ...] = (op.GroupEnd, op.Clear, op.Resize)

WITHOUT_ALLOCATING = 5
WITHOUT_GIVING_BACK = 8
IN_A_GROUP = 7


class Upkeep:
    """Counts the operations since a row was allocated, something was given back, and a group was opened.

    A hybrid allocator gets rows of each make in turn: with peers, with none, with peers for their tail only, which starts
    off a page boundary when the caller is ``hostile``. Rows with none get some a few operations later.
    """

    def __init__(self, geometry: Geometry, *, hostile: bool) -> None:
        self._turns = _rows_in_turn(geometry, hostile=hostile)
        self._follow_ups = FollowUps(geometry, hostile=hostile)
        self._turn = 0
        self._waiting: list[op.Base] = []
        self._since_allocating = 0
        self._since_giving_back = 0
        self._in_group: int | None = None
        self._with_tree = geometry.family in op.ROWS
        self._evicting = False

    def saw(self, operation: op.Base) -> None:
        """An operation was stepped."""
        self._follow_ups.saw(operation)
        self._since_allocating += 1
        self._since_giving_back += 1
        if isinstance(operation, ALLOCATING):
            self._since_allocating = 0
        if isinstance(operation, GIVING_BACK):
            self._since_giving_back = 0
        if isinstance(operation, ENDING):
            self._in_group = None
        elif self._in_group is not None:
            self._in_group += 1
        elif isinstance(operation, op.GroupBegin):
            self._in_group = 0

    def due(self) -> op.Base | None:
        """The operation to put in before the next drawn one, None when nothing is missing."""
        if (follow_up := self._follow_ups.due()) is not None:
            return follow_up
        if not self._waiting and self._since_allocating >= WITHOUT_ALLOCATING:
            self._waiting = list(self._turns[self._turn % len(self._turns)])
            self._turn += 1
        if self._waiting:
            return self._waiting.pop(0)
        if self._since_giving_back >= WITHOUT_GIVING_BACK:
            self._evicting = self._with_tree and not self._evicting
            # What only the tree holds comes back by evicting it, a row at a time too.
            return op.EvictNode() if self._evicting else op.Release()
        if self._in_group is not None and self._in_group >= IN_A_GROUP:
            return op.GroupEnd()
        return None


def _rows_in_turn(geometry: Geometry, *, hostile: bool) -> tuple[tuple[op.Base, ...], ...]:
    row = op.Alloc(unit="pages")
    if geometry.family in BANDS:
        return _unified_rows(geometry)
    if geometry.family in op.ROWS:
        return _rows_with_cursors()
    if geometry.family != "hybrid-swa":
        return ((row,),)
    size = geometry.page_size
    tail = op.ExtendTail(
        amount=1, unit="pages", tail=2 * size - 1 if hostile else size, aligned=not hostile
    )
    transferred = (row, op.Load(), op.TransferPeers())
    recovered = (row, op.Load(), op.Recover())
    tailed = (row if size == 1 else tail,)
    if hostile:
        # Half of the rows without peers stay so: that is what the caller is to get wrong.
        return (tailed, (row, op.Load()), tailed, transferred, (row, op.Load()), tailed, recovered)
    return (transferred, tailed, recovered)


def _rows_with_cursors() -> tuple[tuple[op.Base, ...], ...]:
    """Rows long enough to leave their window, which the tree takes, which go on from the tree, with peers for a tail only."""
    row, more = op.Alloc(amount=4, unit="pages"), op.Extend(parts=(op.Part(1, 2, "pages"),))
    return (
        (row, op.EvictWindow(), more),
        (op.Alloc(amount=6, unit="pages"), op.EvictWindow(floor=2), op.EvictWindow()),
        (row, op.Insert(pages=1), op.HitPrefix(amount=2, unit="pages"), op.EvictWindow()),
        (op.ExtendTail(amount=3, unit="pages"), more, op.EvictWindow(sharing=False)),
        (row, op.Insert(pages=1), row, op.InsertAgain()),
        (op.LoadNode(root=True), row, op.InsertAgain(), more),
        (op.LoadNode(root=True), op.HitPrefix(amount=1), row, op.InsertAgain()),
        (op.LoadNode(amount=1, root=True), op.RecoverNode(page=1), op.EvictNodePeers()),
        (op.Alloc(amount=2, unit="pages"), op.OverAllocate(amount=2, unit="pages"), op.RollBack()),
    )


def _unified_rows(geometry: Geometry) -> tuple[tuple[op.Base, ...], ...]:
    """Rows with peers throughout and for their tail only, states, and states taken out in advance; what forbade moves is over by
    then."""
    row = op.Alloc(unit="pages")
    moving: tuple[op.Base, ...] = (op.FinishLoad(), op.Gate(state="absent"))
    tail = op.ExtendTail(amount=1, unit="pages", tail=geometry.page_size)
    peered = geometry.family in op.PEERED and geometry.page_size > 1
    rows: tuple[tuple[op.Base, ...], ...] = ((row,), (*moving, tail if peered else row))
    if geometry.family not in op.STATEFUL:
        return (*rows, (row,))
    held, prepared = op.StateAlloc(), op.AllocGroupBegin(amount=2)
    return (*rows, (held, row), *rows, (held, prepared, row))
