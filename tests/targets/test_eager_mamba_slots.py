"""The allocator of states (contract_paged_swa §8)."""

from __future__ import annotations

from eager_calls import Bench
from family_geometries import mamba_slots


def test_states_come_from_the_head_and_go_to_the_tail_as_given() -> None:
    bench = Bench(mamba_slots())
    taken = bench.call("alloc", need=3)
    assert (taken.value, taken.dtype) == ((1, 2, 3), "int64")
    bench.free((3, 1), wide=False)
    assert bench.state.full.free == [4, 5, 6, 3, 1]
    assert bench.state.queries == {"available_size": 5, "size": 6}
    assert bench.call("alloc", need=6).value is None
    assert bench.call("alloc", need=0).value == ()
    assert bench.state.full.free == [4, 5, 6, 3, 1], "a refusal takes nothing"


def test_single_states_come_from_those_taken_out_in_advance_and_others_do_not() -> None:
    bench = Bench(mamba_slots())
    bench.call("alloc_group_begin", need=3)
    assert (bench.state.prepared, bench.state.full.free) == ([1, 2, 3], [4, 5, 6])
    assert bench.state.queries["available_size"] == 3
    assert bench.call("alloc", need=1).value == (1,)
    assert bench.call("alloc", need=2).value == (4, 5)
    assert bench.state.prepared == [2, 3]
    bench.call("alloc_group_end")
    assert (bench.state.prepared, bench.state.full.free) == (None, [6, 2, 3])


def test_when_those_taken_out_in_advance_are_used_up_singles_come_from_the_list() -> None:
    bench = Bench(mamba_slots())
    bench.call("alloc_group_begin", need=1)
    assert [bench.call("alloc", need=1).value for _ in range(2)] == [(1,), (2,)]
    assert bench.state.prepared == []
    bench.call("alloc_group_end")
    assert bench.state.full.free == [3, 4, 5, 6]


def test_a_group_that_does_not_fit_takes_nothing() -> None:
    bench = Bench(mamba_slots())
    for need in (7, 0):
        bench.call("alloc_group_begin", need=need)
        assert (bench.state.prepared, bench.state.full.free) == (None, [1, 2, 3, 4, 5, 6])
    assert bench.call("alloc", need=1).value == (1,)


def test_a_second_begin_drops_what_was_taken_out_before() -> None:
    bench = Bench(mamba_slots())
    bench.call("alloc_group_begin", need=2)
    bench.call("alloc_group_begin", need=1)
    bench.call("alloc_group_end")
    assert bench.state.full.free == [4, 5, 6, 3], "states 1 and 2 are in no list"


def test_clear_brings_everything_back() -> None:
    bench = Bench(mamba_slots())
    before = bench.state
    bench.call("alloc_group_begin", need=4)
    bench.call("alloc", need=1)
    bench.call("clear")
    assert bench.state == before


def test_what_was_freed_is_not_the_callers_any_more() -> None:
    bench = Bench(mamba_slots())
    bench.call("alloc", need=6)
    bench.free((2, 5), overwrite=True)
    assert bench.state.full.free == [2, 5]
    bench.free(())
    assert bench.state.full.free == [2, 5]
