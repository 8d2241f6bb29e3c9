"""The allocator of states above their band, torch and fused (contract_unified §10, contract_paged_swa §8)."""

from __future__ import annotations

from typing import Any

import pytest
from fused_bench import counted_launches, interpreted
from unified_bench import UnifiedBench, full_and_states, three_pools, two_pools

from oracle.call import Call, Tree
from oracle.geometry import Geometry, Mode
from targets.eager.target import EagerTarget
from targets.probes.host_syncs import host_sync_probe
from targets.probes.probed_target import ProbedTarget

GEOMETRIES = [full_and_states(), three_pools()]


def _target(name: str) -> EagerTarget:
    return interpreted() if name == "fused" else EagerTarget()


@pytest.fixture(params=["eager", "fused"])
def ours(request: pytest.FixtureRequest) -> EagerTarget:
    return _target(request.param)


@pytest.fixture(params=GEOMETRIES, ids=lambda geometry: geometry.family)
def bench(request: pytest.FixtureRequest, ours: EagerTarget) -> UnifiedBench:
    return UnifiedBench(request.param, None, ours)


def test_single_states_come_from_those_taken_out_in_advance_and_others_do_not(
    bench: UnifiedBench,
) -> None:
    bench.begin(3)
    assert (bench.seen.prepared, bench.band("state").live) == ([1, 2, 3], 3)
    assert bench.states(1) == (1,)
    assert bench.states(2) == (4, 5)
    assert bench.seen.prepared == [2, 3]
    bench.end()
    state = bench.band("state")
    assert bench.seen.prepared is None
    assert (state.free_ids or [])[-2:] == [2, 3]
    assert (state.holes, state.live, state.watermark) == ([2, 3], 3, 6)


def test_a_state_that_was_taken_out_is_handed_out_without_touching_the_band(
    bench: UnifiedBench,
) -> None:
    bench.begin(2)
    before = bench.band("state")
    outcome = bench.call("alloc", pool="state", need=1)
    assert (outcome.value, outcome.dtype) == ((1,), "int64")
    after = bench.band("state")
    assert (after.content[1], before.content[1]) == (1, 0), "the caller wrote its state"
    after.content = before.content
    assert after == before


def test_when_those_taken_out_are_used_up_singles_come_from_the_band(bench: UnifiedBench) -> None:
    bench.begin(1)
    assert [bench.states(1) for _ in range(2)] == [(1,), (2,)]
    assert bench.seen.prepared == []
    before = bench.seen
    bench.end()
    assert bench.seen.prepared is None
    assert bench.seen.bands == before.bands, "nothing was left"


def test_a_group_that_does_not_fit_takes_nothing(bench: UnifiedBench) -> None:
    before = bench.seen
    for need in (before.queries["state_size"] + 1, 0):
        bench.begin(need)
        assert bench.seen == before
    assert bench.states(1) == (1,)


def test_a_refused_group_forgets_the_earlier_one(bench: UnifiedBench) -> None:
    bench.begin(2)
    bench.begin(bench.seen.queries["state_size"])
    assert (bench.seen.prepared, bench.band("state").live) == (None, 2)
    assert bench.states(1) == (3,)


def test_a_second_begin_drops_what_was_taken_out_before(bench: UnifiedBench) -> None:
    bench.begin(2)
    bench.begin(1)
    assert bench.seen.prepared == [3]
    bench.end()
    state = bench.band("state")
    assert (state.holes, state.live) == ([3], 2), "states 1 and 2 stay taken"


def test_an_end_without_a_begin_does_nothing(bench: UnifiedBench) -> None:
    before = bench.seen
    bench.end()
    assert bench.seen == before


def test_clear_brings_everything_back(bench: UnifiedBench) -> None:
    before = bench.seen
    bench.begin(4)
    bench.call("clear")
    assert bench.seen == before
    assert bench.states(1) == (1,)


