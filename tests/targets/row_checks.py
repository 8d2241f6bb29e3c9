"""What contract_paged_swa §11.2 and §11.3 say, as checks of a target, whatever it is: ours, a mutant, a release.

Each check resets the target, and raises AssertionError where a sentence does not hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eager_calls import Bench

from oracle.call import RowCursors, Segment
from oracle.family_sizes import FamilySizes
from oracle.geometry import Geometry, Mode
from oracle.observation import Outcome
from oracle.target import Target

WINDOW = 8
PAGE = 4
Check = Callable[[Target], None]


def rows(page_size: int = PAGE, *, need_sort: bool = False) -> Geometry:
    return Geometry(
        family="hybrid-rows",
        size=16 * page_size,
        size_swa=16 * page_size,
        page_size=page_size,
        need_sort=need_sort,
        sizes=FamilySizes(window=WINDOW),
    )


class RowBench(Bench):
    """A target after a reset, and one row of ``length`` slots in it."""

    def __init__(self, target: Target, length: int = 24, *, mode: Mode | None = None) -> None:
        super().__init__(rows(), mode, target)
        self.slots = self.fresh(length)

    def evict(self, pre_len: int, *, window: int = WINDOW, **fields: Any) -> Outcome:
        names = ("protected", "floor", "evicted")
        cursors = {name: fields.pop(name) for name in names if name in fields}
        return self.call(
            "evict_out_of_window",
            slots=self.slots,
            pre_len=pre_len,
            window=window,
            cursors=self._cursors(**cursors),
            **fields,
        )

    def release(self, *ranges: tuple[int, int], overwrite: bool = False, **cursors: int) -> Outcome:
        return self.call(
            "free_row",
            slots=self.slots,
            ranges=ranges,
            overwrite=overwrite,
            cursors=self._cursors(**cursors),
        )

    def release_segments(self, *parts: tuple[int, int], evicted: int, dead_lo: int = 0) -> Outcome:
        segments = tuple(Segment(self.slots[start:end], start) for start, end in parts)
        return self.call("free_row_segments", segments=segments, evicted=evicted, dead_lo=dead_lo)

    def mapped(self) -> list[int]:
        """The positions of the row that have peers."""
        mapping = self.state.mapping
        assert mapping is not None
        return [position for position, slot in enumerate(self.slots) if mapping[slot]]

    def free_lists(self) -> tuple[list[int], list[int]]:
        """The free pages of both sides, in order."""
        swa = self.state.swa
        assert swa is not None
        return self.state.full.free, swa.free

    def _cursors(self, **cursors: int) -> RowCursors:
        length = len(self.slots)
        return RowCursors(**{"committed": length, "allocated": length, **cursors})


def went(outcome: Outcome, cursor: int) -> None:
    """The call returned nothing, raised nothing and left the cursor there."""
    assert (outcome.error, outcome.value, outcome.resolved) == ("", None, (cursor,)), outcome


def span(*parts: tuple[int, int]) -> list[int]:
    return [position for start, end in parts for position in range(start, end)]


def pages_in(*parts: tuple[int, int]) -> list[int]:
    """Page ids, from and to."""
    return span(*((start, end + 1) for start, end in parts))


def whole_pages_below_the_window_lose_their_peers(target: Target) -> None:
    bench = RowBench(target)
    went(bench.evict(22), 12)
    assert bench.mapped() == span((12, 24))
    assert bench.free_lists() == (pages_in((7, 16)), pages_in((1, 3), (7, 16)))
    went(bench.evict(23, evicted=12), 12)
    went(bench.evict(24, evicted=12), 16)
    assert bench.mapped() == span((16, 24))
    assert bench.free_lists()[1] == [4, *pages_in((1, 3), (7, 16))]


def a_window_that_ends_inside_a_page_leaves_the_page(target: Target) -> None:
    bench = RowBench(target)
    went(bench.evict(23, sharing=False), 12)
    assert bench.mapped() == span((12, 24))


def a_shared_row_keeps_the_window_in_whole_pages(target: Target) -> None:
    went(RowBench(target).evict(22, window=6), 12)
    went(RowBench(target).evict(22, window=6, sharing=False), 16)


def a_shared_row_keeps_a_page_where_the_window_is_smaller(target: Target) -> None:
    went(RowBench(target).evict(23, window=2), 16)
    went(RowBench(target).evict(23, window=2, sharing=False), 20)


def fewer_slots_than_the_interval_leave_the_cursor_alone(target: Target) -> None:
    bench = RowBench(target)
    went(bench.evict(22, interval=15), 0)
    went(bench.evict(22, interval=15, protected=4, floor=6), 0)
    assert bench.mapped() == span((0, 24))
    went(bench.evict(22, interval=14), 12)
    went(bench.evict(22, interval=3, evicted=12), 12)


def nothing_is_evicted_before_a_slot_left_the_window(target: Target) -> None:
    bench = RowBench(target)
    went(bench.evict(8, protected=4), 0)
    went(bench.evict(9, protected=4), 4)
    assert bench.mapped() == span((0, 24))


def the_cursor_is_stored_where_nothing_is_freed(target: Target) -> None:
    bench = RowBench(target)
    went(bench.evict(12, protected=8), 8)
    went(bench.evict(12, floor=7), 8)
    assert bench.mapped() == span((0, 24))


def what_the_tree_owns_is_not_evicted(target: Target) -> None:
    bench = RowBench(target)
    went(bench.evict(22, protected=8), 12)
    assert bench.mapped() == span((0, 8), (12, 24))


def what_lies_below_the_floor_is_not_evicted(target: Target) -> None:
    bench = RowBench(target)
    went(bench.evict(22, protected=4, floor=6), 12)
    assert bench.mapped() == span((0, 8), (12, 24))


def a_cursor_above_the_floor_stays(target: Target) -> None:
    bench = RowBench(target)
    went(bench.evict(22), 12)
    went(bench.evict(24, floor=5, evicted=12), 16)
    assert bench.mapped() == span((16, 24))


def nothing_is_evicted_from_the_retain_floor_on(target: Target) -> None:
    bench = RowBench(target)
    went(bench.evict(22, retain_floor=10), 8)
    assert bench.mapped() == span((8, 24))
    went(bench.evict(22, retain_floor=4, evicted=8), 8)


def a_retain_floor_means_nothing_without_sharing(target: Target) -> None:
    bench = RowBench(target)
    went(bench.evict(22, retain_floor=4, sharing=False), 12)


def what_is_protected_ends_on_a_page_boundary(target: Target) -> None:
    bench = RowBench(target)
    before = bench.state
    for pre_len in (4, 22):
        outcome = bench.evict(pre_len, protected=6, evicted=4)
        assert (outcome.error, outcome.resolved) == ("AssertionError", (4,)), outcome
    assert bench.state == before


def a_cursor_inside_a_page_is_refused_before_it_moves(target: Target) -> None:
    bench = RowBench(target)
    before = bench.state
    outcome = bench.evict(22, evicted=6)
    assert (outcome.error, outcome.resolved) == ("AssertionError", (6,)), outcome
    assert bench.state == before


def the_cursor_is_stored_before_the_allocator_refuses(target: Target) -> None:
    bench = RowBench(target, mode=Mode(level="strict"))
    went(bench.evict(22), 12)
    before = bench.state
    outcome = bench.evict(24, floor=4)
    assert outcome.error == "invariant:swa.peer_mapped", outcome
    assert outcome.resolved == (4,), outcome
    assert bench.state == before


def the_dead_part_of_a_row_goes_first_and_on_the_full_side_only(target: Target) -> None:
    bench = RowBench(target)
    went(bench.evict(22, floor=4), 12)
    went(bench.release((0, 24), floor=4, evicted=12), 12)
    # Each release is put in front: pages 2 and 3 first, then page 1, then the rest of the row.
    assert bench.free_lists() == (
        pages_in((4, 6), (1, 1), (2, 3), (7, 16)),
        pages_in((4, 6), (1, 1), (2, 3), (7, 16)),
    )
    assert bench.mapped() == []


def dead_parts_of_several_segments_all_go_first(target: Target) -> None:
    bench = RowBench(target)
    went(bench.evict(22), 12)
    went(bench.release_segments((0, 4), (4, 16), (20, 24), evicted=12), 12)
    # Dead: page 1, pages 2 and 3; alive: page 4, page 6. Page 5 is not among them.
    assert bench.free_lists() == (
        pages_in((6, 6), (4, 4), (2, 3), (1, 1), (7, 16)),
        pages_in((6, 6), (4, 4), (1, 3), (7, 16)),
    )
    assert bench.mapped() == span((16, 20))


def below_the_dead_lower_bound_both_sides_go(target: Target) -> None:
    bench = RowBench(target)
    went(bench.release_segments((0, 8), evicted=4, dead_lo=8), 4)
    assert bench.mapped() == span((8, 24))
    assert bench.free_lists()[1] == pages_in((1, 2), (7, 16))


def ranges_that_touch_inside_a_page_count_as_one(target: Target) -> None:
    bench = RowBench(target)
    went(bench.release((0, 6), (6, 10), (10, 24)), 0)
    assert bench.free_lists()[0] == pages_in((1, 16))


def ranges_with_a_gap_stay_apart(target: Target) -> None:
    bench = RowBench(target)
    went(bench.release((0, 4), (8, 24)), 0)
    assert bench.free_lists()[0] == pages_in((3, 6), (1, 1), (7, 16))
    assert bench.mapped() == span((4, 8))


def a_cut_inside_a_page_is_refused_before_anything_is_freed(target: Target) -> None:
    bench = RowBench(target)
    assert bench.free(bench.slots[:8], "free_swa_segment", start_pos=0).error == ""
    before = bench.state
    outcome = bench.release((0, 24), evicted=6)
    assert (outcome.error, outcome.resolved) == ("AssertionError", (6,)), outcome
    assert bench.state == before


def an_empty_segment_counts_as_alive(target: Target) -> None:
    bench = RowBench(target)
    assert bench.free(bench.slots[:8], "free_swa_segment", start_pos=0).error == ""
    before = bench.state
    outcome = bench.release_segments((0, 6), (8, 8), evicted=6)
    assert (outcome.error, outcome.resolved) == ("AssertionError", (6,)), outcome
    assert bench.state == before
    went(bench.release_segments((0, 6), evicted=6), 6)
    assert bench.free_lists()[0] == pages_in((1, 2), (7, 16))


def a_grouped_call_does_not_see_the_row_that_was_overwritten(target: Target) -> None:
    bench = RowBench(target)
    assert bench.call("free_group_begin").error == ""
    went(bench.evict(22, overwrite=True), 12)
    went(bench.release((0, 24), evicted=12, overwrite=True), 12)
    assert bench.free_lists() == (pages_in((7, 16)), pages_in((7, 16)))
    assert bench.call("free_group_end").error == ""
    full, swa = bench.free_lists()
    assert (sorted(full), sorted(swa)) == (pages_in((1, 16)), pages_in((1, 16)))
    assert bench.mapped() == []


def a_call_without_a_row_does_nothing(target: Target) -> None:
    bench = RowBench(target)
    before = bench.state
    bench.slots = ()
    went(bench.evict(22, floor=4), 0)
    assert bench.state == before


def single_slot_pages_are_evicted_one_by_one(target: Target) -> None:
    bench = Bench(rows(1), target=target)
    slots = bench.call("alloc", need=10).value
    assert slots is not None
    cursors = RowCursors(floor=1, committed=10, allocated=10)
    evict = bench.call(
        "evict_out_of_window", slots=slots, cursors=cursors, pre_len=10, window=WINDOW, interval=2
    )
    went(evict, 2)
    mapping = bench.state.mapping
    assert mapping is not None
    assert [bool(mapping[slot]) for slot in slots] == [True, False, *[True] * 8]


CHECKS: tuple[Check, ...] = (
    whole_pages_below_the_window_lose_their_peers,
    a_window_that_ends_inside_a_page_leaves_the_page,
    a_shared_row_keeps_the_window_in_whole_pages,
    a_shared_row_keeps_a_page_where_the_window_is_smaller,
    fewer_slots_than_the_interval_leave_the_cursor_alone,
    nothing_is_evicted_before_a_slot_left_the_window,
    the_cursor_is_stored_where_nothing_is_freed,
    what_the_tree_owns_is_not_evicted,
    what_lies_below_the_floor_is_not_evicted,
    a_cursor_above_the_floor_stays,
    nothing_is_evicted_from_the_retain_floor_on,
    a_retain_floor_means_nothing_without_sharing,
    what_is_protected_ends_on_a_page_boundary,
    a_cursor_inside_a_page_is_refused_before_it_moves,
    the_cursor_is_stored_before_the_allocator_refuses,
    the_dead_part_of_a_row_goes_first_and_on_the_full_side_only,
    dead_parts_of_several_segments_all_go_first,
    below_the_dead_lower_bound_both_sides_go,
    ranges_that_touch_inside_a_page_count_as_one,
    ranges_with_a_gap_stay_apart,
    a_cut_inside_a_page_is_refused_before_anything_is_freed,
    an_empty_segment_counts_as_alive,
    a_grouped_call_does_not_see_the_row_that_was_overwritten,
    a_call_without_a_row_does_nothing,
    single_slot_pages_are_evicted_one_by_one,
)
