"""The laws about capacity fire on a promise that is not kept, and stay silent on what the contract allows."""

from __future__ import annotations

from typing import Any

import pytest
from unified_driver import full_and_state, three_pools, two_pools
from unified_house import UnifiedHouse, broken

from oracle import operations as op
from oracle.call import Call, Tree
from oracle.observation import Eviction, Outcome
from oracle.unified_observation import PageCopy

ROW = op.Alloc(amount=3, unit="pages")
TWO_PAGES = Call(method="alloc", need=8)
YES, NO = Outcome(value=(1,)), Outcome(value=(0,))


@pytest.mark.parametrize("geometry", [two_pools(), three_pools(), full_and_state()])
def test_what_is_available_is_not_refused(geometry: Any) -> None:
    house = UnifiedHouse(geometry, ROW)
    broken(house.judge_call(TWO_PAGES, Outcome(), house.snapshot), "promise-kept", "")
    grown = Call(method="alloc_extend", prefix_lens=(0,), seq_lens=(7,), last_loc=(-1,))
    broken(house.judge_call(grown, Outcome(), house.snapshot), "promise-kept", "")
    tokens = Call(method="alloc_decode", seq_lens=(17,), last_loc=(19,))
    broken(house.judge_call(tokens, Outcome(), house.snapshot), "promise-kept", "")


def test_available_states_are_not_refused() -> None:
    house = UnifiedHouse(full_and_state(), ROW)
    call = Call(method="alloc", pool="state", need=2)
    broken(house.judge_call(call, Outcome(), house.snapshot), "promise-kept", "state")


def test_more_than_there_is_may_be_refused() -> None:
    house = UnifiedHouse(two_pools(), ROW)
    assert house.judge_call(Call(method="alloc", need=400), Outcome(), house.snapshot) is None
    assert house.judge_call(TWO_PAGES, Outcome(), house.snapshot, "a-breach") is None


def test_no_page_moves_for_what_is_available() -> None:
    house = UnifiedHouse(two_pools(), ROW)
    after = house.snapshot
    after.copies = [PageCopy("full", 12, 15)]
    answer = Outcome(value=(20, 21, 22, 23, 24, 25, 26, 27))
    broken(house.judge_call(TWO_PAGES, answer, after), "promise-kept", "")


@pytest.mark.parametrize("method", ["ensure_capacity", "evict_to_free_tokens"])
def test_what_a_call_said_yes_to_is_available(method: Any) -> None:
    house = UnifiedHouse(two_pools(), ROW)
    left = house.snapshot.queries["available_size"]
    assert house.judge_call(Call(method=method, need=left), YES, house.snapshot) is None
    promised = Call(method=method, need=left + 1)
    broken(house.judge_call(promised, YES, house.snapshot), "promise-kept", "")
    one_side = Call(method=method, need=left + 1, need_swa=4)
    assert house.judge_call(one_side, YES, house.snapshot) is None


def test_what_fits_once_holes_are_closed_is_not_refused() -> None:
    house = UnifiedHouse(two_pools(), op.Alloc(unit="left"), op.Evict(pages=3))
    assert house.snapshot.queries["available_size"] < 8
    call = Call(method="ensure_capacity", need=4, need_swa=0)
    broken(house.judge_call(call, NO, house.snapshot), "refused-though-it-fits", "")
    house.prepare(op.Gate())
    assert house.judge_call(call, NO, house.snapshot) is None, "pages must not move"


def test_a_plan_gives_up_as_little_as_will_do() -> None:
    house = UnifiedHouse(two_pools(), op.Alloc(unit="left"), op.Evict(pages=1))
    call = Call(method="reclaim_plan", need=8, evictable_full=12, evictable_swa=12)
    assert house.judge_call(call, Outcome(value=(8, 0)), house.snapshot) is None
    for wrong in ((12, 0), (8, 4), (4, 8), (4, 0), (16, 0), (7, 0)):
        found = house.judge_call(call, Outcome(value=wrong), house.snapshot)
        broken(found, "plan-minimal", "")
    broken(house.judge_call(call, Outcome(), house.snapshot), "plan-minimal", "")
    hopeless = Call(method="reclaim_plan", need=400, evictable_full=12, evictable_swa=12)
    assert house.judge_call(hopeless, Outcome(), house.snapshot) is None


def test_nothing_is_evicted_while_what_the_group_held_waits() -> None:
    house = UnifiedHouse(full_and_state(), ROW, op.GroupBegin(), op.FreeSegment())
    call = Call(method="check_decode_capacity", need=8, tree=Tree(rows=(), states=()))
    broken(house.judge_call(call, NO, house.snapshot), "eviction-sees-deferred-frees", "")
    took = Outcome(value=(1,), evicted=(Eviction(0, "both"),))
    broken(house.judge_call(call, took, house.snapshot), "eviction-sees-deferred-frees", "")
    assert house.judge_call(call, YES, house.snapshot) is None, "nothing was lacking"
    flushed = house.snapshot
    flushed.representative_pile = []
    assert house.judge_call(call, NO, flushed) is None
