"""The laws about one call: what it may return, that it may not raise, and that a failed one leaves
everything alone.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from plain_allocator import House

from oracle import operations as op
from oracle.call import Call
from oracle.geometry import Geometry
from oracle.laws import Laws, Violation
from oracle.laws.made_call import MadeCall
from oracle.observation import Outcome, Snapshot
from oracle.ownership import Ownership

EXTEND = Call(
    method="alloc_extend", prefix_lens=(0,), seq_lens=(6,), last_loc=(-1,), extend_num_tokens=6
)


def _returns(
    house: House, call: Call, value: tuple[int, ...], after: Snapshot | None = None
) -> Violation | None:
    """Judge ``call`` on the house as if it had returned ``value``."""
    before = house.allocator.snapshot()
    outcome = Outcome(value=value, dtype="int64")
    return house.laws.judge_call(MadeCall(call, (), outcome, before, after or before), house.books)


def _broken(found: Violation | None, law: str, pool: str = "full") -> Violation:
    assert found is not None, f"{law} did not fire"
    assert (found.law, found.pool) == (law, pool), found
    return found


def test_the_right_slots_are_accepted() -> None:
    assert _returns(House("paged"), EXTEND, (8, 9, 10, 11, 4, 5)) is None


def test_too_few_slots_are_reported() -> None:
    found = _broken(_returns(House("paged"), EXTEND, (4, 5, 6, 7)), "returned-slots")
    assert (found.expected, found.got) == ("6 slots", "4 slots: [4], 5, 6, 7")


def test_an_alloc_of_half_a_page_returns_nothing() -> None:
    call = Call(method="alloc", need=6)
    assert _returns(House("paged"), call, (4, 5, 6, 7)) is None
    _broken(_returns(House("paged"), call, (4, 5, 6, 7, 8, 9)), "returned-slots")


def test_a_slot_that_is_returned_twice_is_reported() -> None:
    call = Call(method="alloc", need=8)
    found = _broken(_returns(House("paged"), call, (4, 5, 6, 7) * 2), "returned-slots")
    assert found.got == "... 5, 6, 7, [4], 5, 6, 7"


@pytest.mark.parametrize("page", [17, -1])
def test_a_page_that_the_pool_does_not_have_is_reported(page: int) -> None:
    value = tuple(range(page * 4, page * 4 + 4))
    _broken(_returns(House("paged"), Call(method="alloc", need=4), value), "returned-slots")


def test_the_padding_page_is_never_handed_out() -> None:
    found = _returns(House("paged"), EXTEND, (4, 5, 6, 7, 0, 1))
    assert _broken(found, "padding-page").got == "... 5, 6, 7, [0], 1"


def test_a_page_that_a_live_row_holds_is_never_handed_out() -> None:
    house = House("paged").prepare(op.Alloc(1, "pages"))
    house.allocator.free["full"].insert(0, 1)
    found = _broken(_returns(house, EXTEND, (4, 5, 6, 7, 12, 13)), "returned-slots")
    assert found.expected == "FULL page 1, which request 1 holds, is not handed out"


def test_a_page_that_waits_in_a_group_is_never_handed_out() -> None:
    house = House("paged").prepare(op.Alloc(1, "pages"), op.GroupBegin(), op.Release())
    _broken(_returns(house, Call(method="alloc", need=4), (4, 5, 6, 7)), "returned-slots")


def test_a_partial_page_must_be_continued() -> None:
    house = House("paged").prepare(op.Extend((op.Part(0, 6),)))
    grow = Call(method="alloc_decode", seq_lens=(7,), last_loc=(9,))
    assert _returns(house, grow, (10,)) is None
    found = _broken(_returns(house, grow, (14,)), "returned-slots")
    assert found.expected == "slot 10 continues the row's partial page"


@pytest.mark.parametrize("value", [(5, 6, 7, 8, 12, 13), (4, 5, 7, 6, 8, 9)])
def test_each_slot_is_at_the_page_offset_of_its_position(value: tuple[int, ...]) -> None:
    _broken(_returns(House("paged"), EXTEND, value), "returned-slots")


def test_swa_slots_handed_out_directly_must_have_been_free() -> None:
    house = House().prepare(op.Alloc(1, "pages"))
    call = Call(method="alloc", pool="swa", need=4)
    assert _returns(house, call, (12, 13, 14, 15)) is None
    _broken(_returns(house, call, (4, 5, 6, 7)), "returned-slots", "swa")


def test_new_peers_must_come_from_free_swa_pages() -> None:
    house = House().prepare(op.Alloc(1, "pages"))
    after = house.allocator.snapshot()
    assert after.mapping is not None
    after.mapping[12:18] = [12, 13, 14, 15, 16, 17]
    slots = (12, 13, 14, 15, 16, 17)
    assert _returns(house, EXTEND, slots, after) is None
    after.mapping[12:18] = [12, 13, 14, 15, 4, 5]
    found = _broken(_returns(house, EXTEND, slots, after), "returned-slots", "swa")
    assert found.got == "SWA page 1 was not: FULL slot 16 maps to SWA slot 4"


def test_a_lookup_answers_the_mapping() -> None:
    house = House().prepare(op.Alloc(1, "pages"))
    call = Call(method="translate_loc_from_full_to_swa", slots=(4, 5, -1))
    assert _returns(house, call, (4, 5, -1)) is None
    found = _broken(_returns(house, call, (4, 6, -1)), "returned-slots", "swa")
    assert (found.expected, found.got) == ("peers 4, [5], -1", "4, [6], -1")


def test_a_legal_call_that_raises_is_reported() -> None:
    house = House()
    state = house.allocator.snapshot()
    outcome = Outcome(error="AssertionError", message="9 > 8")
    call = Call(method="free", slots=(4,))
    found = house.laws.judge_call(MadeCall(call, (), outcome, state, state), house.books)
    assert _broken(found, "legal-call-raised", "").got == "AssertionError: 9 > 8"
    stale = MadeCall(call, ("stale",), outcome, state, state)
    assert house.laws.judge_call(stale, house.books) is None


def _spoil(state: Snapshot, where: str) -> None:
    assert state.swa is not None
    assert state.mapping is not None
    if where == "mapping":
        state.mapping[4] = 4
    elif where == "pile":
        state.swa_page_pile.append([3])
    elif where == "full-only pile":
        state.full_only_pile = [[3]]
    elif where == "full pile":
        state.full.group = []
    elif where == "lost page":
        state.swa.free.pop()
    elif where == "order":
        state.full.free.reverse()


@pytest.mark.parametrize(
    "where", ["mapping", "pile", "full-only pile", "full pile", "lost page", "order"]
)
@pytest.mark.parametrize(
    ("method", "error"),
    [
        ("alloc_extend", ""),
        ("alloc_extend", "AssertionError"),
        ("alloc_extend_swa_tail", "NotImplementedError"),
        ("free", "NotImplementedError"),
    ],
)
def test_a_failed_call_changes_nothing(where: str, method: Any, error: str) -> None:
    house = House()
    before, after = house.allocator.snapshot(), house.allocator.snapshot()
    call, outcome = Call(method=method), Outcome(error=error)
    breaches = ("misuse",) if error else ()
    judge = house.laws.judge_call
    assert judge(MadeCall(call, breaches, outcome, before, after), house.books) is None
    _spoil(after, where)
    found = judge(MadeCall(call, breaches, outcome, before, after), house.books)
    assert found is not None
    assert found.law == "failed-call-changes-nothing"


def test_a_failed_call_may_only_merge_all_that_is_staged() -> None:
    house = House("paged", 16, 4, need_sort=True).prepare(op.Alloc(2, "pages"), op.Release())
    before, merged = house.allocator.snapshot(), house.allocator.snapshot()
    merged.full.free, merged.full.staged = [1, 2, 3, 4], []
    judge = house.laws.judge_call
    call = Call(method="alloc", need=64)
    assert judge(MadeCall(call, (), Outcome(), before, merged), house.books) is None
    merged.full.free = [4, 1, 2, 3]
    found = judge(MadeCall(call, (), Outcome(), before, merged), house.books)
    assert _broken(found, "failed-call-changes-nothing").got == "[4], 1, 2, 3"


def test_nothing_that_a_damaged_target_shows_stops_the_laws() -> None:
    geometry = Geometry(family="hybrid-swa", size=16, page_size=4, size_swa=16)
    house = House(size=16).prepare(op.Alloc(2, "pages"))
    damaged = house.allocator.snapshot()
    assert damaged.swa is not None
    damaged.mapping = [-7, 900]
    damaged.full.free, damaged.swa.free = [-3, 99, 99], []
    books = copy.deepcopy(house.books)
    books.grow(books.open_request(), [-5, 7, 7, 4000], peered=[-5, 4000])
    calls = [
        Call(method="alloc", need=4),
        Call(method="alloc_decode", seq_lens=(1, 2), last_loc=(900,)),
        Call(method="translate_loc_from_full_to_swa", slots=(-9, 4000)),
        Call(method="resize", size=4, size_swa=4),
        EXTEND,
    ]
    laws = Laws(geometry)
    for call in calls:
        for value in (None, (), (-5, 4000, 4000, 5), (4, 5, 6, 7, 8, 9)):
            for after in (damaged, house.allocator.snapshot()):
                for whose in (Ownership(4), books, house.books):
                    laws.judge_call(
                        MadeCall(call, ("raw",), Outcome(value=value), damaged, after), whose
                    )
                    laws.judge_state(after, whose)
                    whose.group_open = not whose.group_open
    assert laws.judge_state(damaged, books) is not None
