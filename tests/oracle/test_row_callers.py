"""What the callers of rows call, and with which cursors (contract_paged_swa §11.1, §11.5, §11.6)."""

from __future__ import annotations

from collections.abc import Sequence

from oracle import operations as op
from oracle.call import Call
from oracle.family_sizes import FamilySizes
from oracle.geometry import Geometry
from oracle.legality import (
    FLOOR_IGNORED,
    PEER_OVERWRITTEN,
    PEER_STILL_MAPPED,
    SHARED,
    STALE_CURSOR,
    UNALIGNED_CURSOR,
    UNALIGNED_PROTECTED,
    UNALIGNED_START,
)
from oracle.lockstep import Session
from oracle.planning.cursors import cursors_of
from targets.reference import ReferenceTarget

EIGHT_PAGES = op.Alloc(amount=7, unit="pages")


class Rows:
    """Page size 4, pools of 32 pages, a window of 8 slots."""

    def __init__(self, *operations: op.Base, callers: str = "legal") -> None:
        geometry = Geometry(
            family="hybrid-rows",
            size=128,
            size_swa=128,
            page_size=4,
            sizes=FamilySizes(window=8),
        )
        self.session = Session(
            [ReferenceTarget()],
            geometry,
            callers=callers,  # type: ignore[arg-type]
            keep_records=True,
        )
        for operation in operations:
            self.calls(operation)

    @property
    def books(self):
        return self.session.caller.books

    def calls(self, operation: op.Base) -> list[Call]:
        """The calls of one operation, which the judge finds nothing wrong with, the caller's slips apart."""
        return [record.call for record in self.records(operation)]

    def records(self, operation: op.Base):
        assert self.session.records is not None
        first = len(self.session.records)
        self.session.step(operation)
        assert not [one for one in self.session.findings if one.kind != "hazard"]
        return self.session.records[first:]

    def breaches(self, operation: op.Base) -> tuple[str, ...]:
        records = self.records(operation)
        assert records, "no call was made"
        return records[0].breaches

    def cursors(self, index: int = 0):
        request = self.books.newest(index)
        assert request is not None
        return cursors_of(request)

    def drained(self) -> None:
        self.calls(op.Drain())
        assert not self.session.findings
        assert [*self.books.requests, *self.books.tree] == []


def _methods(calls: Sequence[Call]) -> list[str]:
    return [call.method for call in calls]


# Window eviction


def test_an_eviction_is_of_what_was_computed_and_the_cursor_comes_back() -> None:
    rows = Rows(EIGHT_PAGES)
    (call,) = rows.calls(op.EvictWindow())
    assert (call.pre_len, call.window, call.sharing, call.interval) == (31, 8, True, 1)
    assert rows.cursors().evicted == 20
    (call,) = rows.calls(op.EvictWindow())
    assert call.cursors.evicted == 20
    rows.drained()


def test_a_chunk_that_is_not_computed_yet_is_left_out() -> None:
    rows = Rows(EIGHT_PAGES)
    (call,) = rows.calls(op.EvictWindow(behind=10))
    assert call.pre_len == 21
    assert rows.cursors().evicted == 12


def test_several_requests_are_evicted_in_one_group() -> None:
    rows = Rows(EIGHT_PAGES, EIGHT_PAGES)
    methods = _methods(rows.calls(op.EvictWindow(count=1)))
    assert methods == [
        "free_group_begin",
        "evict_out_of_window",
        "evict_out_of_window",
        "free_group_end",
    ]
    rows.calls(op.GroupBegin())
    assert _methods(rows.calls(op.EvictWindow(count=1))) == ["evict_out_of_window"] * 2
    rows.drained()


def test_a_floor_is_set_before_anything_was_evicted_only() -> None:
    rows = Rows(EIGHT_PAGES, op.EvictWindow(floor=7))
    assert (rows.cursors().floor, rows.cursors().evicted) == (6, 20)
    rows.calls(op.EvictWindow(floor=13))
    assert rows.cursors().floor == 6
    rows.drained()


# Release


def test_a_release_gives_back_what_counts_and_then_what_was_allocated_beyond() -> None:
    rows = Rows(op.Alloc(amount=6), op.OverAllocate(amount=1, unit="pages"))
    assert rows.cursors().committed == 6
    assert rows.cursors().allocated == 14
    first, second = rows.calls(op.ReleaseRow())
    assert (first.ranges, second.ranges) == (((0, 6),), ((8, 14),))
    rows.drained()


def test_both_ranges_in_one_call() -> None:
    rows = Rows(op.Alloc(amount=6), op.OverAllocate(amount=1, unit="pages"))
    (call,) = rows.calls(op.ReleaseRow(together=True))
    assert call.ranges == ((0, 6), (8, 14))
    rows.drained()


