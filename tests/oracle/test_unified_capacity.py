"""Joint capacity, plans, ensure and the relief ladder, on two and on three pools (contract_unified §7, §8, §10)."""

from __future__ import annotations

import pytest
from unified_driver import UnifiedDriver, full_and_state, three_pools, two_pools


def test_an_empty_pool_is_planned_for_as_if_it_were_empty():
    driver = UnifiedDriver(two_pools())
    driver.alloc(40)
    assert driver.gives("can_reserve", need=40, empty_pool=True) == [1]
    assert driver.gives("can_reserve", need=44, empty_pool=True) == [0]
    assert driver.gives("reclaim_plan", need=40, empty_pool=True) == [0, 0]


def test_token_slack_refuses_what_fills_a_side_to_its_cap():
    driver = UnifiedDriver(two_pools(size=16, size_swa=16))
    assert driver.gives("can_reserve", need=12, token_slack=True) == [1]
    assert driver.gives("can_reserve", need=16, token_slack=True) == [0]
    assert driver.gives("can_reserve", need=16) == [1]


def test_plans_are_minimal_and_refused_when_everything_evictable_is_not_enough():
    driver = UnifiedDriver(two_pools())
    driver.alloc(40)
    enough = driver.gives("reclaim_plan", need=8, evictable_full=40, evictable_swa=40)
    assert enough == [12, 0]
    driver.refuses("reclaim_plan", need=8, evictable_full=4, evictable_swa=8)
    driver.refuses("reclaim_plan", need=-4)
    assert driver.gives("reclaim_plan", need=0) == [0, 0]


def test_an_ensure_that_cannot_help_moves_nothing():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(40)
    driver.does("free_swa_segment", slots=row[:4], start_pos=0)
    before = driver.snapshot
    assert driver.gives("ensure_capacity", need=8) == [0]
    assert driver.gives("ensure_capacity", need=-1) == [0]
    assert driver.snapshot == before


def test_an_allocation_moves_pages_only_when_it_must():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(40)
    driver.does("free_swa_segment", slots=row[:32], start_pos=0)
    driver.alloc(8)
    assert driver.copies("swa"), "eight holes on SWA became the bytes of FULL pages"
    assert driver.snapshot.byte_accounting == []


def test_eager_bands_are_never_packed_for_an_allocation():
    driver = UnifiedDriver(two_pools(lazy=False))
    row = driver.alloc(40)
    driver.does("free_swa_segment", slots=row[:32], start_pos=0)
    driver.alloc(8)
    assert not driver.snapshot.copies


def test_three_pools_answer_for_what_is_there_only():
    driver = UnifiedDriver(three_pools())
    assert driver.gives("can_reserve", need=80) == [1]
    assert driver.gives("can_reserve", need=84) == [0]
    assert driver.gives("can_reserve", need=4, evictable_full=4) == [0]
    assert driver.gives("can_reserve", need=4, empty_pool=True) == [0]


def test_three_pools_flush_the_ends_when_that_alone_is_enough():
    driver = UnifiedDriver(three_pools())
    states = driver.gives("alloc", pool="state", need=8)
    driver.does("free", pool="state", slots=states[:7])
    row = driver.alloc(driver.sizes()[0])
    driver.does("free_segment", slots=row, start_pos=0)
    need = driver.sizes()[0] + 8
    assert driver.gives("ensure_capacity", need=need) == [1]
    assert (driver.state.holes, driver.state.watermark) == ([], 2)
    assert driver.copies("state") == {(8, 1)}


def test_three_pools_make_the_floating_band_retreat_for_more_tokens():
    driver = UnifiedDriver(three_pools())
    driver.alloc(16)
    joint = driver.sizes()[0]
    assert driver.gives("ensure_capacity", need=joint + 4) == [1]
    assert driver.copies("swa")
    assert (driver.swa.stop - driver.swa.start, driver.snapshot.byte_accounting) == (4, [])
    driver.alloc(joint + 4)


def test_three_pools_give_up_when_the_bytes_cannot_be_there():
    driver = UnifiedDriver(three_pools())
    driver.alloc(40)
    before = driver.snapshot
    assert driver.gives("ensure_capacity", need=64) == [0]
    assert driver.snapshot == before
    driver.refuses("alloc", need=64)


def test_room_for_states_is_made_by_packing_full_and_moving_the_floating_band():
    driver = UnifiedDriver(three_pools())
    row = driver.alloc(64)
    driver.does("free_segment", slots=row[:48], start_pos=0)
    assert driver.flush("swa") > 0
    available = driver.state.available
    driver.does("prepare_mamba_allocation", need=available + 2)
    assert driver.full.holes == []
    assert driver.state.available >= available + 2


def test_the_pair_credits_the_holes_of_states_and_flushes_them_on_demand():
    driver = UnifiedDriver(full_and_state())
    states = driver.gives("alloc", pool="state", need=6)
    driver.does("free", pool="state", slots=states[:5])
    queries = driver.snapshot.queries
    assert queries["available_size"] > driver.full.available
    driver.alloc(queries["available_size"])
    assert driver.copies("state") == {(6, 1)}


@pytest.mark.parametrize(("count", "slots"), [(0, 0), (9, 0), (10, 1), (11, 7)])
def test_how_many_slots_must_go_for_states(count, slots):
    driver = UnifiedDriver(full_and_state())
    assert driver.state.schedulable == 9
    asked = driver.gives("full_tokens_before_mamba_recheck", need=count)
    assert asked == [slots]


def test_what_is_open_beside_the_floating_band_is_compared_in_bytes_of_the_whole_buffer():
    """Below the float lie 232 open bytes, less than two of its own pages, and above it, after the demand, 160."""
    sizes = {"total_bytes": 856, "full_bytes": 8, "swa_bytes": 24, "state_bytes": 16}
    driver = UnifiedDriver(three_pools(**sizes, page_size=5, size=20, size_swa=20))
    driver.alloc(5)
    row = driver.alloc(10)
    driver.does("free_swa_segment", slots=row, start_pos=0)
    assert driver.gives("ensure_capacity", need=10, need_swa=10) == [0]
    assert (driver.swa.start, driver.swa.stop) == (5, 6), "it made room on the low side (§1, §7)"
