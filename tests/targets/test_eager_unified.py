"""Our allocator of two pools over one buffer: the golden traces of contract_unified §14, and its rules."""

from __future__ import annotations

import importlib

import pytest
from unified_bench import SEGMENT_CALLS, UnifiedBench, two_pools

from oracle.call import TreeRow
from oracle.contract import SEGMENT_BOUND, SEGMENT_RELEASED
from oracle.geometry import Mode
from oracle.observation import Eviction, Hit
from targets.eager.signals import Bucket
from targets.eager.unified import invariants
from targets.eager.unified.invariant_registry import declare

Row = tuple[int, ...]


def _filled() -> tuple[UnifiedBench, Row, Row]:
    bench = UnifiedBench()
    return bench, bench.row(16), bench.row(12)


def _queued() -> UnifiedBench:
    bench, row, _ = _filled()
    bench.segment(row, 0, 8, "free_swa_segment")
    bench.call("free_group_begin")
    bench.segment(row, 0, 8, "free_full_segment")
    bench.segment(row, 8, 16)
    return bench


def _freed() -> UnifiedBench:
    bench = _queued()
    bench.call("free_group_end")
    return bench


def _flushed() -> UnifiedBench:
    bench = _freed()
    bench.row(4)
    for _ in range(2):
        bench.flush("full")
        bench.flush("swa")
    return bench


def test_g1_rows_are_bound_on_both_sides_from_the_ends() -> None:
    bench, first, second = _filled()
    assert (first, second) == (tuple(range(4, 20)), tuple(range(20, 32)))
    assert (bench.band("full").watermark, bench.band("swa").watermark) == (8, 9)
    assert bench.bound("full") == {1: 12, 2: 13, 3: 14, 4: 15, 5: 9, 6: 10, 7: 11}
    assert bench.bound("swa") == {page: page + 1 for page in range(1, 8)}
    assert bench.sizes() == (12, 16, 32)


def test_g2_window_eviction_leaves_holes_on_the_swa_side() -> None:
    bench, row, _ = _filled()
    bench.segment(row, 0, 8, "free_swa_segment")
    assert bench.band("swa").holes == [2, 3]
    assert bench.sizes() == (12, 20, 40)


def test_g3_deferred_segment_frees_change_nothing_but_their_piles() -> None:
    bench, row, _ = _filled()
    bench.segment(row, 0, 8, "free_swa_segment")
    before = bench.seen
    bench.call("free_group_begin")
    bench.segment(row, 0, 8, "free_full_segment")
    bench.segment(row, 8, 16)
    after = bench.seen
    assert after.representative_pile == [[12, 16]]
    assert after.full_representative_pile == [[4, 8]]
    assert (after.bands, after.queries) == (before.bands, before.queries)


def test_g4_a_group_ends_with_both_sided_pages_before_full_only_ones() -> None:
    bench = _freed()
    assert bench.band("full").holes == [14, 15, 12, 13]
    assert bench.band("full").free_ids == [*range(8, 16), 3, 4, 1, 2]
    assert bench.band("swa").holes == [2, 3, 4, 5]
    assert bench.sizes() == (28, 40, 48)


def test_g5_an_allocation_draws_the_hole_nearest_each_end() -> None:
    bench = _freed()
    assert bench.row(4) == (32, 33, 34, 35)
    assert (bench.bound("full")[8], bench.bound("swa")[8]) == (15, 2)
    assert (bench.band("full").holes, bench.band("swa").holes) == ([12, 13, 14], [3, 4, 5])
    assert bench.sizes()[0] == 24


def test_g6_a_background_flush_moves_pages_but_no_watermark() -> None:
    bench = _freed()
    bench.row(4)
    assert bench.flush("full") == 3
    assert bench.copies("full") == {(9, 14), (10, 13), (11, 12)}
    assert bench.flush("swa") == 3
    assert bench.copies("swa") == {(8, 3), (7, 4), (6, 5)}
    assert (bench.band("full").watermark, bench.band("swa").watermark) == (8, 9)
    assert (bench.band("full").holes, bench.band("swa").holes) == ([9, 10, 11], [8, 7, 6])


def test_g7_the_next_flush_gives_the_bytes_back() -> None:
    bench = _flushed()
    assert bench.seen.copies == []
    assert (bench.band("full").watermark, bench.band("swa").watermark) == (11, 6)
    assert (bench.band("full").holes, bench.band("swa").holes) == ([], [])


