"""Each law over a state of a unified allocator fires on a state that breaks it, and names what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from unified_driver import full_and_state, three_pools, two_pools
from unified_house import UnifiedHouse, broken

from oracle import operations as op
from oracle.unified_observation import UnifiedSnapshot

ROW = op.Alloc(amount=3, unit="pages")
RATCHET = op.Evict(pages=0)

Damage = Callable[[UnifiedSnapshot], Any]


def _set(band: str, field: str, *path_and_value: Any) -> Damage:
    """Sets a field of a band, or an element of it."""
    *at, value = path_and_value

    def damage(state: UnifiedSnapshot) -> None:
        if at:
            getattr(state.bands[band], field)[at[0]] = value
        else:
            setattr(state.bands[band], field, value)

    return damage


def _swap(state: UnifiedSnapshot) -> None:
    table = state.bands["full"].p2v
    table[14], table[15] = table[15], table[14]


# Two pools after a row of four pages and a ratchet of the first: FULL v2p 1 to 4 on 12 to 15, watermark 11;
# SWA v2p 2 to 4 on 3 to 5, hole 2, watermark 6.
TWO_POOL_DAMAGES: list[tuple[str, str, Damage]] = [
    ("sentinels", "full", _set("full", "v2p", -1, 3)),
    ("sentinels", "swa", _set("swa", "p2v", 0, -1)),
    ("sentinels", "swa", _set("swa", "p2v", -1, 1)),
    ("sentinels", "full", lambda state: state.bands["full"].v2p.pop()),
    ("spans-ordered", "full", _set("full", "watermark", 16)),
    ("spans-ordered", "swa", _set("swa", "watermark", 1)),
    ("spans-ordered", "full", _set("swa", "watermark", 25)),
    ("swa-bound-full-unbound", "swa", _set("full", "v2p", 2, -1)),
    ("swa-bound-full-unbound", "swa", _set("full", "v2p", 2, 0)),
    ("id-partition", "full", lambda state: state.bands["full"].free_ids.append(5)),
    ("id-partition", "full", lambda state: state.bands["full"].free_ids.append(1)),
    ("id-partition", "full", lambda state: state.bands["full"].free_ids.append(0)),
    ("id-partition", "full", lambda state: state.bands["full"].free_ids.append(16)),
    ("id-partition", "full", lambda state: state.bands["full"].free_ids.pop()),
    ("physical-page-shared", "full", _set("full", "v2p", 2, 12)),
    ("physical-page-shared", "swa", _set("swa", "v2p", 1, 4)),
    ("span-partition", "swa", _set("swa", "holes", [-1])),
    ("span-partition", "swa", _set("swa", "holes", [2, -1])),
    ("span-partition", "swa", _set("swa", "holes", [2, 2])),
    ("span-partition", "swa", _set("swa", "holes", [2, 1])),
    ("span-partition", "swa", _set("swa", "holes", [2, 6])),
    ("span-partition", "swa", _set("swa", "holes", [2, 3])),
    ("span-partition", "swa", _set("swa", "holes", [])),
    ("span-partition", "swa", _set("swa", "pending", [[2]])),
    ("span-partition", "swa", _set("swa", "p2v", 2, 1)),
    ("table-inverse", "full", _swap),
    ("table-inverse", "full", _set("full", "v2p", 2, 3)),
    ("table-inverse", "full", _set("full", "v2p", 1, 0)),
    ("table-inverse", "full", _set("full", "v2p", 1, -2)),
    ("table-inverse", "swa", _set("swa", "p2v", 20, 1)),
    ("table-inverse", "swa", _set("swa", "p2v", 20, 99)),
    ("live-count", "full", _set("full", "live", 3)),
    ("live-count", "swa", _set("swa", "live", -1)),
    ("live-count", "full", _set("full", "allocated", 20)),
    ("capacity-within-size", "swa", _set("swa", "available", -4)),
    (
        "capacity-within-size",
        "full",
        lambda state: state.queries.update(conserve_full_available_size=48),
    ),
    ("byte-accounting", "", lambda state: state.byte_accounting.append("spans overlap")),
    ("content", "full", _set("full", "content", 12 * 4 + 1, 99)),
    ("content", "swa", _set("swa", "content", 4 * 4, 3)),
]


@pytest.mark.parametrize(("law", "pool", "damage"), TWO_POOL_DAMAGES)
def test_a_damaged_state_breaks_the_law(law: str, pool: str, damage: Damage) -> None:
    house = UnifiedHouse(two_pools(), ROW, RATCHET)
    state = house.snapshot
    assert house.judge(state) is None
    damage(state)
    broken(house.judge(state), law, pool)


def test_a_violation_says_what_stands_there_and_what_should() -> None:
    house = UnifiedHouse(two_pools(), ROW, RATCHET)
    state = house.snapshot
    state.bands["swa"].holes = [2, -1]
    found = broken(house.judge(state), "span-partition", "swa")
    assert found.expected == "SWA: holes and pending pages are pages of the span, 2 to 5"
    assert found.got == "2, [-1]"
    state = house.snapshot
    state.bands["full"].content[12 * 4 + 1] = 99
    found = broken(house.judge(state), "content", "full")
    assert found.expected == "request 1 position 1, FULL slot 5 on page 12, reads KV number 2"
    assert found.got == "number 99"


@pytest.mark.parametrize(
    ("law", "pool", "damage"),
    [
        ("spans-ordered", "swa", _set("swa", "start", 60)),
        ("spans-ordered", "swa", _set("state", "watermark", 14)),
        ("span-partition", "swa", _set("swa", "holes", [-1])),
        ("id-partition", "state", lambda state: state.bands["state"].free_ids.append(1)),
        ("content", "state", _set("state", "content", 1, 99)),
        ("content", "state", _set("state", "content", 1, 0)),
    ],
)
def test_a_floating_band_and_states_are_judged_too(law: str, pool: str, damage: Damage) -> None:
    house = UnifiedHouse(three_pools(), ROW, op.StateAlloc(count=2))
    state = house.snapshot
    damage(state)
    broken(house.judge(state), law, pool)


def test_a_page_that_nobody_holds_is_unbound_and_a_held_one_bound() -> None:
    whole, ratcheted = (
        UnifiedHouse(two_pools(), ROW),
        UnifiedHouse(two_pools(), ROW, RATCHET),
    )
    missing = broken(whole.judge(ratcheted.snapshot), "bound-agrees-with-books", "swa")
    assert missing.got == "-1"
    broken(ratcheted.judge(whole.snapshot), "bound-agrees-with-books", "swa")
    longer = UnifiedHouse(two_pools(), ROW, op.Alloc(amount=0, unit="pages"))
    broken(whole.judge(longer.snapshot), "bound-agrees-with-books", "full")
    states = UnifiedHouse(full_and_state(), ROW, op.StateAlloc(count=1))
    fewer = UnifiedHouse(full_and_state(), ROW, op.StateAlloc(count=0))
    broken(fewer.judge(states.snapshot), "bound-agrees-with-books", "state")


def test_what_waits_in_an_open_group_may_be_bound_or_not_and_after_it_may_not() -> None:
    row, release = op.Alloc(amount=1, unit="pages"), op.Release()
    waiting = UnifiedHouse(two_pools(), ROW, row, op.GroupBegin(), release)
    done = UnifiedHouse(two_pools(), ROW, row, release)
    bound = waiting.snapshot
    assert waiting.judge(bound) is None
    assert waiting.judge(done.snapshot) is None
    waiting.prepare(op.GroupEnd())
    broken(waiting.judge(bound), "bound-agrees-with-books", "full")


@pytest.mark.parametrize("geometry", [two_pools(), three_pools(), full_and_state()])
def test_a_caller_that_holds_nothing_leaves_nothing_bound(geometry: Any) -> None:
    empty = UnifiedHouse(geometry, ROW, op.Release())
    assert empty.judge(empty.snapshot) is None
    broken(empty.judge(UnifiedHouse(geometry, ROW).snapshot), "everything-returned", "full")
    if geometry.family != "unified-swa":
        states = UnifiedHouse(geometry, op.StateAlloc(count=1))
        broken(empty.judge(states.snapshot), "everything-returned", "state")
    state = empty.snapshot
    state.bands["full"].pending_load = 1
    broken(empty.judge(state), "everything-returned", "full")


def test_a_reserved_page_is_one_owner_of_its_page() -> None:
    house = UnifiedHouse(two_pools(), ROW, RATCHET, op.Reserve(pages=0))
    state = house.snapshot
    assert house.judge(state) is None
    page = house.books.reservations[0][0] // 4
    state.bands["swa"].holes.append(page)
    broken(house.judge(state), "span-partition", "swa")
    assert house.prepare(op.BindReserved(), op.FinishLoad()).judge(house.snapshot) is None
