"""The allocator with a device below a larger logical pool (contract_paged_swa §7.1)."""

from __future__ import annotations

import pytest
from eager_calls import Bench, pages
from family_geometries import hisparse

from oracle.geometry import Mode
from oracle.observation import Outcome, PoolState, Snapshot


def device_of(state: Snapshot) -> PoolState:
    assert state.device is not None
    return state.device


def entries(state: Snapshot) -> dict[int, int]:
    """The mapped logical slots and their places."""
    assert state.device_mapping is not None
    return {slot: place for slot, place in enumerate(state.device_mapping[:-1]) if place}


def logical_only(bench: Bench, prefix: int, length: int, last: int) -> Outcome:
    return bench.call(
        "alloc_logical_only",
        prefix_lens=(prefix,),
        seq_lens=(length,),
        last_loc=(last,),
        extend_num_tokens=length - prefix,
    )


def buffer(bench: Bench, slots: tuple[int, ...], need: int) -> Outcome:
    return bench.call("alloc_device_buffer", slots=slots, need=need)


def test_the_logical_pool_is_the_devices_times_the_ratio() -> None:
    state = Bench(hisparse(ratio=3)).state
    assert (state.full.size, device_of(state).size) == (48, 16)
    assert state.device_mapping is not None
    assert (len(state.device_mapping), state.device_mapping[-1]) == (53, -1)
    assert state.queries == {
        "available_size": 16,
        "size": 48,
        "size_full": 48,
        "logical_available_size": 48,
        "device_available_size": 16,
    }
    assert (state.group, state.swa, state.mapping) == (None, None, None)


def test_an_extend_takes_from_both_pools_and_maps() -> None:
    bench = Bench(hisparse())
    logical_only(bench, 0, 4, -1)
    assert bench.extend((0, 6, -1)).value == tuple(range(8, 14))
    assert entries(bench.state) == {slot: slot - 4 for slot in range(8, 14)}
    assert bench.extend((6, 8, 13)).value == (14, 15)
    assert entries(bench.state)[15] == 11


def test_an_extend_that_the_device_cannot_hold_changes_nothing() -> None:
    bench = Bench(hisparse(need_sort=True))
    bench.free(bench.fresh(4))
    before = bench.state
    assert bench.extend((0, 20, -1)).value is None
    assert bench.state == before


@pytest.mark.parametrize("debug", [False, True])
def test_a_row_does_not_go_on_in_the_padding_page_of_the_device(debug: bool) -> None:
    bench = Bench(hisparse(), Mode(debug=debug))
    logical_only(bench, 0, 6, -1)
    before = bench.state
    assert bench.extend((6, 8, 9)).error == "AssertionError"
    assert bench.state == before
    logical_only(bench, 6, 8, 9)
    assert bench.extend((8, 9, 11)).value == (12,), "at a page boundary no place is needed"


def test_decode_and_logical_only_leave_the_device_alone() -> None:
    bench = Bench(hisparse())
    row = bench.fresh(4)
    before = bench.state
    assert logical_only(bench, 4, 6, row[-1]).value == (8, 9)
    assert bench.decode((7, 9)).value == (10,)
    after = bench.state
    assert (after.device, after.device_mapping) == (before.device, before.device_mapping)


def test_alloc_is_for_single_slots_and_gives_logical_slots_back_sorted() -> None:
    assert Bench(hisparse()).call("alloc", need=4).error == "NotImplementedError"
    bench = Bench(hisparse(size=4, page_size=1))
    assert bench.call("alloc", need=2).value == (1, 2)
    assert entries(bench.state) == {1: 1, 2: 2}
    bench.free((2,))
    assert bench.state.full.free == [2, 3, 4, 5, 6, 7, 8]
    logical_only(bench, 0, 1, -1)
    bench.free((2,))
    assert bench.call("alloc", need=4).value is None
    assert bench.state.full.free == [2, 3, 4, 5, 6, 7, 8]
    assert entries(bench.state) == {1: 1}


def test_logical_slots_that_come_back_are_staged_where_the_list_is_sorted() -> None:
    bench = Bench(hisparse(size=2, page_size=1, ratio=4, need_sort=True))
    assert bench.call("alloc", need=3).value is None
    assert (bench.state.full.free, bench.state.full.staged) == ([4, 5, 6, 7, 8], [[1, 2, 3]])