def test_g8_all_that_is_available_can_be_allocated() -> None:
    bench = _flushed()
    bench.row(24)
    assert bench.sizes() == (0, 0, 0)
    assert (bench.band("full").watermark, bench.band("swa").watermark) == (5, 12)


def test_g9_plans_and_an_ensure_that_moves_pages() -> None:
    bench = _flushed()
    row = bench.row(24)
    bench.segment(row, 0, 8, "free_swa_segment")
    evictable = {"evictable_full": 8, "evictable_swa": 8}
    assert bench.call("reclaim_plan", need=8, **evictable).value == (8, 0)
    assert bench.call("reclaim_plan", need=8, prefer_swa=True, **evictable).value == (4, 8)
    assert bench.call("reclaim_plan", need=4, need_swa=0).value == (0, 0)
    assert bench.call("ensure_capacity", need=4, need_swa=0).value == (1,)
    assert bench.band("swa").watermark == 10
    moved = {page: place for page, place in bench.bound("swa").items() if page >= 11}
    assert moved == {11: 8, 12: 9, 13: 7, 14: 6}
    assert bench.sizes()[1:] == (4, 8)
    strange = bench.call("translate", pool="full", slots=(-3, 0, 3, 4, 20, 31, 63, 64, 10**6))
    assert strange.value == (0, 0, 3, 0, 56, 51, 0, 0, 0)


@pytest.mark.parametrize("urgent", [False, True])
def test_a_flush_carries_the_kv_of_every_live_page(urgent: bool) -> None:
    bench, first, second = _filled()
    before = {name: bench.kv(name, second) for name in ("full", "swa")}
    bench.segment(first, 0, 16)
    assert bench.flush("full", urgent=urgent) == bench.flush("swa", urgent=urgent) == 3
    assert {name: bench.kv(name, second) for name in before} == before
    assert before["full"] == list(range(17, 29)), "the second row was written as 17 to 28"


def test_an_urgent_flush_packs_the_live_pages_and_gives_the_bytes_back() -> None:
    bench, first, _ = _filled()
    bench.segment(first, 0, 16)
    bench.flush("full", urgent=True)
    assert (bench.band("full").watermark, bench.band("full").holes) == (12, [])


def test_pages_that_a_forward_pass_may_read_wait_for_its_event() -> None:
    bench, first, second = _filled()
    bench.call("begin_forward", event=0, slots=(second[-1],))
    bench.segment(first, 0, 16)
    assert bench.flush("full") == 2, "page 11 is written, so the walk stops before it"
    assert bench.band("full").pending == [[9, 10]]
    bench.flush("full")
    assert bench.band("full").pending == [[9, 10]], "an event that has not fired protects its pages"
    bench.call("fire_event", event=0)
    bench.flush("full")
    assert bench.band("full").pending == []
    assert bench.band("full").watermark == 10


def test_a_closed_gate_keeps_every_page_in_its_place() -> None:
    bench, first, _ = _filled()
    bench.segment(first, 0, 16)
    bench.call("set_move_gate", pool="swa", gate=1, gate_state="closed")
    assert bench.flush("swa", urgent=True) == 0
    assert bench.band("swa").holes == [2, 3, 4, 5]
    bench.call("set_move_gate", pool="swa", gate=1, gate_state="open")
    assert bench.flush("swa", urgent=True) == 3


@pytest.mark.parametrize("method", ["free", "free_full", "free_segment", "free_full_segment"])
def test_an_eviction_sees_what_waits_in_each_pile(method: str) -> None:
    bench, first, second = _filled()
    bench.row(12)
    if "full" in method:
        bench.segment(first, 0, 16, "free_swa_segment")
    bench.call("free_group_begin")
    bench.free(first, method)
    evicted = bench.evict(16, TreeRow(second, 0, True))
    assert (evicted.value, evicted.evicted) == ((1,), ()), "the tree is left alone"
    assert bench.seen.group_open
    assert bench.call("alloc", need=16).value is not None


def test_an_eviction_takes_no_more_than_the_plan() -> None:
    bench, first, second = _filled()
    bench.row(12)
    outcome = bench.evict(8, TreeRow(first[:8], 0, True), TreeRow(second, 0, True))
    assert outcome.evicted == (Eviction(0, "swa"), Eviction(0, "full"))
    assert outcome.value == (1,)


def test_without_a_tree_there_is_no_verdict() -> None:
    bench, *_ = _filled()
    assert bench.call("evict_to_free_tokens", need=4).value is None