def test_a_rollback_gives_back_whole_pages_beyond_what_was_accepted() -> None:
    rows = Rows(op.Alloc(amount=6), op.OverAllocate(amount=2, unit="pages"))
    (call,) = rows.calls(op.RollBack(accepted=3))
    assert call.ranges == ((12, 18),)
    assert (rows.cursors().committed, rows.cursors().allocated) == (9, 12)
    rows.drained()


def test_a_row_that_grows_again_counts_whole() -> None:
    rows = Rows(op.Alloc(amount=6), op.OverAllocate(amount=1, unit="pages"), op.Decode())
    assert rows.cursors().committed == rows.cursors().allocated == 15


def test_the_end_of_a_row_goes_back_in_segments_and_the_cursors_are_clamped() -> None:
    rows = Rows(EIGHT_PAGES, op.EvictWindow())
    (call,) = rows.calls(op.FreeRowSegments(page=3, runs=(1, 0), empty=True))
    assert [(one.start_pos, len(one.slots)) for one in call.segments] == [
        (12, 8),
        (20, 0),
        (20, 4),
        (24, 8),
    ]
    assert (call.evicted, call.dead_lo) == (20, 0)
    assert (rows.cursors().evicted, rows.cursors().allocated) == (12, 12)
    rows.drained()


# Tail preallocation


def test_after_a_tail_preallocation_the_cursor_is_where_the_tail_starts() -> None:
    rows = Rows(op.ExtendTail(amount=4, unit="pages"))
    # A row of 20 and a window of 8: the window's tail is 8 slots.
    assert (rows.cursors().evicted, rows.cursors().allocated) == (12, 20)
    (call,) = rows.calls(op.ReleaseRow())
    assert call.cursors.evicted == 12
    rows.drained()


def test_a_tail_after_a_protected_prefix_starts_beyond_it() -> None:
    rows = Rows(EIGHT_PAGES, op.Insert(pages=1), op.HitPrefix())
    rows.calls(op.ExtendTail(request=1, amount=19, tail=6))
    assert (rows.cursors().protected, rows.cursors().evicted) == (8, 20)
    rows.drained()


# The prefix tree


def test_an_insert_protects_the_prefix_and_the_tree_holds_it() -> None:
    rows = Rows(EIGHT_PAGES)
    assert rows.calls(op.Insert(pages=2)) == []
    assert rows.cursors().protected == 12
    (call,) = rows.calls(op.ReleaseRow())
    assert call.ranges == ((12, 32),)
    assert len(rows.books.tree) == 1
    assert rows.books.holders.keys() == {1, 2, 3}
    rows.drained()


def test_a_hit_starts_with_the_whole_prefix_and_gives_only_its_own_back() -> None:
    rows = Rows(EIGHT_PAGES, op.Insert(pages=1), op.Insert(pages=0))
    (call,) = rows.calls(op.HitPrefix(amount=5))
    assert (call.prefix_lens, call.seq_lens) == ((12,), (17,))
    (call,) = rows.calls(op.ReleaseRow())
    assert call.ranges == ((12, 17),)
    rows.drained()


def test_duplicates_below_the_cursor_go_full_only_and_the_rest_on_both_sides() -> None:
    rows = Rows(EIGHT_PAGES, op.Insert(pages=6), EIGHT_PAGES, op.EvictWindow())
    calls = rows.calls(op.InsertAgain())
    assert _methods(calls) == ["free_full_segment", "free_segment"]
    assert [(len(call.slots), call.start_pos) for call in calls] == [(20, 0), (8, 0)]
    assert rows.cursors().protected == 28
    assert rows.books.requests[0].slots[:28] == rows.books.requests[1].slots[:28]
    rows.drained()


def test_a_node_without_peers_that_nobody_holds_adopts_the_rows_pages() -> None:
    rows = Rows(op.LoadNode(amount=1, root=True), EIGHT_PAGES)
    held = tuple(rows.books.tree[0].slots)
    (call,) = rows.calls(op.InsertAgain())
    assert (call.method, call.slots, call.start_pos) == ("free_full_segment", held, 0)
    assert rows.books.tree[0].slots == rows.books.requests[0].slots[:8]
    rows.drained()


def test_a_node_without_peers_that_is_locked_gets_the_rows_peers_cleared_before_set() -> None:
    rows = Rows(op.LoadNode(amount=1, root=True), op.HitPrefix(), EIGHT_PAGES)
    held = tuple(rows.books.tree[0].slots)
    incoming = tuple(rows.books.requests[-1].slots[:8])
    calls = rows.calls(op.InsertAgain())
    assert [(call.method, call.slots) for call in calls] == [
        ("translate_loc_from_full_to_swa", incoming),
        ("clear_full_to_swa_mapping", incoming),
        ("set_full_to_swa_mapping", held),
        ("free_full_segment", incoming),
    ]
    rows.drained()


