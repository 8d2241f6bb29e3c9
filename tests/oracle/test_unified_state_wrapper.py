"""The allocator of states above the state band: alloc groups, sizes, and what callers make of them (contract_unified §10)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs
from unified_driver import UnifiedDriver, full_and_state, three_pools, two_pools

from oracle import legality
from oracle import operations as op
from oracle.comparison import compare_snapshots
from oracle.lockstep import CallRecord, Session
from targets.reference import ReferenceTarget

# The state band of ``full_and_state`` has pages 1 to 9, the first of which is behind byte 96.
BOTH = pytest.mark.parametrize("geometry", [full_and_state(), three_pools()], ids=["pair", "three"])


def _begin(driver: UnifiedDriver, count: int) -> list[int] | None:
    assert driver.does("alloc_group_begin", pool="state", need=count).value is None
    return driver.snapshot.prepared


def _end(driver: UnifiedDriver) -> None:
    assert driver.does("alloc_group_end", pool="state").value is None
    assert driver.snapshot.prepared is None


def _states(driver: UnifiedDriver, count: int) -> list[int]:
    return driver.gives("alloc", pool="state", need=count)


@BOTH
def test_single_allocations_come_from_what_was_prepared(geometry: Any) -> None:
    driver = UnifiedDriver(geometry)
    assert driver.snapshot.prepared is None
    assert _begin(driver, 3) == [1, 2, 3]
    assert (driver.state.live, driver.state.watermark, driver.state.v2p[1:4]) == (3, 4, [1, 2, 3])
    assert _states(driver, 1) == [1]
    assert driver.snapshot.prepared == [2, 3]
    assert _states(driver, 2) == [4, 5], "any other need goes to the band"
    assert _states(driver, 1) == [2]
    _end(driver)
    assert (driver.state.holes, driver.state.live) == ([3], 4)
    assert (driver.state.free_ids or [])[-1] == 3


def test_a_prepared_state_is_handed_out_without_the_band() -> None:
    driver = UnifiedDriver(full_and_state())
    _begin(driver, 2)
    before = driver.state
    _states(driver, 1)
    assert driver.state.content[1] == 1, "its KV is written when it is handed out, not before"
    assert structs.replace(driver.state, content=before.content) == before
    assert before.content == [0] * 11


def test_what_is_used_up_is_an_empty_rest_until_the_end_and_the_band_goes_on() -> None:
    driver = UnifiedDriver(full_and_state())
    _begin(driver, 2)
    assert [_states(driver, 1) for _ in range(3)] == [[1], [2], [3]]
    assert driver.snapshot.prepared == []
    _end(driver)
    assert (driver.state.live, driver.state.holes) == (3, [])


@pytest.mark.parametrize("count", [0, -1, 10])
def test_a_begin_that_wants_nothing_or_too_much_prepares_nothing(count: int) -> None:
    driver = UnifiedDriver(full_and_state())
    before = driver.state
    assert _begin(driver, count) is None
    assert driver.state == before
    _end(driver)
    assert driver.state == before
    assert _states(driver, 1) == [1]


@pytest.mark.parametrize(("count", "prepared", "live"), [(1, [3], 3), (0, None, 2), (8, None, 2)])
def test_a_second_begin_forgets_what_the_first_took_out(
    count: int, prepared: list[int] | None, live: int
) -> None:
    driver = UnifiedDriver(full_and_state())
    _begin(driver, 2)
    assert _begin(driver, count) == prepared
    assert driver.state.live == live
    _end(driver)
    assert driver.state.live == 2, "states 1 and 2 stay allocated"


def test_the_rest_goes_back_in_order_at_once_also_in_a_free_group() -> None:
    driver = UnifiedDriver(full_and_state())
    driver.does("free_group_begin")
    _begin(driver, 4)
    _end(driver)
    assert driver.state.holes == [1, 2, 3, 4]
    assert driver.state.free_ids == [5, 6, 7, 8, 9, 1, 2, 3, 4]
    assert driver.snapshot.group_open


def test_a_begin_climbs_the_ladder_of_the_state_band() -> None:
    # The same history as that of the golden trace in which the floating band leaps.
    driver = UnifiedDriver(three_pools())
    row = driver.alloc(16)
    _states(driver, 3)
    driver.does("free_swa_segment", slots=row[4:8], start_pos=4)
    driver.does("free_swa_segment", slots=row[:4], start_pos=0)
    driver.flush("swa")
    assert driver.state.available == 5
    assert _begin(driver, 6) == [4, 5, 6, 7, 8, 9]
    assert driver.copies("swa") == {(29, 54), (30, 55)}


def test_a_refused_begin_may_have_moved_pages_and_prepares_nothing() -> None:
    driver = UnifiedDriver(full_and_state())
    rows = [driver.alloc(4) for _ in range(8)]
    driver.does("free", slots=rows[0])
    assert driver.full.holes
    assert _begin(driver, 9) is None
    assert driver.last_copies()
    assert (driver.full.holes, driver.state.live) == ([], 0)


def test_prepared_states_move_with_their_band() -> None:
    driver = UnifiedDriver(full_and_state())
    held = _states(driver, 2)
    assert _begin(driver, 2) == [3, 4]
    driver.does("free", pool="state", slots=held)
    assert driver.flush("state", urgent=True) == 2
    assert driver.snapshot.prepared == [3, 4]
    assert sorted(driver.gives("translate", pool="state", slots=[3, 4])) == [1, 2]
    assert _states(driver, 1) == [3]
    assert driver.state.content[driver.state.v2p[3]] == 3


def test_a_clear_leaves_nothing_prepared() -> None:
    driver = UnifiedDriver(full_and_state())
    start = driver.snapshot
    _begin(driver, 2)
    driver.does("clear")
    assert driver.snapshot == start
    assert _states(driver, 1) == [1]
    assert driver.state.live == 1


def test_sizes_of_the_wrapper() -> None:
    driver = UnifiedDriver(three_pools())
    names = ("state_size", "state_available_size", "state_free_slots")

    def sizes() -> list[int]:
        return [driver.snapshot.queries[name] for name in names]

    assert sizes() == [20, 20, 20], "21 pages, of which one is reserved"
    held = _states(driver, 2)
    _begin(driver, 3)
    assert sizes() == [20, 15, 15]
    driver.does("free", pool="state", slots=held)
    assert sizes() == [20, 17, 15], "holes are no pages behind the watermark"
    driver.flush("state", urgent=True)
    assert sizes() == [20, 17, 17]


def test_a_family_without_states_has_no_alloc_groups() -> None:
    driver = UnifiedDriver(two_pools())
    assert driver.snapshot.prepared is None
    assert not [name for name in driver.snapshot.queries if name.startswith("state")]
    driver.raises("NotImplementedError", "alloc_group_begin", pool="state", need=1)


@pytest.mark.parametrize("method", ["alloc_group_begin", "alloc_group_end"])
def test_the_composite_itself_has_no_alloc_groups(method: str) -> None:
    UnifiedDriver(full_and_state()).raises("NotImplementedError", method, need=1)


def test_an_eager_band_that_must_not_move_keeps_the_rest() -> None:
    driver = UnifiedDriver(full_and_state(lazy=False))
    _begin(driver, 2)
    driver.does("set_move_gate", pool="state", gate_state="closed")
    driver.raises("AssertionError", "alloc_group_end", pool="state")
    assert driver.snapshot.prepared == [1, 2]
    driver.does("set_move_gate", pool="state", gate_state="absent")
    _end(driver)
    assert driver.state.live == 0


@pytest.mark.parametrize("got", [None, [], [2], [1, 2, 3]])
def test_another_rest_is_a_difference(got: list[int] | None) -> None:
    driver = UnifiedDriver(full_and_state())
    _begin(driver, 2)
    expected, other = driver.snapshot, driver.snapshot
    other.prepared = got
    difference = compare_snapshots(expected, other)
    assert difference is not None
    assert difference.quantity == "prepared"


def _run(
    *operations: op.Base, callers: Any = "legal", geometry: Any = None
) -> tuple[Session, list[CallRecord]]:
    chosen = geometry or full_and_state()
    session = Session([ReferenceTarget()], chosen, callers=callers, keep_records=True)
    for operation in operations:
        session.step(operation)
    assert session.undefined == ""
    assert not [finding for finding in session.findings if finding.kind != "hazard"]
    return session, session.records or []


def _methods(records: list[CallRecord]) -> list[str]:
    return [record.call.method for record in records]


def test_a_second_begin_of_a_legal_caller_ends_the_first() -> None:
    begin = op.AllocGroupBegin(amount=2)
    _, records = _run(begin, structs.replace(begin, nested=True))
    assert _methods(records) == ["alloc_group_begin"], "a nested one is not the legal caller's"
    _, records = _run(begin, begin)
    assert _methods(records) == ["alloc_group_begin", "alloc_group_end", "alloc_group_begin"]
    assert {record.call.pool for record in records} == {"state"}
    assert not any(record.breaches for record in records)


def test_a_nested_begin_is_a_breach_that_the_laws_see() -> None:
    begin = op.AllocGroupBegin(amount=2)
    session, records = _run(begin, structs.replace(begin, nested=True), callers="hostile")
    assert records[-1].breaches == (legality.NESTED_GROUP,)
    assert [finding.kind for finding in session.findings] == ["hazard"]


@pytest.mark.parametrize(
    ("amount", "unit", "need"),
    [(3, "tokens", 3), (9, "tokens", 0), (8, "pages", 8), (0, "left", 10), (1, "left", 9)],
)
def test_a_begin_asks_for_a_few_or_for_what_is_left(amount: int, unit: Any, need: int) -> None:
    _, records = _run(op.AllocGroupBegin(amount=amount, unit=unit))
    assert records[-1].call.need == need


def test_prepared_states_are_nobodys_until_they_are_handed_out() -> None:
    session, _ = _run(op.AllocGroupBegin(amount=3))
    assert session.caller.books.preparing
    assert session.caller.books.states == []
    session.step(op.StateAlloc(count=0))
    assert session.caller.books.states == [1]
    session.step(op.AllocGroupEnd())
    assert not session.caller.books.preparing


@pytest.mark.parametrize("end", [op.Drain(), op.Clear()])
def test_the_end_of_a_trace_and_a_clear_end_the_group(end: op.Base) -> None:
    session, records = _run(op.AllocGroupBegin(amount=3), op.StateAlloc(), end)
    assert not session.caller.books.preparing
    assert session._lanes[0].last.bands["state"].live == 0
    assert ("alloc_group_end" in _methods(records)) == isinstance(end, op.Drain)


def test_an_end_behind_a_gate_is_a_breach_in_eager_mode_only() -> None:
    operations = (op.AllocGroupBegin(amount=2), op.Gate(band=1), op.AllocGroupEnd())
    _, records = _run(*operations, callers="hostile", geometry=full_and_state(lazy=False))
    assert (records[-1].breaches, records[-1].got.error) == (
        (legality.GUARDED_MOVE,),
        "AssertionError",
    )
    _, records = _run(*operations, callers="hostile")
    assert (records[-1].breaches, records[-1].got.error) == ((), "")


def test_a_begin_whose_end_was_refused_is_not_made() -> None:
    begin = op.AllocGroupBegin(amount=2)
    eager = full_and_state(lazy=False)
    session, records = _run(begin, op.Gate(band=1), begin, callers="hostile", geometry=eager)
    assert _methods(records)[-1] == "alloc_group_end"
    assert session.caller.books.preparing
