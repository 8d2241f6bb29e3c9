"""The laws about states that were taken out in advance fire on what breaks them, and catch faults of a wrapper by themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from unified_driver import full_and_state, three_pools
from unified_house import UnifiedHouse, broken

from oracle import operations as op
from oracle.call import Call
from oracle.lockstep import Judging, Session
from oracle.observation import Outcome
from oracle.trace import Trace
from oracle.unified import band_alloc
from oracle.unified.state_wrapper import StateWrapper
from oracle.unified_observation import UnifiedSnapshot
from strategies.explore import explore
from targets.reference import ReferenceTarget

ALONE = Judging(prediction=False)
BEGIN = op.AllocGroupBegin(amount=3)
END = op.AllocGroupEnd()
NOTHING = Outcome()
GEOMETRIES = pytest.mark.parametrize("geometry", [full_and_state(), three_pools()])


def _house(*further: op.Base, geometry: Any = None) -> UnifiedHouse:
    """States 1 and 2 held, states 3 to 5 prepared, the ids from 6 on free."""
    house = UnifiedHouse(geometry or full_and_state(), op.StateAlloc(count=1), BEGIN)
    assert house.books.states == [1, 2]
    return house.prepare(*further)


def _state_call(method: Any, need: int = 0, slots: tuple[int, ...] = ()) -> Call:
    return Call(method=method, pool="state", need=need, slots=slots)


@GEOMETRIES
@pytest.mark.parametrize(
    "prepared",
    [None, [], [3, 5], [3, 4, 5, 3], [1, 3, 4, 5], [3, 4, 5, 6], [3, 4, 5, 99], [3, 4, 5, -1]],
)
def test_what_is_bound_is_held_or_prepared(geometry: Any, prepared: list[int] | None) -> None:
    house = _house(geometry=geometry)
    state = house.snapshot
    assert state.prepared == [3, 4, 5]
    assert house.judge(state) is None
    missing = {3, 4, 5} - {*(prepared or ())}
    state.prepared = prepared
    law = "bound-agrees-with-books" if missing else "prepared-states"
    broken(house.judge(state), law, "state")


def test_a_violation_says_which_state() -> None:
    house = _house()
    state = house.snapshot
    state.prepared = [1, 3, 4, 5]
    found = broken(house.judge(state), "prepared-states", "state")
    assert found.expected == "state 1, which the caller holds, is not prepared"


def test_with_no_held_state_prepared_ones_are_not_missing_and_lost_ones_are() -> None:
    house = UnifiedHouse(full_and_state(), BEGIN)
    state = house.snapshot
    assert house.judge(state) is None
    state.prepared = [1, 2]
    broken(house.judge(state), "everything-returned", "state")


def test_states_are_prepared_in_a_group_only() -> None:
    open_group, ended = _house(), _house(END)
    assert ended.judge(ended.snapshot) is None
    broken(ended.judge(open_group.snapshot), "prepared-states", "state")
    lost = open_group.snapshot
    lost.prepared = None
    broken(ended.judge(lost), "bound-agrees-with-books", "state")


def test_a_clear_leaves_none_prepared() -> None:
    cleared = _house(op.Clear())
    state = cleared.snapshot
    state.prepared = [3, 4, 5]
    broken(cleared.judge(state), "prepared-states", "state")


def test_prepared_states_are_not_available() -> None:
    house = _house()
    state = house.snapshot
    assert state.queries["state_available_size"] == 4
    state.queries["state_available_size"] = 7
    broken(house.judge(state), "capacity-within-size", "state")


@pytest.mark.parametrize(
    ("states", "law"),
    [
        ((6,), "prepared-states"),
        ((9,), "prepared-states"),
        ((2,), "returned-slots"),
        ((3, 4), "returned-slots"),
    ],
)
def test_one_state_is_a_prepared_one(states: tuple[int, ...], law: str) -> None:
    house = _house()
    call = _state_call("alloc", 1)
    after = _house(op.StateAlloc(count=0)).snapshot
    assert house.judge_call(call, Outcome(value=(3,)), after) is None
    broken(house.judge_call(call, Outcome(value=states), after), law, "state")


@pytest.mark.parametrize("left", [None, [], [3, 4, 5], [4], [3, 4]])
def test_a_state_that_is_handed_out_is_no_longer_prepared(left: list[int] | None) -> None:
    house = _house()
    after = house.snapshot
    after.prepared = left
    found = house.judge_call(_state_call("alloc", 1), Outcome(value=(3,)), after)
    broken(found, "prepared-states", "state")


def test_several_states_are_no_prepared_ones() -> None:
    house = _house()
    call, state = _state_call("alloc", 2), house.snapshot
    assert house.judge_call(call, Outcome(value=(6, 7)), state) is None
    broken(house.judge_call(call, Outcome(value=(3, 4)), state), "returned-slots", "state")


def test_when_all_were_handed_out_a_state_is_a_free_one() -> None:
    house = _house(*[op.StateAlloc(count=0)] * 3)
    assert house.snapshot.prepared == []
    call, state = _state_call("alloc", 1), house.snapshot
    assert house.judge_call(call, Outcome(value=(6,)), state) is None
    broken(house.judge_call(call, Outcome(value=(3,)), state), "returned-slots", "state")


def test_what_is_prepared_or_available_is_not_refused() -> None:
    house = _house(op.StateAlloc(count=3))
    assert house.snapshot.bands["state"].available == 0
    refused = house.judge_call(_state_call("alloc", 1), NOTHING, house.snapshot)
    broken(refused, "promise-kept", "state")
    assert house.judge_call(_state_call("alloc", 2), NOTHING, house.snapshot) is None
    fresh = UnifiedHouse(full_and_state())
    state = fresh.snapshot
    assert fresh.judge_call(_state_call("alloc_group_begin", 10), NOTHING, state) is None
    assert fresh.judge_call(_state_call("alloc_group_begin", 0), NOTHING, state) is None
    refused = fresh.judge_call(_state_call("alloc_group_begin", 9), NOTHING, state)
    broken(refused, "promise-kept", "state")


@pytest.mark.parametrize("prepared", [[1, 2], [1, 2, 3, 4], [1, 2, 2], [0, 1, 2], [7, 8, 10]])
def test_a_begin_takes_out_free_states_as_many_as_wanted(prepared: list[int]) -> None:
    house = UnifiedHouse(full_and_state())
    after = UnifiedHouse(full_and_state(), BEGIN).snapshot
    call = _state_call("alloc_group_begin", 3)
    assert house.judge_call(call, NOTHING, after) is None
    after.prepared = prepared
    broken(house.judge_call(call, NOTHING, after), "prepared-states", "state")


@pytest.mark.parametrize("need", [0, 10])
def test_a_begin_that_prepares_nothing_takes_nothing(need: int) -> None:
    house = UnifiedHouse(full_and_state())
    after = UnifiedHouse(full_and_state(), BEGIN).snapshot
    after.prepared = None
    call = _state_call("alloc_group_begin", need)
    broken(house.judge_call(call, NOTHING, after), "failed-call-changes-nothing", "state")


@pytest.mark.parametrize("method", ["alloc_group_end", "clear"])
def test_an_end_and_a_clear_that_leave_some_prepared(method: Any) -> None:
    house = _house()
    call = Call(method=method, pool="composite" if method == "clear" else "state")
    after = _house(END if method != "clear" else op.Clear()).snapshot
    assert house.judge_call(call, NOTHING, after) is None
    after.prepared = [5]
    broken(house.judge_call(call, NOTHING, after), "prepared-states", "state")


@pytest.mark.parametrize(
    ("call", "outcome"),
    [
        (_state_call("flush"), Outcome(value=(0,))),
        (_state_call("free", slots=()), NOTHING),
        (_state_call("translate", slots=(1,)), Outcome(value=(1,))),
        (_state_call("alloc", 40), NOTHING),
        (Call(method="free_group_begin"), Outcome(error="AssertionError")),
    ],
    ids=lambda value: getattr(value, "method", ""),
)
def test_other_calls_leave_the_prepared_states_alone(call: Call, outcome: Outcome) -> None:
    house = _house()
    assert house.judge_call(call, outcome, house.snapshot, "any") is None
    for prepared in (None, [3, 4], [4, 3, 5]):
        after = house.snapshot
        after.prepared = prepared
        broken(house.judge_call(call, outcome, after, "any"), "prepared-states", "state")


class _Wrapper(StateWrapper):
    """A wrapper with a fault to be put in place of the right one's method."""

    def loses_the_rest(self) -> None:
        self.prepared = None

    def ends_nothing(self) -> None:
        pass

    def frees_and_keeps_the_rest(self) -> None:
        self.free(self.prepared or [])

    def hands_out_the_same_again(self, count: int) -> list[int] | None:
        if count == 1 and self.prepared:
            return self.prepared[:1]
        return band_alloc.alloc(self._band, count)

    def hands_the_last_two_out_together(self, count: int) -> list[int] | None:
        if 1 < count <= len(self.prepared or []):
            taken, self.prepared = (self.prepared or [])[:count], (self.prepared or [])[count:]
            return taken
        return _ALLOC(self, count)

    def ignores_what_is_prepared(self, count: int) -> list[int] | None:
        return band_alloc.alloc(self._band, count)

    def takes_one_too_many(self, count: int) -> None:
        self.prepared = band_alloc.alloc(self._band, count + 1) if count > 0 else None

    def forgets_what_it_took(self, count: int) -> None:
        _BEGIN(self, count)
        self.prepared = None

    def gives_back_one(self, states: Any) -> None:
        if states:
            self._band.free(states[:1])


