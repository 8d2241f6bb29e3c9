"""The hybrid allocator's free groups, rule by rule (contract_paged_swa §6.4, §13.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eager_calls import Bench, hybrid, pages

if TYPE_CHECKING:
    from oracle.observation import PoolState


def swa(bench: Bench) -> PoolState:
    state = bench.state.swa
    assert state is not None
    return state


def four_frees_in_a_group(bench: Bench) -> None:
    bench.fresh(8, 8, 8, 8)
    bench.call("free_group_begin")
    bench.free(pages(3, 4), overwrite=True)
    bench.free(pages(1, 2), "free_segment", overwrite=True)
    bench.free(pages(5, 6), "free_swa", overwrite=True, wide=False)
    bench.free(pages(7, 8))


def test_in_a_group_the_mapping_is_cleared_and_the_release_waits() -> None:
    bench = Bench(hybrid())
    four_frees_in_a_group(bench)
    state = bench.state
    assert state.mapping == [0] * 36 + [-1]
    assert swa(bench).free == []
    assert swa(bench).group is None
    assert state.group == []
    # Each slot given brings in the peers of its whole page.
    assert state.swa_set_pile == [
        list(pages(3, 3, 3, 3, 4, 4, 4, 4)),
        list(pages(5, 5, 5, 5, 6, 6, 6, 6)),
        list(pages(7, 7, 7, 7, 8, 8, 8, 8)),
    ]
    assert state.swa_page_pile == [[1, 2]]
    assert state.full.group == [list(pages(3, 4)), list(pages(7, 8))]
    assert state.full.page_pile == [[1, 2]]


def test_the_two_sides_flush_their_piles_in_opposite_order() -> None:
    bench = Bench(hybrid())
    four_frees_in_a_group(bench)
    assert bench.call("free_group_end").error == ""
    assert bench.state.full.free == [1, 2, 3, 4, 7, 8]
    assert swa(bench).free == [3, 4, 5, 6, 7, 8, 1, 2]
    assert bench.state.group is None


def test_sorted_pools_stage_the_piles_in_flush_order() -> None:
    bench = Bench(hybrid(need_sort=True))
    four_frees_in_a_group(bench)
    bench.call("free_group_end")
    assert bench.state.full.staged == [[3, 4, 7, 8], [1, 2]]
    assert swa(bench).staged == [[1, 2], [3, 4, 5, 6, 7, 8]]


def test_peers_given_in_a_group_after_the_free_are_neither_lost_nor_freed() -> None:
    bench = Bench(hybrid())
    row = bench.fresh(4)
    bench.call("free_group_begin")
    bench.free(row, "free_swa")
    new = bench.call("alloc", need=4, pool="swa").value
    assert new == pages(2)
    bench.call("set_full_to_swa_mapping", slots=row, peers=new)
    bench.call("free_group_end")
    assert swa(bench).free == [1, 3, 4, 5, 6, 7, 8]
    assert bench.state.mapping[4:8] == list(new)


def test_a_repeated_free_swa_in_a_group_leaves_zeros_in_the_pile_and_frees_once() -> None:
    bench = Bench(hybrid())
    bench.fresh(2)
    bench.call("free_group_begin")
    bench.free((4, 5), "free_swa")
    bench.free((5,), "free_swa")
    assert bench.state.swa_set_pile == [[4, 5, 0, 0, 4, 5, 0, 0], [0, 0, 0, 0]]
    bench.call("free_group_end")
    assert swa(bench).free == [1, 2, 3, 4, 5, 6, 7, 8]


def test_page_size_one_defers_slots_in_the_page_pile() -> None:
    bench = Bench(hybrid(8, 8, 1))
    bench.call("alloc", need=4)
    bench.call("free_group_begin")
    bench.free((3, 1))
    assert bench.state.swa_page_pile == [[3, 1]]
    assert bench.state.full.group == [[3, 1]]
    bench.call("free_group_end")
    assert swa(bench).free == [5, 6, 7, 8, 3, 1]
    assert bench.state.full.free == [5, 6, 7, 8, 3, 1]


def test_a_nested_begin_is_an_error_that_keeps_every_pile() -> None:
    bench = Bench(hybrid())
    four_frees_in_a_group(bench)
    before = bench.state
    assert bench.call("free_group_begin").error == "AssertionError"
    assert bench.state == before


def test_a_direct_free_on_the_swa_side_acts_at_once_and_on_the_full_side_waits() -> None:
    bench = Bench(hybrid())
    bench.fresh(8)
    bench.call("free_group_begin")
    bench.free(pages(1), pool="swa")
    bench.free(pages(1), "free_segment", pool="full")
    assert swa(bench).free[0] == 1
    assert bench.state.full.page_pile == [[1]]


def overfull_at_the_group_end(*, set_pile: bool) -> Bench:
    bench = Bench(hybrid(32, 8))
    bench.fresh(8)
    bench.free(pages(1, 2), "free_swa")
    bench.call("free_group_begin")
    bench.free(pages(1), "free_swa_segment")
    if set_pile:
        bench.free(pages(2), "free_swa")
    bench.free(pages(1), "free_full")
    return bench


def test_an_overfull_swa_side_stops_the_group_end_before_full_when_there_is_a_set_pile() -> None:
    bench = overfull_at_the_group_end(set_pile=True)
    assert bench.call("free_group_end").error == "AssertionError"
    assert bench.state.group is None
    assert bench.state.full.group == [list(pages(1))]
    assert swa(bench).free == [0, 1, 2]


def test_an_overfull_swa_side_shows_after_full_was_flushed_when_there_is_none() -> None:
    bench = overfull_at_the_group_end(set_pile=False)
    assert bench.call("free_group_end").error == "AssertionError"
    assert bench.state.full.group is None
    assert bench.state.full.free[0] == 1


def test_a_half_open_group_refuses_a_begin_and_an_end_goes_on() -> None:
    bench = overfull_at_the_group_end(set_pile=True)
    bench.call("free_group_end")
    assert bench.call("free_group_begin").error == "AssertionError"
    assert bench.state.group == []
    assert bench.state.full.group == [list(pages(1))]
    assert bench.call("free_group_end").error == "AssertionError"
    assert bench.state.full.group is None
    assert bench.state.full.free[0] == 1


def test_a_group_without_frees_and_an_end_without_a_group_change_nothing() -> None:
    bench = Bench(hybrid())
    bench.fresh(8)
    before = bench.state
    bench.call("free_group_begin")
    bench.call("free_group_end")
    assert bench.state == before
    bench.call("free_group_end")
    assert bench.state == before
