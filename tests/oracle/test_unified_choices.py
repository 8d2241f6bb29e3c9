"""What the contract settles in few words, and where it leaves targets a choice (contract_unified §5, §6, §10, §12)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs
from unified_driver import UnifiedDriver, three_pools, two_pools

from oracle import legality
from oracle import operations as op
from oracle.call import Call, TreeRow
from oracle.caller import Caller
from oracle.contract import current_contract
from oracle.observation import Eviction
from oracle.planning import planner_of


def _reserved(driver: UnifiedDriver) -> list[int]:
    driver.alloc(4)
    return driver.gives("alloc_physical", pool="swa", need=12)


def test_a_cancelled_reservation_gives_its_pages_back_in_the_order_given():
    driver = UnifiedDriver(two_pools())
    peers = _reserved(driver)
    mixed = [*peers[8:], *peers[2:4], *peers[:2], *peers[4:8]]
    driver.does("cancel_physical_reservation", pool="swa", slots=mixed)
    assert driver.swa.holes == [peers[8] // 4, peers[0] // 4, peers[4] // 4]
    assert driver.swa.pending_load == 0


def test_a_reservation_whose_load_was_said_to_be_over_is_a_hazard_to_cancel():
    driver = UnifiedDriver(two_pools())
    peers = _reserved(driver)
    driver.does("finish_load")
    reason = "cancelled after its load was over"
    driver.is_undefined(reason, "cancel_physical_reservation", pool="swa", slots=peers)


def test_cancelling_after_the_load_is_a_breach_and_before_it_is_none():
    caller = Caller(two_pools(), current_contract("unified-swa"))
    caller.books.reservations.append((8, 9, 10, 11))
    for loading, breaches in ((True, ()), (False, (legality.UNBOUND_RESERVATION,))):
        caller.books.loading = loading
        assert next(caller.plan(op.CancelReserved())).breaches == breaches


@pytest.mark.parametrize("side", ["low", "high"])
def test_open_bytes_are_whole_pages_of_the_floating_band(side):
    driver = UnifiedDriver(three_pools(state_bytes=40, full_bytes=20))
    driver.alloc(8)
    driver.gives("alloc", pool="state", need=1)
    grid = driver.geometry.grids()["swa"]
    below = driver.state.watermark * 40
    above = (driver.full.watermark + 1) * 80
    assert 0 not in (below % grid.page_bytes, above % grid.page_bytes), "raw bytes say the same"
    low = driver.swa.start - -(-below // grid.page_bytes)
    high = above // grid.page_bytes - driver.swa.stop
    opened = driver.gives("make_room", pool="swa", side=side, need=1)
    assert opened == [(low if side == "low" else high) * grid.page_bytes]


def _with_a_hole_used_again(driver: UnifiedDriver) -> None:
    """A floating band that is marked for absorbing and has no hole."""
    row = driver.alloc(32)
    driver.does("free_swa_segment", slots=row[8:12], start_pos=8)
    driver.alloc(4)
    assert driver.swa.dirty
    assert not driver.swa.holes


def test_a_floating_band_that_made_room_is_not_marked_for_absorbing_any_more():
    driver = UnifiedDriver(three_pools())
    _with_a_hole_used_again(driver)
    wanted = driver.gives("make_room", pool="swa", side="low", need=1)[0] + 1
    driver.gives("make_room", pool="swa", side="low", need=wanted)
    assert driver.last_copies()
    assert not driver.swa.dirty


def test_a_background_flush_leaves_a_floating_band_without_holes_alone():
    driver = UnifiedDriver(three_pools())
    _with_a_hole_used_again(driver)
    assert driver.flush("swa") == 0
    assert driver.swa.dirty
    assert driver.flush("swa", urgent=True) == 0
    assert not driver.swa.dirty


@pytest.mark.parametrize(("choice", "fewer"), [("asked", True), ("whole", False)])
def test_states_are_given_up_as_far_as_they_are_needed_or_all_that_were_asked_for(choice, fewer):
    driver = UnifiedDriver(three_pools(), state_eviction=choice)
    states = driver.gives("alloc", pool="state", need=18)
    need = driver.sizes()[0] + 4
    outcome = driver.evict(need, states=tuple(reversed(states)))
    asked = -(-need * (16 + 8) // 96)
    assert outcome.value == (1,)
    assert 0 < len(outcome.evicted) <= asked
    assert (len(outcome.evicted) < asked) == fewer


def test_an_allocation_that_climbs_the_ladder_packs_even_where_that_is_not_enough():
    for choice, moves in (("planned", 0), ("ladder", 1)):
        driver = UnifiedDriver(two_pools(), capacity_gate=choice)
        row = driver.alloc(40)
        driver.does("free_segment", slots=row[36:], start_pos=36)
        driver.refuses("alloc", need=8)
        assert len(driver.copies("full")) == moves, choice


def test_an_eviction_may_return_no_verdict_and_then_packs_nothing():
    driver = UnifiedDriver(two_pools(), eviction="per-side", eviction_verdict="none")
    row = driver.alloc(40)
    outcome = driver.evict(8, TreeRow(tuple(row[:8]), 0, True))
    assert (outcome.value, outcome.evicted) == (None, (Eviction(0, "swa"), Eviction(0, "full")))
    assert driver.last_copies() == []


def test_the_ladder_of_three_pools_moves_pages_even_where_that_is_not_enough():
    for choice, strips in (("planned", False), ("ladder", True)):
        driver = UnifiedDriver(three_pools(), capacity_gate=choice)
        row = driver.alloc(80)
        driver.does("free_swa_segment", slots=row[:4], start_pos=0)
        assert driver.swa.dirty
        driver.refuses("alloc", need=8)
        assert driver.swa.dirty == (not strips), choice


@pytest.mark.parametrize(("evictable", "evicted"), [(8, 1), (0, 0)])
def test_an_eviction_from_three_pools_may_ask_each_side_what_it_lacks(evictable, evicted):
    choices = {"eviction": "per-side", "eviction_verdict": "none", "capacity_gate": "ladder"}
    driver = UnifiedDriver(three_pools(), **choices)
    row = driver.alloc(80)
    rows = [TreeRow(tuple(row[:evictable]), 0, True)] if evictable else []
    outcome = driver.evict(4, *rows, states=())
    assert outcome.value is None
    assert len(outcome.evicted) == 2 * evicted, "a row gives up its peers, then itself"


def test_an_eviction_per_side_evicts_nothing_while_the_joint_capacity_holds_the_demand():
    choices = {"eviction": "per-side", "eviction_verdict": "none", "capacity_gate": "ladder"}
    driver = UnifiedDriver(three_pools(size=16, size_swa=16), **choices)
    row = driver.alloc(16)
    assert driver.sizes()[0] >= 4 > driver.sizes()[1], "only the cap is reached"
    assert driver.evict(4, TreeRow(tuple(row[:8]), 0, True)).evicted == ()


def test_a_tail_may_ask_for_peers_of_all_its_new_pages():
    demand = {"prefix_lens": [0], "seq_lens": [44], "last_loc": [-1], "extend_num_tokens": 44}
    driver = UnifiedDriver(two_pools())
    assert len(driver.gives("alloc_extend_swa_tail", swa_tail_len=4, **demand)) == 44
    older = UnifiedDriver(two_pools(), tail_gate="all-pages")
    older.refuses("alloc_extend_swa_tail", swa_tail_len=4, **demand)


def test_a_plan_is_asked_to_prefer_a_side_only_where_it_can():
    contract = current_contract("unified-swa")
    older = structs.replace(contract, plan_prefers_swa=False)
    for choice, prefers in ((contract, True), (older, False)):
        assert _eviction_call(choice, prefer_swa=True).prefer_swa == prefers
        operation = op.Capacity(method="reclaim_plan", prefer_swa=True)
        planned = next(
            planner_of(op.Capacity, "unified-swa")(Caller(two_pools(), choice), operation)
        )
        assert planned.call.prefer_swa == prefers


def _eviction_call(contract: Any, **fields: Any) -> Call:
    caller = Caller(two_pools(), contract)
    operation = op.EvictForAlloc(amount=3, **fields)
    return next(planner_of(op.EvictForAlloc, "unified-swa")(caller, operation)).call


def test_an_eviction_is_never_asked_for_no_swa_slots():
    contract = current_contract("unified-swa")
    needs = {_eviction_call(contract, swa=swa).need_swa for swa in range(40)}
    assert needs == {None, *range(4, 36, 4)}


def test_only_an_eviction_that_takes_one_has_an_swa_demand_of_its_own():
    contract = current_contract("unified-swa")
    older = structs.replace(contract, eviction_takes_swa=False)
    for swa in range(1, 12):
        assert _eviction_call(older, swa=swa).need_swa is None
        call = _eviction_call(contract, swa=swa, method="check_decode_capacity")
        assert call.need_swa is None


def test_a_reservation_that_moves_with_the_floating_band_is_the_callers_hazard():
    driver = UnifiedDriver(three_pools())
    driver.alloc(4)
    driver.gives("alloc_physical", pool="swa", need=4)
    driver.does("finish_load")
    driver.is_undefined(
        "moves with the floating band", "make_room", pool="swa", side="low", need=1400
    )


def test_sides_that_differ_by_less_than_a_page_differ():
    for need, flushed in ((8, False), (5, True)):
        driver = UnifiedDriver(three_pools(size=200, size_swa=200))
        row = driver.alloc(driver.sizes()[0])
        driver.does("free_swa_segment", slots=row[4:8], start_pos=4)
        driver.does("free_full_segment", slots=row[4:8], start_pos=4)
        driver.alloc(4)
        assert driver.swa.dirty
        driver.gives("ensure_capacity", need=need, need_swa=8)
        assert driver.swa.dirty != flushed, need


def test_a_plan_for_a_band_that_counts_less_than_none_is_undefined():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(4)
    for _ in range(2):
        driver.does("free_swa_segment", slots=row, start_pos=0)
    driver.alloc(driver.sizes()[0])
    for _ in range(20):
        driver.does("free_swa_segment", slots=row, start_pos=0)
    assert driver.swa.live < 0
    driver.is_undefined("less than none", "reclaim_plan", need=60, evictable_swa=4)


def test_a_flush_of_page_minus_one_is_predicted_unless_the_watermark_has_a_hole_behind_it():
    for direction, open_question in (("down", True), ("up", False)):
        driver = UnifiedDriver(two_pools(full_direction=direction))
        first, last = driver.alloc(4), driver.alloc(4)
        for _ in range(2):
            driver.does("free_full", slots=first)
        assert -1 in driver.full.holes
        driver.flush("full")
        driver.does("free_full", slots=last)
        if open_question:
            driver.is_undefined("-1 before the hole at the watermark", "flush", pool="full")
        else:
            driver.flush("full")
            assert driver.full.holes == [-1]


def test_a_gate_for_a_band_that_counts_less_than_none_is_undefined_where_that_decides():
    for total_bytes, decides in ((45, True), (200, False)):
        driver = UnifiedDriver(
            two_pools(total_bytes=total_bytes, full_bytes=4, swa_bytes=1, page_size=5)
        )
        driver.does("free_full", slots=range(5))
        assert driver.full.live < 0
        if decides:
            driver.is_undefined("less than none", "alloc", need=5)
        else:
            assert driver.alloc(5) == [5, 6, 7, 8, 9]