def test_what_was_taken_out_is_not_available(bench: UnifiedBench) -> None:
    before = bench.seen.queries
    state = bench.band("state")
    pages = len(state.p2v) - 1
    assert state.watermark is not None
    assert before["state_size"] == before["state_available_size"] == pages - state.watermark
    bench.begin(3)
    bench.states(1)
    bench.end()
    bench.begin(1)
    queries = bench.seen.queries
    assert queries["state_size"] == before["state_size"]
    assert queries["state_available_size"] == before["state_available_size"] - 2
    assert queries["state_free_slots"] == before["state_free_slots"] - 3, "holes were reached"
    assert queries["state_schedulable_size"] < before["state_schedulable_size"]


def test_states_are_looked_up_as_they_are(bench: UnifiedBench) -> None:
    bench.begin(2)
    bench.states(1)
    assert bench.call("translate", pool="state", slots=(1, 2, 3)).value == (1, 2, -1)


def test_freed_states_are_the_allocators_own(bench: UnifiedBench) -> None:
    bench.begin(3)
    bench.states(1)
    assert bench.free((1,), pool="state", wide=False, overwrite=True).error == ""
    bench.end()
    assert (bench.band("state").free_ids or [])[-3:] == [1, 2, 3]


def test_a_tree_gives_up_states_beside_those_taken_out(ours: EagerTarget) -> None:
    bench = UnifiedBench(three_pools(), None, ours)
    held = bench.states(17)
    bench.begin(1)
    need = bench.sizes()[0] + 16
    outcome = bench.call("evict_to_free_tokens", need=need, tree=Tree(states=held))
    assert outcome.value == (1,)
    assert bench.seen.prepared == [18]


def test_a_group_asks_the_neighbours_for_room(ours: EagerTarget) -> None:
    bench = UnifiedBench(three_pools(), None, ours)
    row = bench.row(16)
    numbers = bench.kv("swa", row)
    bench.states(3)
    bench.begin(6)
    assert bench.copies("swa"), "the middle band stayed in its place"
    assert bench.seen.prepared == [4, 5, 6, 7, 8, 9]
    assert bench.kv("swa", row) == numbers


@pytest.mark.parametrize("geometry", [full_and_states(lazy=False), three_pools(lazy=False)])
def test_an_end_that_may_not_move_pages_can_be_made_again(
    ours: EagerTarget, geometry: Geometry
) -> None:
    bench = UnifiedBench(geometry, None, ours)
    bench.begin(2)
    bench.states(1)
    bench.call("set_move_gate", pool="state", gate=0, gate_state="closed")
    before = bench.seen
    assert bench.call("alloc_group_end", pool="state").error == "AssertionError"
    assert bench.seen == before, "a call that raises changes nothing"
    bench.call("set_move_gate", pool="state", gate=0, gate_state="absent")
    bench.end()
    assert (bench.seen.prepared, bench.band("state").live) == (None, 1)


def test_without_states_nothing_is_ever_taken_out(ours: EagerTarget) -> None:
    assert UnifiedBench(two_pools(), None, ours).seen.prepared is None


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=lambda geometry: geometry.family)
def test_a_fused_group_is_two_launches_and_its_states_are_none(geometry: Geometry) -> None:
    bench = UnifiedBench(geometry, None, interpreted())
    launched = []
    for call in (lambda: bench.begin(3), lambda: bench.states(1), bench.end, bench.end):
        with counted_launches() as names:
            call()
        launched.append(names)
    assert launched == [["hand_out"], [], ["give_back"], []]


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=lambda geometry: geometry.family)
@pytest.mark.parametrize("name", ["eager", "fused"])
def test_a_group_reads_nothing_from_the_device(name: str, geometry: Geometry) -> None:
    probed = ProbedTarget(_target(name), host_sync_probe("cpu"))
    probed.reset(geometry, Mode())
    calls: list[dict[str, Any]] = [
        {"method": "alloc_group_begin", "need": 4},
        {"method": "alloc", "need": 1},
        {"method": "alloc", "need": 2},
        {"method": "free", "slots": (1, 5)},
        {"method": "alloc_group_end"},
        {"method": "alloc_group_begin", "need": 3},
    ]
    for fields in calls:
        outcome = probed.apply(Call(pool="state", **fields))
        assert outcome.error == ""
        assert outcome.costs is not None
        assert (outcome.costs.syncs, outcome.costs.shapes) == ((), ()), fields
