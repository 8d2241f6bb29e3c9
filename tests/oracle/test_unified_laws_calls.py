"""Each law over a call on a unified allocator fires on an outcome or a change that breaks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from unified_driver import full_and_state, three_pools, two_pools
from unified_house import UnifiedHouse, broken

from oracle import operations as op
from oracle.call import Call, Method
from oracle.observation import Outcome
from oracle.unified_observation import UnifiedSnapshot

ROW = op.Alloc(amount=3, unit="pages")
RATCHET = op.Evict(pages=0)
REFUSED = Outcome()
ALL = Call(method="alloc", need=4_000)

Damage = Callable[[UnifiedSnapshot], Any]

# Two pools after a row of four pages and a ratchet of the first: FULL v2p 1 to 4 on 12 to 15, free ids from 5 on;
# SWA v2p 2 to 4 on 3 to 5, hole 2. ``_moves_without_kv`` takes the page that SWA page 5 is on to the hole.


def _moves(state: UnifiedSnapshot) -> None:
    band = state.bands["swa"]
    band.content[2 * 4 : 3 * 4] = band.content[5 * 4 : 6 * 4]
    _moves_without_kv(state)


def _moves_without_kv(state: UnifiedSnapshot) -> None:
    band = state.bands["swa"]
    page = band.p2v[5]
    band.v2p[page], band.p2v[2], band.p2v[5], band.holes = 2, page, -1, [5]


def _unbinds(state: UnifiedSnapshot) -> None:
    state.bands["swa"].v2p[3] = -1


OWNER_DAMAGES: list[tuple[str, Damage]] = [
    ("full", lambda state: state.bands["full"].free_ids.reverse()),
    ("full", lambda state: state.bands["full"].free_ids.pop()),
    ("swa", lambda state: setattr(state.bands["swa"], "live", 4)),
    ("swa", lambda state: setattr(state.bands["swa"], "pending_load", 1)),
    ("swa", _unbinds),
    ("swa", lambda state: state.bands["swa"].v2p.__setitem__(1, 2)),
    ("swa", _moves_without_kv),
    ("full", lambda state: state.bands["full"].content.__setitem__(12 * 4, 99)),
    ("", lambda state: setattr(state, "group_open", True)),
    ("", lambda state: state.token_pile.append([4])),
]


@pytest.mark.parametrize(("pool", "damage"), OWNER_DAMAGES)
def test_a_refused_allocation_changes_no_owner(pool: str, damage: Damage) -> None:
    house = UnifiedHouse(two_pools(), ROW, RATCHET)
    state = house.snapshot
    assert house.judge_call(ALL, REFUSED, state) is None
    damage(state)
    broken(house.judge_call(ALL, REFUSED, state), "failed-call-changes-nothing", pool)


@pytest.mark.parametrize("method", ["alloc_physical", "alloc_extend"])
def test_other_allocations_that_are_refused_change_no_owner(method: Method) -> None:
    house = UnifiedHouse(two_pools(), ROW, RATCHET)
    state = house.snapshot
    _unbinds(state)
    pool: Any = "swa" if method == "alloc_physical" else "composite"
    call = Call(method=method, pool=pool, need=4_000)
    broken(house.judge_call(call, REFUSED, state), "failed-call-changes-nothing", "swa")


@pytest.mark.parametrize(("pool", "damage"), OWNER_DAMAGES)
def test_a_flush_or_a_question_changes_no_owner(pool: str, damage: Damage) -> None:
    house = UnifiedHouse(two_pools(), ROW, RATCHET)
    state = house.snapshot
    damage(state)
    for call in (Call(method="flush", pool="swa"), Call(method="ensure_capacity", need=8)):
        broken(house.judge_call(call, Outcome(value=(1,)), state), "move-changes-no-owner", pool)


def test_a_refused_allocation_and_a_flush_may_move_pages_with_their_kv() -> None:
    house = UnifiedHouse(two_pools(), ROW, RATCHET)
    state = house.snapshot
    _moves(state)
    assert house.judge_call(ALL, REFUSED, state) is None
    assert house.judge_call(Call(method="flush", pool="swa"), Outcome(value=(1,)), state) is None


def test_a_legal_call_raises_nothing() -> None:
    house = UnifiedHouse(two_pools(), ROW)
    call = Call(method="free", slots=(4, 5))
    raised = Outcome(error="AssertionError", message="no")
    broken(house.judge_call(call, raised, house.snapshot), "legal-call-raised", "")
    assert house.judge_call(call, raised, house.snapshot, "stale") is None


DEFERRAL_DAMAGES: list[tuple[str, Damage]] = [
    ("full", lambda state: state.bands["full"].holes.append(15)),
    ("full", lambda state: state.bands["full"].free_ids.append(4)),
    ("full", lambda state: setattr(state.bands["full"], "available", 64)),
    ("swa", lambda state: state.bands["swa"].v2p.__setitem__(4, -1)),
    ("swa", lambda state: setattr(state.bands["swa"], "live", 2)),
    ("", lambda state: state.queries.update(available_size=64)),
    ("", lambda state: setattr(state, "group_open", False)),
]


@pytest.mark.parametrize("method", ["free", "free_segment", "free_full_segments"])
@pytest.mark.parametrize(("pool", "damage"), DEFERRAL_DAMAGES)
def test_a_deferred_free_changes_nothing_but_a_pile(
    method: Method, pool: str, damage: Damage
) -> None:
    house = UnifiedHouse(two_pools(), ROW, op.GroupBegin())
    call, state = Call(method=method, slots=(16, 17, 18, 19)), house.snapshot
    state.representative_pile.append([16])
    assert house.judge_call(call, REFUSED, state) is None
    damage(state)
    broken(house.judge_call(call, REFUSED, state), "deferral", pool)


def test_a_free_of_a_band_and_one_without_a_group_act_at_once() -> None:
    house = UnifiedHouse(two_pools(), ROW, op.GroupBegin())
    after = UnifiedHouse(two_pools(), ROW, op.GroupBegin(), RATCHET).snapshot
    for method, pool in (("free_swa_segment", "composite"), ("free_segment", "full")):
        call = Call(method=method, pool=pool, slots=(4, 5, 6, 7))  # type: ignore[arg-type]
        assert house.judge_call(call, REFUSED, after) is None


@pytest.mark.parametrize("place", [-1, 1, 64, 1_000_000])
@pytest.mark.parametrize("slot", [-3, 0, 4, 64, 1_000_000])
def test_every_slot_has_a_place_and_just_that(slot: int, place: int) -> None:
    house = UnifiedHouse(two_pools(), ROW, RATCHET)
    call, state = Call(method="translate", pool="swa", slots=(slot,)), house.snapshot
    assert house.judge_call(call, Outcome(value=(0,)), state) is None
    broken(house.judge_call(call, Outcome(value=(place,)), state), "translate-total", "swa")


def test_a_translation_finds_a_bound_slot_and_answers_for_each() -> None:
    house = UnifiedHouse(two_pools(), ROW, RATCHET)
    call, state = Call(method="translate", pool="full", slots=(6, 17)), house.snapshot
    assert state.bands["full"].v2p[1:5] == [12, 13, 14, 15]
    assert house.judge_call(call, Outcome(value=(50, 61)), state) is None
    broken(house.judge_call(call, Outcome(value=(50, 60)), state), "translate-total", "full")
    broken(house.judge_call(call, Outcome(value=(50,)), state), "translate-total", "full")


@pytest.mark.parametrize(
    "slots",
    [
        (20, 21, 22),
        (20, 21, 22, 23, 24, 25, 26, 27),
        (20, 21, 22, 22),
        (20, 21, 23, 22),
        (21, 22, 23, 24),
        (0, 1, 2, 3),
        (4, 5, 6, 7),
        (-4, -3, -2, -1),
        (64, 65, 66, 67),
    ],
)
def test_slots_are_those_asked_for_of_a_free_id(slots: tuple[int, ...]) -> None:
    house = UnifiedHouse(two_pools(), ROW)
    call, state = Call(method="alloc", need=4), house.snapshot
    assert house.judge_call(call, Outcome(value=(20, 21, 22, 23)), state) is None
    law = "padding-page" if slots[0] == 0 else "returned-slots"
    broken(house.judge_call(call, Outcome(value=slots), state), law, "full")


@pytest.mark.parametrize("states", [(3,), (3, 3), (1, 3), (0, 3), (3, 99), (3, -1)])
@pytest.mark.parametrize("geometry", [three_pools(), full_and_state()])
def test_states_are_those_asked_for_of_a_free_id(geometry: Any, states: tuple[int, ...]) -> None:
    house = UnifiedHouse(geometry, op.StateAlloc(count=1))
    first = house.snapshot.bands["state"].free_ids[0]  # type: ignore[index]
    call, state = Call(method="alloc", pool="state", need=2), house.snapshot
    assert house.judge_call(call, Outcome(value=(first, first + 1)), state) is None
    moved = tuple(first if slot == 3 else slot for slot in states)
    held = house.books.states[0]
    moved = tuple(held if slot == 1 else slot for slot in moved)
    broken(house.judge_call(call, Outcome(value=moved), state), "returned-slots", "state")


@pytest.mark.parametrize("page", [0, 2, 3, -1])
def test_a_reservation_takes_pages_that_nobody_has(page: int) -> None:
    house = UnifiedHouse(two_pools(), ROW, op.Reserve(pages=0))
    reserved = house.books.reservations[0]
    call, state = Call(method="alloc_physical", pool="swa", need=4), house.snapshot
    free = tuple(range(28, 32))
    assert reserved[0] < free[0]
    assert house.judge_call(call, Outcome(value=free), state) is None
    for slots in (tuple(range(page * 4, page * 4 + 4)), reserved, free[:3], free[::-1]):
        broken(house.judge_call(call, Outcome(value=slots), state), "returned-slots", "swa")
