"""The target `eager`: resets, snapshots, the protocol."""

from __future__ import annotations

import pytest
from eager_calls import Bench, hybrid, paged, pages, token

from oracle.call import Call
from oracle.errors import UsageError
from oracle.geometry import Geometry, Mode
from oracle.target import Target
from targets.eager.target import EagerTarget

GEOMETRIES = [
    token(9, need_sort=True),
    paged(27, 3, need_sort=True),
    hybrid(16, 24),
    hybrid(need_sort=True),
    hybrid(8, 6, 1),
]


def disturb(target: EagerTarget, geometry: Geometry) -> None:
    bench = Bench(geometry, Mode(debug=True), target)
    need = Call(method="alloc", need=3 * geometry.page_size)
    row = target.apply(need).value or bench.extend((0, 7, -1)).value
    assert row is not None
    bench.free(row[: geometry.page_size])
    bench.call("free_group_begin")
    bench.free(row[geometry.page_size :])
    if geometry.family == "hybrid-swa":
        bench.free(row[:1], "free_swa")
    bench.free(row[:1], "free_segment")


def test_it_is_a_target() -> None:
    target = EagerTarget()
    assert isinstance(target, Target)
    assert target.name == "eager"
    assert target.versions["torch"]
    contract = target.contract("hybrid-swa")
    assert contract is not None
    assert contract.has_counter
    assert target.contract("mamba") is None


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_a_reused_target_is_in_the_state_of_a_fresh_one(geometry: Geometry) -> None:
    target = EagerTarget()
    disturb(target, geometry)
    allocator = target.allocator
    disturbed = target.snapshot()
    target.reset(geometry, Mode(debug=True))
    fresh = Bench(geometry, Mode(debug=True)).state
    assert target.allocator is allocator
    assert disturbed != fresh
    assert target.snapshot() == fresh


@pytest.mark.parametrize(
    "spoiling",
    [
        Call(method="resize", size=8, size_swa=8),
        Call(method="clear_full_to_swa_mapping", slots=(-1,)),
        Call(method="free_swa", slots=(1000,)),
    ],
)
def test_what_clear_does_not_undo_makes_the_next_reset_build_anew(spoiling: Call) -> None:
    bench = Bench(hybrid(16, 16))
    before = bench.state
    bench.target.apply(spoiling)
    bench.target.reset(bench.geometry, Mode())
    assert bench.state == before


def test_debug_mode_and_level_follow_the_last_reset() -> None:
    target = EagerTarget()
    for mode in (Mode(), Mode(debug=True), Mode(level="strict"), Mode()):
        bench = Bench(hybrid(), mode, target)
        bench.fresh(4)
        outcome = bench.free(pages(1), "free_full")
        assert (outcome.error == "invariant:swa.peer_released") == (mode.level == "strict")
        bench.call("clear")
        outcome = bench.call("alloc", need=3, pool="full")
        assert (outcome.error == "AssertionError") == mode.debug


def test_an_impossible_geometry_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="not 2"):
        EagerTarget().reset(Geometry(family="token", size=8, page_size=2), Mode())


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_looking_changes_nothing(geometry: Geometry) -> None:
    target = EagerTarget()
    disturb(target, geometry)
    first = target.snapshot()
    first.full.free.append(-1)
    first.full.staged.append([])
    second = target.snapshot()
    assert second == target.snapshot()
    assert second != first


def test_new_pages_available_is_asked_on_the_grid_row_by_row() -> None:
    state = Bench(hybrid(8, 4)).state
    # FULL has 2 pages, SWA 1: rows are 0, 1, 2, 3 FULL pages, columns 0, 1, 1, 2 SWA pages.
    fits = [True, True, True, False]
    assert state.new_pages == [*fits, *fits, *fits, False, False, False, False]