@pytest.mark.parametrize("method", ["free", "free_full", *SEGMENT_CALLS])
def test_a_deferred_free_owns_what_it_was_given(method: str) -> None:
    bench, row, _ = _filled()
    if "full" in method:
        bench.segment(row, 0, 16, "free_swa_segment")
    bench.call("free_group_begin")
    bench.free(row, method, overwrite=True)
    bench.call("free_group_end")
    band = "swa" if "swa" in method else "full"
    assert not {1, 2, 3, 4} & bench.bound(band).keys()
    assert {5, 6, 7} <= bench.bound(band).keys()


@pytest.mark.parametrize("level", ["off", "warn", "strict"])
def test_a_second_window_eviction_is_signalled_at_every_level(level: str) -> None:
    bench = UnifiedBench(mode=Mode(level=level))  # type: ignore[arg-type]
    row = bench.row(16)
    bench.segment(row, 0, 8, "free_swa_segment")
    before = bench.seen
    outcome = bench.free(row[:8], "free_swa_segment")
    assert outcome.hits == (Hit(SEGMENT_BOUND, 2),)
    if level == "off":
        assert outcome.error == ""
        assert bench.band("swa").holes == [2, 3, -1, -1], "at level off unbound pages are trusted"
    else:
        assert outcome.error == f"invariant:{SEGMENT_BOUND}"
        assert bench.seen == before


@pytest.mark.parametrize("grouped", [False, True])
def test_a_full_only_free_of_a_page_with_a_peer_is_signalled_in_the_call(grouped: bool) -> None:
    bench, row, _ = _filled()
    if grouped:
        bench.call("free_group_begin")
    outcome = bench.free(row[:8], "free_full_segment")
    assert outcome.hits == (Hit(SEGMENT_RELEASED, 2),)


def test_what_an_invariant_stops_at_a_group_end_is_lost() -> None:
    bench = UnifiedBench(mode=Mode(level="strict"))
    row = bench.row(16)
    bench.call("free_group_begin")
    bench.free(row[8:], "free")
    bench.segment(row, 0, 8)
    bench.segment(row, 0, 8, "free_swa_segment")
    outcome = bench.call("free_group_end")
    assert outcome.error == f"invariant:{SEGMENT_BOUND}"
    assert not bench.seen.group_open
    assert bench.band("full").holes == [14, 15], "set-shaped frees come before the check"


def test_clear_forgets_groups_reservations_and_events_but_not_content() -> None:
    bench, first, _ = _filled()
    fresh = UnifiedBench().seen
    bench.call("alloc_physical", pool="swa", need=4)
    bench.call("begin_forward", event=0, slots=(first[-1],))
    bench.call("free_group_begin")
    bench.free(first)
    written = bench.band("full").content
    bench.call("clear")
    cleared = bench.seen
    assert cleared.bands["full"].content == written
    for band in cleared.bands.values():
        band.content = [0] * len(band.content)
    assert cleared == fresh


def test_reserved_pages_are_bound_later_and_stay_where_they_are() -> None:
    bench, first, _ = _filled()
    bench.segment(first, 0, 8, "free_swa_segment")
    reserved = bench.call("alloc_physical", pool="swa", need=8).value
    assert reserved == tuple(range(8, 16)), "the holes 2 and 3"
    assert bench.band("swa").pending_load == 2
    bench.call("set_full_to_swa_mapping", slots=first[:8], peers=reserved)
    assert (bench.bound("swa")[1], bench.bound("swa")[2]) == (2, 3)
    assert bench.flush("swa", urgent=True) == 0
    bench.call("finish_load")
    assert bench.band("swa").pending_load == 0


def test_an_eager_pool_compacts_within_the_free_and_guards_it() -> None:
    bench = UnifiedBench(two_pools(lazy=False))
    first, second = bench.row(16), bench.row(12)
    before = bench.kv("full", second)
    bench.segment(first, 0, 16)
    assert (bench.band("full").watermark, bench.band("swa").watermark) == (12, 5)
    assert bench.kv("full", second) == before
    bench.call("set_move_gate", pool="full", gate=0, gate_state="open")
    state = bench.seen
    assert bench.free(second, "free_full").error == "AssertionError"
    assert bench.seen.bands == state.bands


def test_a_declaration_can_be_imported_again_but_not_contradicted() -> None:
    importlib.reload(invariants)
    with pytest.raises(ValueError, match="is declared already"):
        declare(SEGMENT_BOUND, Bucket.GUARD, "something else")
