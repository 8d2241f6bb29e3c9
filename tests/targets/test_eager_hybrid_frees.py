"""The hybrid allocator's frees outside a group, rule by rule (contract_paged_swa §6.3, §6.6, §12, §13.3)."""

from __future__ import annotations

from eager_calls import Bench, hybrid, pages

from oracle.geometry import Mode
from oracle.observation import Hit

DEBUG = Mode(debug=True)


def test_free_releases_both_sides_and_unmaps_whole_pages() -> None:
    bench = Bench(hybrid())
    bench.fresh(12)
    bench.free((5, 12), wide=False)
    state = bench.state
    assert state.swa is not None
    assert state.full.free == [1, 3, 4, 5, 6, 7, 8]
    assert state.swa.free == [1, 3, 4, 5, 6, 7, 8]
    assert state.mapping[4:16] == [0, 0, 0, 0, 8, 9, 10, 11, 0, 0, 0, 0]


def test_free_swa_of_one_slot_releases_its_page_and_is_idempotent() -> None:
    bench = Bench(hybrid())
    bench.fresh(8)
    bench.free((5,), "free_swa")
    once = bench.state
    assert once.swa is not None
    assert once.swa.free[0] == 1
    assert bench.free(pages(1), "free_swa").hits == ()
    assert bench.state == once


def test_segments_release_peers_in_row_order() -> None:
    bench = Bench(hybrid())
    bench.fresh(12)
    bench.free(pages(3, 1), "free_segment")
    bench.free((8, 9, 10), "free_swa_segment")
    state = bench.state
    assert state.swa is not None
    assert state.full.free == [3, 1, 4, 5, 6, 7, 8]
    assert state.swa.free == [2, 3, 1, 4, 5, 6, 7, 8]
    assert state.mapping[4:16] == [0] * 12


def test_full_frees_leave_the_mapping_and_tell_of_live_peers() -> None:
    bench = Bench(hybrid())
    bench.fresh(8)
    assert bench.free((4, 5), "free_full").hits == (Hit("swa.peer_released", 2),)
    outcome = bench.free((*pages(2), 12), "free_full_segment", wide=False)
    assert outcome.hits == (Hit("swa.peer_released", 4),)
    assert bench.state.mapping[4:12] == [4, 5, 6, 7, 8, 9, 10, 11]
    assert bench.state.full.free[:3] == [2, 3, 1]


def test_segment_lists_evaluate_each_segment() -> None:
    bench = Bench(hybrid())
    bench.fresh(8, 16)
    bench.free(pages(1, 2), "free_swa")
    outcome = bench.segments("free_segments", (pages(1), 0), (pages(2), 4))
    assert outcome.hits == (Hit("swa.peer_mapped", 1), Hit("swa.peer_mapped", 1))


def test_an_unmapped_representative_at_off_puts_the_padding_page_in_the_list() -> None:
    bench = Bench(hybrid())
    bench.fresh(6, 3)
    segment = (4, 5, 6, 7, 8, 9)
    bench.free(segment, "free_swa_segment")
    bench.fresh(12)
    outcome = bench.free(segment, "free_swa_segment")
    assert outcome.error == ""
    assert outcome.hits == (Hit("swa.peer_mapped", 2),)
    state = bench.state
    assert state.swa is not None
    assert state.swa.free == [0, 0, 5, 6, 7, 8]


def test_a_repeated_free_swa_at_page_size_one_at_off_trips_the_capacity_check() -> None:
    bench = Bench(hybrid(8, 8, 1))
    bench.call("alloc", need=4)
    bench.free((2, 3), "free_swa")
    assert bench.free((1, 2, 3, 4)).error == "AssertionError"
    state = bench.state
    assert state.swa is not None
    assert state.swa.free == [5, 6, 7, 8, 2, 3, 1, 0, 0, 4]
    assert state.full.free == [5, 6, 7, 8]


def test_the_capacity_check_fails_again_on_a_free_that_releases_nothing() -> None:
    bench = Bench(hybrid())
    bench.fresh(4)
    bench.free(pages(1), "free_swa")
    assert bench.free(pages(1), "free_swa_segment").error == "AssertionError"
    assert bench.free(pages(1), "free_swa").error == "AssertionError"
    assert bench.call("free_group_end").error == "AssertionError"


def test_unaligned_starts_change_nothing_and_empty_ones_pass() -> None:
    bench = Bench(hybrid())
    bench.fresh(8)
    before = bench.state
    for method in ("free_segment", "free_swa_segment", "free_full_segment"):
        assert bench.free(pages(1), method, start_pos=3).error == "AssertionError"
        assert bench.free((), method, start_pos=3).error == ""
    assert bench.state == before


def test_debug_mode_refuses_pages_that_the_mapping_does_not_match() -> None:
    bench = Bench(hybrid(), DEBUG)
    assert bench.tail(8, 6).value is not None
    bench.fresh(4)
    bench.free(pages(3), "free_swa")
    before = bench.state
    for segment in (pages(1), pages(2), pages(3)):
        assert bench.free(segment, "free_segment").error == "AssertionError"
    assert bench.state == before


def test_debug_mode_checks_the_full_half_of_a_segment_before_the_swa_half_is_done() -> None:
    bench = Bench(hybrid(), DEBUG)
    bench.fresh(12)
    before = bench.state
    assert bench.free((4, 5, 8, 9), "free_segment").error == "AssertionError"
    assert bench.state == before


def test_a_duplicate_page_on_the_swa_side_stops_before_the_full_side() -> None:
    bench = Bench(hybrid(), DEBUG)
    bench.fresh(8)
    bench.free(pages(1), pool="swa")
    assert bench.free(pages(1)).error == "AssertionError"
    state = bench.state
    assert state.swa is not None
    assert state.swa.free == [1, 1, 3, 4, 5, 6, 7, 8]
    assert state.full.free == [3, 4, 5, 6, 7, 8]