_ALLOC, _BEGIN = StateWrapper.alloc, StateWrapper.begin

FAULTS: tuple[tuple[str, Callable[..., Any]], ...] = (
    ("end", _Wrapper.loses_the_rest),
    ("end", _Wrapper.ends_nothing),
    ("end", _Wrapper.frees_and_keeps_the_rest),
    ("clear", _Wrapper.ends_nothing),
    ("alloc", _Wrapper.hands_out_the_same_again),
    ("alloc", _Wrapper.hands_the_last_two_out_together),
    ("alloc", _Wrapper.ignores_what_is_prepared),
    ("begin", _Wrapper.takes_one_too_many),
    ("begin", _Wrapper.forgets_what_it_took),
    ("free", _Wrapper.gives_back_one),
)


@pytest.mark.parametrize("family", ["unified-mamba", "unified-mamba-swa"])
@pytest.mark.parametrize(
    ("name", "fault"), FAULTS, ids=lambda value: getattr(value, "__name__", value)
)
def test_the_laws_alone_find_a_wrapper_with_a_fault(
    monkeypatch: pytest.MonkeyPatch, name: str, fault: Callable[..., Any], family: Any
) -> None:
    monkeypatch.setattr(StateWrapper, name, fault)
    found: list[str] = []

    def look(_trace: Trace, session: Session) -> None:
        found.extend(f"{finding.kind} {finding.quantity}" for finding in session.findings)

    explore(
        ReferenceTarget(),
        family,
        examples=40,
        seed=21,
        callers="legal",
        judging=ALONE,
        on_example=look,
        stop=lambda: bool(found),
    )
    assert found, f"no legal caller found the {fault.__name__} of {name}"
    assert found[0].startswith("law state."), found


class _TwiceAndHidden(ReferenceTarget):
    """Hands the first prepared state out again, and shows a state that knows nothing of it."""

    _again: tuple[int, ...] | None = None

    def apply(self, call: Call) -> Outcome:
        outcome = super().apply(call)
        if call.method == "alloc" and call.pool == "state" and call.need == 1:
            before, self._again = self._again, outcome.value
            if before is not None and outcome.value is not None:
                return Outcome(value=before, dtype="int64")
        return outcome


def test_a_state_that_is_handed_out_twice_is_found_whatever_the_target_shows() -> None:
    session = Session([_TwiceAndHidden()], full_and_state(), callers="legal", judging=ALONE)
    for operation in (BEGIN, op.StateAlloc(), op.StateAlloc()):
        session.step(operation)
    assert [finding.quantity for finding in session.findings] == ["state.returned-slots"]


def test_a_snapshot_without_prepared_states_is_like_one_that_prepared_none() -> None:
    house = UnifiedHouse(full_and_state(), op.StateAlloc(count=1))
    state: UnifiedSnapshot = house.snapshot
    assert state.prepared is None
    assert house.judge(state) is None