def test_the_tree_evicts_peers_by_full_slots_and_pages_on_the_full_pool_itself() -> None:
    rows = Rows(EIGHT_PAGES, op.Insert(pages=3), op.ReleaseRow())
    slots = tuple(rows.books.tree[0].slots)
    (call,) = rows.calls(op.EvictNodePeers(pages=1))
    assert (call.method, call.slots, call.start_pos) == ("free_swa_segment", slots[:8], 0)
    calls = rows.calls(op.EvictNode())
    assert [(call.method, call.pool, call.slots) for call in calls] == [
        ("free_swa_segment", "composite", slots[8:]),
        ("free_segment", "full", slots),
    ]
    rows.drained()


def test_load_back_maps_what_the_swa_pool_gives() -> None:
    rows = Rows(op.LoadNode(amount=2, root=True))
    calls = rows.calls(op.RecoverNode(page=1, pages=1))
    assert [(call.method, call.pool) for call in calls] == [
        ("alloc", "swa"),
        ("set_full_to_swa_mapping", "composite"),
    ]
    assert calls[1].slots == tuple(rows.books.tree[0].slots[4:12])
    rows.drained()


def test_a_legal_caller_evicts_no_node_that_is_in_use() -> None:
    rows = Rows(EIGHT_PAGES, op.Insert(pages=3))
    assert rows.calls(op.EvictNode()) == []
    assert rows.calls(op.EvictNode(locked=True)) == []


# Slips, each by its name


def test_each_slip_has_its_name() -> None:
    def evicted() -> Rows:
        return Rows(EIGHT_PAGES, op.EvictWindow(floor=5), callers="hostile")

    grow = op.Extend(parts=(op.Part(1, 3, "pages"),))
    for again in (op.EvictWindow, op.ReleaseRow, op.FreeRowSegments):
        rows = evicted()
        rows.calls(grow)
        assert STALE_CURSOR in rows.breaches(again(stale=2))
        assert UNALIGNED_CURSOR in evicted().breaches(again(drift=1))
        assert FLOOR_IGNORED in evicted().breaches(again(floorless=True))
    for again in (op.EvictWindow, op.ReleaseRow):
        assert UNALIGNED_PROTECTED in evicted().breaches(again(drift=1, drifting="protected"))


def test_what_a_slip_left_of_a_row_can_be_released_later() -> None:
    # The first release leaves out the only page beyond the prefix, and lets the prefix go.
    rows = Rows(EIGHT_PAGES, op.Insert(pages=0), op.HitPrefix(amount=1), callers="hostile")
    rows.calls(op.ReleaseRow(drift=1, drifting="protected"))
    assert [len(request.slots) for request in rows.books.requests] == [32, 5]
    rows.calls(op.ReleaseRow())
    assert [len(request.slots) for request in rows.books.requests] == [32]


def test_slips_on_the_tree_have_names_of_their_own() -> None:
    inserted = (EIGHT_PAGES, op.Insert(pages=3))
    assert SHARED in Rows(*inserted, callers="hostile").breaches(op.EvictNode(locked=True))
    rows = Rows(*inserted, op.ReleaseRow(), callers="hostile")
    assert PEER_STILL_MAPPED in rows.breaches(op.EvictNode(keep_peers=True))
    rows = Rows(*inserted, callers="hostile")
    assert PEER_OVERWRITTEN in rows.breaches(op.RecoverNode(overwrite=True))
    rows = Rows(*inserted, EIGHT_PAGES, op.EvictWindow(behind=14), callers="hostile")
    assert UNALIGNED_CURSOR in rows.breaches(op.InsertAgain(drift=1))
    rows = Rows(op.Alloc(amount=4), op.OverAllocate(amount=0, unit="pages"), callers="hostile")
    assert UNALIGNED_START in rows.breaches(op.RollBack(drift=1))


def test_a_reset_cursor_is_a_hazard_that_the_laws_see() -> None:
    # Another row, or the pool would hold more than it has, which is refused aloud.
    rows = Rows(EIGHT_PAGES, EIGHT_PAGES, op.EvictWindow(), callers="hostile")
    rows.calls(op.ReleaseRow(stale=50))
    assert [(one.kind, one.breach) for one in rows.session.findings] == [("hazard", STALE_CURSOR)]


def test_a_forgotten_floor_is_a_hazard_that_the_laws_see() -> None:
    rows = Rows(EIGHT_PAGES, op.EvictWindow(floor=9, behind=23), callers="hostile")
    rows.calls(op.EvictWindow(floorless=True))
    assert [(one.kind, one.quantity, one.breach) for one in rows.session.findings] == [
        ("hazard", "swa.evicted-above-floor", FLOOR_IGNORED)
    ]
