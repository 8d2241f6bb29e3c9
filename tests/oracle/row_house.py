"""A pool of the family of rows with one row in it, for the tests of the calls on rows."""

from __future__ import annotations

from oracle.call import RowCursors


class Row:
    """A pool with one row of ``length`` slots."""

    def __init__(self, drive, length=32, pages=16, page_size=4, window=8, **options):
        size = pages * page_size
        self.window = window
        self.pool = drive(
            "hybrid-rows", size, page_size, size_swa=size, sizes={"window": window}, **options
        )
        self.slots = self.pool.extend(0, length)

    def evict(self, cursors=None, *, pre_len=None, slots=None, how="does", **fields):
        cursors = cursors or RowCursors(allocated=len(self.slots))
        fields.setdefault("window", self.window)
        arguments = {
            "slots": self.slots if slots is None else slots,
            "cursors": cursors,
            "pre_len": len(self.slots) - 1 if pre_len is None else pre_len,
            **fields,
        }
        return getattr(self.pool, how)("evict_out_of_window", **arguments)

    def cursor(self, cursors=None, **fields):
        outcome = self.evict(cursors, **fields)
        assert outcome.value is None
        (cursor,) = outcome.resolved
        return cursor

    def lost(self):
        """The positions that have no peer."""
        mapping = self.pool.mapping
        return [at for at, slot in enumerate(self.slots) if mapping[slot] == 0]
