"""The allocator with a compressed device pool below a hybrid one (contract_paged_swa §7.2)."""

from __future__ import annotations

import pytest
from eager_calls import Bench, pages
from family_geometries import hisparse_dsv4

from oracle.contract import PEER_MAPPED, PEER_RELEASED
from oracle.geometry import Mode
from oracle.observation import Hit, Outcome, PoolState, Snapshot


def device_of(state: Snapshot) -> PoolState:
    assert state.device is not None
    return state.device


def entries(state: Snapshot) -> dict[int, int]:
    """The mapped compressed slots and their places."""
    assert state.device_mapping is not None
    return {entry: place for entry, place in enumerate(state.device_mapping[:-1]) if place}


def full(*page_ids: int) -> tuple[int, ...]:
    return pages(*page_ids, page_size=8)


def buffer(bench: Bench, slots: tuple[int, ...], need: int) -> Outcome:
    return bench.call("alloc_device_buffer", slots=slots, need=need)


def test_four_full_slots_share_a_place() -> None:
    bench = Bench(hisparse_dsv4())
    state = bench.state
    assert state.queries == {
        "available_size": 32,
        "full_available_size": 32,
        "swa_available_size": 64,
        "size": 64,
        "size_full": 64,
        "size_swa": 64,
        "logical_available_size": 64,
        "device_available_size": 8,
    }
    assert (device_of(state).free, len(state.device_mapping or [])) == ([1, 2, 3, 4], 19)
    assert bench.extend((0, 7, -1)).value == tuple(range(8, 15))
    assert entries(bench.state) == {2: 2}
    assert bench.extend((7, 8, 14)).value == (15,)
    assert entries(bench.state) == {2: 2, 3: 3}
    assert device_of(bench.state).free == [2, 3, 4]


def test_an_extend_that_the_device_or_the_swa_side_cannot_hold_changes_nothing() -> None:
    bench = Bench(hisparse_dsv4(need_sort=True))
    bench.free(bench.fresh(8))
    before = bench.state
    assert bench.extend((0, 40, -1)).value is None
    assert bench.state == before


@pytest.mark.parametrize("debug", [False, True])
def test_a_row_does_not_go_on_in_the_padding_page_of_the_device(debug: bool) -> None:
    bench = Bench(hisparse_dsv4(), Mode(debug=debug))
    row = bench.fresh(3)
    assert bench.decode((4, row[-1])).value == (11,)
    before = bench.state
    assert bench.extend((4, 8, 11)).error == "AssertionError"
    assert bench.state == before
    assert bench.extend((4, 7, 11)).value == (12, 13, 14), "no place is needed yet"


def test_what_is_decoded_extended_by_a_tail_or_logical_has_no_place() -> None:
    bench = Bench(hisparse_dsv4())
    before = bench.state
    bench.tail(16, 8)
    bench.decode((17, 23))
    bench.call(
        "alloc_logical_only", prefix_lens=(0,), seq_lens=(8,), last_loc=(-1,), extend_num_tokens=8
    )
    after = bench.state
    assert (after.device, after.device_mapping) == (before.device, before.device_mapping)
    assert after.full.free == [5, 6, 7, 8]
    assert bench.call("alloc", need=8).error == "NotImplementedError"


def test_free_gives_back_every_side() -> None:
    bench = Bench(hisparse_dsv4())
    row = bench.fresh(16)
    bench.free(row[:8])
    state = bench.state
    assert (state.full.free[0], device_of(state).free) == (1, [1, 3, 4])
    assert state.swa is not None
    assert state.swa.free[0] == 1
    assert entries(state) == {4: 4, 5: 5}
    bench.free(row[8:], "free_segment", start_pos=8)
    assert entries(bench.state) == {}
    assert bench.free(row[8:], "free_segment", start_pos=3).error == "AssertionError"


def test_a_device_page_that_goes_back_leaves_no_entry_behind() -> None:
    bench = Bench(hisparse_dsv4())
    row = bench.fresh(16)
    bench.free(row[:4], "free_hisparse")
    assert entries(bench.state) == {4: 4, 5: 5}
    assert device_of(bench.state).free == [1, 3, 4]
    assert bench.state.full.free == [3, 4, 5, 6, 7, 8]


def test_a_group_waits_mapped_on_the_outside_and_swa_frees_do_not_wait() -> None:
    bench = Bench(hisparse_dsv4())
    row = bench.fresh(24)
    bench.call("free_group_begin")
    bench.free(row[:8], overwrite=True)
    bench.free(row[8:16], "free_swa_segment", start_pos=8)
    bench.free(row[8:16], "free_full", overwrite=True)
    state = bench.state
    assert (state.group, state.device_full_pile) == ([list(full(1))], [list(full(2))])
    assert (state.full.group, state.swa_set_pile, state.swa_page_pile) == (None, [], [])
    assert state.swa is not None
    assert state.mapping is not None
    assert (state.swa.free[0], state.mapping[8], state.mapping[16]) == (2, 8, 0)
    assert bench.call("free_group_begin").error == "AssertionError"
    assert not bench.call("free_group_end").error
    state = bench.state
    assert (state.group, state.device_full_pile) == (None, [])
    assert (state.full.free[:2], device_of(state).free[0]) == ([2, 1], 1)


def test_a_full_only_free_is_judged_when_its_group_ends() -> None:
    bench = Bench(hisparse_dsv4(), Mode(level="strict"))
    row = bench.fresh(8)
    bench.call("free_group_begin")
    assert bench.free(row, "free_full").hits == ()
    ended = bench.call("free_group_end")
    assert (ended.error, ended.hits) == (f"invariant:{PEER_RELEASED}", (Hit(PEER_RELEASED, 8),))
    assert bench.state.device_full_pile == []


def test_an_unmapped_representative_is_reported_by_the_logical_allocator() -> None:
    bench = Bench(hisparse_dsv4(), Mode(level="warn"))
    row = bench.fresh(8)
    bench.free(row, "free_swa_segment", start_pos=0)
    again = bench.free(row, "free_swa_segment", start_pos=0)
    assert (again.error, again.hits) == (f"invariant:{PEER_MAPPED}", (Hit(PEER_MAPPED, 1),))


def test_a_buffer_keeps_the_newest_place_in_front_of_its_last_page() -> None:
    bench = Bench(hisparse_dsv4(size=128, device_size=16, page_size=16))
    bench.fresh(56)
    assert entries(bench.state) == {entry: entry for entry in range(4, 18)}
    outcome = buffer(bench, tuple(range(4, 18)), 8)
    assert outcome.value == (4, 5, 6, 7, 17, 9, 10, 11)
    assert entries(bench.state) == {}
    assert device_of(bench.state).free == [3], "the newest place keeps its page"


def test_a_part_of_a_last_page_is_filled_up_with_the_rest_of_it() -> None:
    bench = Bench(hisparse_dsv4(size=128, device_size=16, page_size=16))
    bench.fresh(28)
    assert buffer(bench, tuple(range(4, 11)), 8).value == (4, 5, 6, 7, 10, 9, 8, 11)
    assert device_of(bench.state).free == [3, 4]
    assert buffer(bench, (), 8).value == tuple(range(12, 20))
    assert buffer(bench, (), 6).error == "AssertionError"
    assert buffer(bench, (), 4).error == "AssertionError"


def test_clear_returns_to_the_state_after_construction() -> None:
    bench = Bench(hisparse_dsv4(need_sort=True))
    before = bench.state
    row = bench.fresh(16)
    bench.call("free_group_begin")
    bench.free(row[:8])
    bench.free(row[8:], "free_full")
    bench.call("clear")
    assert bench.state == before
