"""The hybrid allocator with a ring for each request (contract_paged_swa §6, ring mode)."""

from __future__ import annotations

import pytest
from eager_calls import Bench, pages
from family_geometries import swa_ring

from oracle.geometry import Mode


def test_the_swa_side_is_counted_in_free_request_slots() -> None:
    bench = Bench(swa_ring())
    queries = bench.state.queries
    assert queries == {
        "available_size": 32,
        "full_available_size": 32,
        "swa_available_size": 24,
        "size": 24,
        "size_full": 32,
        "size_swa": 24,
        "free_request_slots": 3,
    }, "a ring of 6 slots costs two pages of 4"
    taken = bench.call("take_request_slots", need=2)
    assert (taken.value, taken.error) == (None, "")
    queries = bench.state.queries
    assert (queries["swa_available_size"], queries["size_swa"]) == (8, 24)
    assert (queries["available_size"], queries["free_request_slots"]) == (32, 1)
    bench.call("return_request_slots", need=1)
    assert bench.state.queries["swa_available_size"] == 16


def test_the_pool_below_has_the_size_that_was_passed() -> None:
    swa = Bench(swa_ring()).state.swa
    assert swa is not None
    assert (swa.size, swa.free) == (16, [1, 2, 3, 4])


def test_extend_tail_and_decode_take_from_the_full_side_alone() -> None:
    bench = Bench(swa_ring())
    before = bench.state
    assert bench.extend((0, 6, -1)).value == tuple(range(4, 10))
    assert bench.tail(4, 2).value == pages(3)
    assert bench.decode((7, 9), (5, 15)).value == (10, 16)
    state = bench.state
    assert (state.swa, state.mapping) == (before.swa, before.mapping)
    assert state.full.free == [5, 6, 7, 8]
    assert bench.extend((0, 20, -1)).value is None
    assert bench.state == state


@pytest.mark.parametrize(("length", "tail"), [(4, 5), (4, -1)])
def test_a_tail_is_still_part_of_its_extension(length: int, tail: int) -> None:
    bench = Bench(swa_ring())
    before = bench.state
    assert bench.tail(length, tail).error == "AssertionError"
    assert bench.state == before


def test_the_swa_side_limits_no_extension() -> None:
    bench = Bench(swa_ring(request_slots=1))
    bench.call("take_request_slots", need=1)
    assert bench.state.queries["swa_available_size"] == 0
    assert all(bench.state.new_pages[:12])
    assert bench.fresh(32) == tuple(range(4, 36))


def test_swa_frees_do_nothing_at_all() -> None:
    bench = Bench(swa_ring(), Mode(level="strict"))
    row = bench.fresh(8)
    before = bench.state
    for outcome in (
        bench.free(row, "free_swa"),
        bench.free(row, "free_swa_segment", start_pos=0),
        bench.free(row[1:], "free_swa_segment", start_pos=1),
    ):
        assert (outcome.error, outcome.hits) == ("", ())
    assert bench.state == before


def test_two_sided_frees_give_back_the_full_side() -> None:
    bench = Bench(swa_ring(), Mode(level="strict"))
    row = bench.fresh(16)
    assert not bench.free(row[8:12]).error
    assert not bench.free(row[12:], "free_segment", start_pos=12).error
    assert not bench.free(row[:4], "free_full").error
    assert not bench.free(row[4:8], "free_full_segment", start_pos=4).error
    assert bench.state.full.free == [2, 1, 4, 3, 5, 6, 7, 8]
    unaligned = bench.free(row[:3], "free_segment", start_pos=1)
    assert unaligned.error == "AssertionError", "raised by the FULL side"


def test_a_group_defers_on_the_full_side_and_holds_no_swa_pile() -> None:
    bench = Bench(swa_ring())
    row = bench.fresh(8)
    bench.call("free_group_begin")
    bench.free(row[:4])
    bench.free(row[4:], "free_segment", start_pos=4)
    state = bench.state
    assert (state.group, state.swa_set_pile, state.swa_page_pile) == ([], [], [])
    assert (state.full.group, state.full.page_pile) == ([list(pages(1))], [[2]])
    assert not bench.call("free_group_end").error
    assert bench.state.full.free == [2, 1, 3, 4, 5, 6, 7, 8]


def test_nothing_is_mapped() -> None:
    bench = Bench(swa_ring())
    row = bench.fresh(4)
    assert bench.free((*row, -1), "translate_loc_from_full_to_swa").value == (0, 0, 0, 0, -1)


def test_clear_leaves_the_request_slots_to_their_owner() -> None:
    bench = Bench(swa_ring(need_sort=True))
    bench.call("take_request_slots", need=1)
    row = bench.fresh(8)
    bench.call("free_group_begin")
    bench.free(row)
    bench.call("clear")
    state = bench.state
    assert (state.full.free, state.group) == (list(range(1, 9)), None)
    assert state.queries["free_request_slots"] == 2


def test_a_direct_call_on_the_full_pool_merges() -> None:
    bench = Bench(swa_ring(need_sort=True))
    row = bench.fresh(8)
    bench.free(row, "free_segment", pool="full", start_pos=0)
    assert bench.state.full.staged == [[1, 2]]
    bench.call("merge_and_sort_free", pool="full")
    assert bench.state.full.free == list(range(1, 9))
