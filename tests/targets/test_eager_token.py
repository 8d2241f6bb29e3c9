"""The token allocator, rule by rule (contract_paged_swa §3, §4)."""

from __future__ import annotations

from eager_calls import Bench, token


def test_slots_leave_from_the_head_and_come_back_at_the_tail_in_the_order_given() -> None:
    bench = Bench(token(6))
    assert bench.call("alloc", need=4).value == (1, 2, 3, 4)
    bench.free((3, 1), wide=False)
    assert bench.state.full.free == [5, 6, 3, 1]


def test_a_request_for_too_many_slots_is_refused_and_takes_nothing() -> None:
    bench = Bench(token(6))
    outcome = bench.call("alloc", need=7)
    assert outcome.value is None
    assert outcome.error == ""
    assert bench.state.full.free == [1, 2, 3, 4, 5, 6]


def test_nothing_is_asked_and_nothing_is_handed_out() -> None:
    outcome = Bench(token(6)).call("alloc", need=0)
    assert outcome.value == ()
    assert outcome.dtype == "int64"


def test_sorted_pools_stage_frees_until_the_free_list_is_short() -> None:
    bench = Bench(token(6, need_sort=True))
    bench.call("alloc", need=5)
    bench.free((4, 2))
    bench.free((2,))
    assert bench.state.full.free == [6]
    assert bench.state.full.staged == [[4, 2, 2]]
    assert bench.state.full.all_free == [6, 4, 2, 2]
    assert bench.call("alloc", need=1).value == (6,)
    assert bench.state.full.staged == [[4, 2, 2]]
    assert bench.call("alloc", need=2).value == (2, 2)
    assert bench.state.full.staged == []


def test_a_refused_request_may_still_have_merged() -> None:
    bench = Bench(token(4, need_sort=True))
    bench.call("alloc", need=4)
    bench.free((3, 1))
    assert bench.call("alloc", need=3).value is None
    assert bench.state.full.free == [1, 3]


def test_page_ids_are_slots() -> None:
    bench = Bench(token(4))
    bench.call("alloc", need=4)
    bench.free((2,), "free_page_ids")
    assert bench.state.full.free == [2]


def test_a_group_defers_and_keeps_its_own_copy() -> None:
    bench = Bench(token(4))
    bench.call("alloc", need=4)
    bench.call("free_group_begin")
    bench.free((2, 1), overwrite=True, wide=False)
    bench.free((4,))
    assert bench.state.full.group == [[2, 1], [4]]
    assert bench.state.full.available == 0
    bench.call("free_group_end")
    assert bench.state.full.free == [2, 1, 4]
    assert bench.state.full.group is None


def test_a_second_group_begin_is_an_error_that_keeps_the_pile() -> None:
    bench = Bench(token(4))
    bench.call("alloc", need=2)
    bench.call("free_group_begin")
    bench.free((1,))
    assert bench.call("free_group_begin").error == "AssertionError"
    assert bench.state.full.group == [[1]]


def test_a_group_end_without_a_group_frees_nothing() -> None:
    bench = Bench(token(4))
    before = bench.state
    assert bench.call("free_group_end").error == ""
    assert bench.state == before


def test_clear_in_a_group_drops_the_pile_and_closes_the_group() -> None:
    bench = Bench(token(4))
    before = bench.state
    bench.call("alloc", need=2)
    bench.call("free_group_begin")
    bench.free((1,))
    bench.call("clear")
    assert bench.state == before
    bench.call("free_group_end")
    assert bench.state == before


def test_rows_are_not_extended_or_decoded() -> None:
    bench = Bench(token(4))
    assert bench.extend((0, 2, -1)).error == "NotImplementedError"
    assert bench.decode((1, -1)).error == "NotImplementedError"


def test_resize_takes_the_new_size_and_closes_an_open_group() -> None:
    bench = Bench(token(4))
    bench.call("free_group_begin")
    bench.call("resize", size=6)
    assert bench.state.full.free == [1, 2, 3, 4, 5, 6]
    assert bench.state.full.size == 6
    assert bench.state.full.group is None


def test_empty_frees_change_nothing() -> None:
    bench = Bench(token(4, need_sort=True))
    bench.call("free_group_begin")
    before = bench.state
    for method in ("free", "free_full", "free_segment", "free_full_segment", "free_page_ids"):
        assert bench.free((), method).error == ""
    assert bench.state == before
