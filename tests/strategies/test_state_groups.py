"""Alloc groups of states are drawn for every family that has states, and often enough go on with what they prepared."""

from __future__ import annotations

import pytest

from oracle import operations as op
from oracle.byte_buffer import Buffer
from oracle.call import Call
from oracle.contract import current_contract
from oracle.geometry import Family, Geometry
from oracle.lockstep import Session
from oracle.observation import Outcome
from oracle.trace import Trace
from oracle.unified_observation import UnifiedSnapshot
from strategies.explore import explore
from strategies.follow_ups import FollowUps
from strategies.rules import rules_for
from targets.reference import ReferenceTarget

GROUPS = {op.AllocGroupBegin, op.AllocGroupEnd}
PAIR = Geometry(
    family="unified-mamba",
    size=0,
    page_size=4,
    buffer=Buffer(total_bytes=1024, full_bytes=16, state_bytes=96),
)


@pytest.mark.parametrize(
    ("family", "has_them"),
    [
        ("mamba-slots", True),
        ("unified-mamba", True),
        ("unified-mamba-swa", True),
        ("unified-swa", False),
        ("paged", False),
    ],
)
def test_the_families_with_states_draw_alloc_groups(family: Family, has_them: bool) -> None:
    rules = rules_for(family, current_contract(family), "legal")
    assert ({rule.kind for rule in rules} >= GROUPS) == has_them


@pytest.mark.parametrize("family", ["unified-mamba", "unified-mamba-swa"])
def test_states_are_prepared_handed_out_and_given_back(family: Family) -> None:
    seen = {"handed out": 0, "given back": 0, "moved": 0}

    class Watched(ReferenceTarget):
        def state(self) -> UnifiedSnapshot:
            state = self.snapshot()
            assert isinstance(state, UnifiedSnapshot)
            return state

        def apply(self, call: Call) -> Outcome:
            before = self.state().prepared or []
            outcome = super().apply(call)
            after = self.state()
            seen["handed out"] += call.method == "alloc" and (after.prepared or []) != before
            seen["given back"] += call.method == "alloc_group_end" and bool(before)
            moved = {copy.destination for copy in after.copies if copy.band == "state"}
            places = [after.bands["state"].v2p[state] for state in after.prepared or []]
            seen["moved"] += not moved.isdisjoint(places)
            return outcome

    explore(Watched(), family, examples=60, seed=9, callers="legal")
    assert min(seen.values()) >= 5, seen


def test_only_hostile_callers_begin_twice() -> None:
    nested = {"legal": 0, "hostile": 0}

    def look(trace: Trace, _: Session) -> None:
        begins = [one for one in trace.operations if isinstance(one, op.AllocGroupBegin)]
        nested[trace.callers] += sum(begin.nested for begin in begins)

    for callers in ("legal", "hostile"):
        explore(
            ReferenceTarget(),
            "unified-mamba",
            examples=20,
            seed=4,
            callers=callers,  # type: ignore[arg-type]
            on_example=look,
        )
    assert nested["legal"] == 0
    assert nested["hostile"] > 0


def test_a_state_is_handed_out_after_every_second_begin() -> None:
    follow_ups = FollowUps(PAIR, hostile=False)
    made: list[list[op.Base]] = []
    for _ in range(8):
        follow_ups.saw(op.AllocGroupBegin(amount=2))
        due = []
        while (one := follow_ups.due()) is not None:
            due.append(one)
        made.append(due)
    assert made[1] == made[3] == made[5] == made[7] == []
    assert [type(one) for one in made[0]] == [op.StateFree, op.Flush, op.StateAlloc]
    assert made[2] == [op.StateAlloc(), op.AllocGroupEnd()]
    assert made[0][1] == op.Flush(band=1, urgent=True)