def test_free_gives_back_both_pools_at_once_also_in_a_group() -> None:
    bench = Bench(hisparse())
    row = bench.fresh(12)
    bench.call("free_group_begin")
    assert not bench.call("free_group_begin").error, "nesting is allowed"
    bench.free(row[4:8])
    assert not bench.free(row[8:], "free_segment", start_pos=8).error
    assert not bench.free(row[:4], "free_full_segment", start_pos=0).error
    state = bench.state
    assert (state.full.free[:3], device_of(state).free) == ([1, 3, 2], [1, 3, 2, 4])
    assert entries(state) == {}
    assert state.group is None
    assert not bench.call("free_group_end").error


def test_segments_start_on_page_boundaries() -> None:
    bench = Bench(hisparse())
    row = bench.fresh(8)
    before = bench.state
    for method in ("free_segment", "free_full_segment"):
        assert bench.free(row[1:], method, start_pos=1).error == "AssertionError"
    assert bench.state == before


def test_a_device_page_that_goes_back_leaves_no_entry_behind() -> None:
    bench = Bench(hisparse())
    row = bench.fresh(8)
    bench.free(row[1:2], "free_hisparse")
    state = bench.state
    assert entries(state) == {slot: slot for slot in row[4:]}
    assert (device_of(state).free, state.full.free) == ([1, 3, 4], [3, 4, 5, 6, 7, 8])
    bench.free((*row[:4], -1), "free_hisparse")
    assert bench.state == state, "what has no place has none to give"


def test_an_over_full_pool_is_told_after_the_work() -> None:
    bench = Bench(hisparse())
    assert bench.free(pages(8)).error == "AssertionError"
    assert bench.state.full.free[0] == 8


def test_places_in_the_padding_page_are_not_freed() -> None:
    bench = Bench(hisparse())
    bench.fresh(8)
    bench.free((0, 3, 9, 8), "free_hisparse_indices")
    assert device_of(bench.state).free == [2, 3, 4]


def test_a_buffer_gets_the_places_and_the_slots_lose_them() -> None:
    bench = Bench(hisparse())
    row = bench.fresh(12)
    outcome = buffer(bench, row, 8)
    assert (outcome.value, outcome.dtype) == (pages(1, 2), "int64")
    assert entries(bench.state) == {}
    assert device_of(bench.state).free == [3, 4]


def test_a_buffer_is_filled_up_from_its_last_page_and_from_the_device() -> None:
    bench = Bench(hisparse())
    row = bench.fresh(6)
    assert buffer(bench, row, 12).value == pages(1, 2, 3)
    assert device_of(bench.state).free == [4]
    assert buffer(bench, (), 4).value == pages(4)


def test_a_buffer_has_whole_pages_and_a_short_device_is_told_after_the_slots_lost_their_places() -> (
    None
):
    bench = Bench(hisparse())
    row = bench.fresh(12)
    before = bench.state
    assert buffer(bench, row, 6).error == "AssertionError"
    assert bench.state == before
    assert buffer(bench, row, 20).error == "AssertionError"
    assert entries(bench.state) == {}
    assert device_of(bench.state) == device_of(before)


def test_what_a_request_slot_reserves() -> None:
    bench = Bench(hisparse())

    def reserve(prefill: int, *, held: bool) -> tuple[int, ...] | None:
        return bench.call("request_slot_reserve", need=prefill, slot_held=held).value

    assert reserve(3, held=False) == (0,)
    assert not bench.call("configure_spec_scratch", need=8, device_buffer=16).error
    assert (reserve(5, held=False), reserve(5, held=True)) == ((16,), (8,))
    assert reserve(40, held=False) == (8,)
    for cap, device_buffer in ((6, 16), (8, 3), (-4, 0), (0, -4)):
        outcome = bench.call("configure_spec_scratch", need=cap, device_buffer=device_buffer)
        assert outcome.error == "ValueError"
    assert reserve(5, held=False) == (16,), "a refusal changes nothing"
    bench.call("configure_spec_scratch", need=0, device_buffer=16)
    assert reserve(0, held=False) == (0,), "without a cap the buffer does not count"


def test_clear_returns_to_the_state_after_construction() -> None:
    bench = Bench(hisparse(need_sort=True))
    before = bench.state
    bench.free(bench.fresh(12)[:4])
    bench.call("clear")
    assert bench.state == before
