"""Our row layer on our allocators: what contract_paged_swa §11 says, and that each fault put into the layer is seen."""

from __future__ import annotations

import pytest
import torch
from eager_calls import Bench, hybrid
from row_checks import CHECKS, WINDOW, Check, RowBench
from row_programs import run_alike

from oracle.contract import current_contract
from oracle.geometry import Mode
from targets.eager.hybrid_swa import HybridSWAAllocator
from targets.eager.target import EagerTarget
from targets.fused.target import FusedTarget
from targets.mutants.mutant import Mutant
from targets.mutants.row_faults import FAULTS
from targets.rows.layer import RowLayer
from targets.rows.methods import ROW_METHODS
from targets.rows.request import Request


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_on_the_eager_allocator(check: Check) -> None:
    check(EagerTarget())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_on_the_fused_allocator(check: Check) -> None:
    check(FusedTarget())


@pytest.mark.parametrize("mutant", FAULTS.mutants, ids=lambda mutant: mutant.name)
def test_a_fault_in_the_layer_is_seen(mutant: Mutant) -> None:
    seen = [check.__name__ for check in CHECKS if _fails(check, mutant)]
    assert seen


def _fails(check: Check, mutant: Mutant) -> bool:
    target = EagerTarget(name=mutant.name, classes=mutant.classes)
    try:
        check(target)
    except AssertionError:
        return True
    return False


def _request(**cursors: int) -> Request:
    return Request(torch.zeros((2, 24), dtype=torch.int32), 1, **cursors)


@pytest.mark.parametrize(
    ("protected", "floor", "bound"), [(8, 0, 8), (8, 8, 8), (6, 6, 6), (4, 5, 8), (0, 8, 8)]
)
def test_only_a_floor_above_what_is_protected_is_rounded_up(
    protected: int, floor: int, bound: int
) -> None:
    assert _request(protected=protected, floor=floor).dead_lower_bound(4) == bound


def test_a_released_request_has_no_row_and_no_cursors() -> None:
    request = _request(protected=4, floor=6, evicted=8, committed=20, allocated=24)
    request.mark_released()
    cursors = (request.protected, request.floor, request.evicted)
    assert (request.held, request.committed, request.allocated, *cursors) == (False, 0, 0, 0, 0, 0)


def test_a_cut_row_has_nothing_evicted_beyond_its_end() -> None:
    request = _request(evicted=12)
    request.clamp_evicted(16)
    assert request.evicted == 12
    request.clamp_evicted(8)
    assert request.evicted == 8


def test_an_eviction_goes_by_the_pages_of_the_tree_and_a_release_by_those_of_the_allocator() -> (
    None
):
    target = EagerTarget()
    bench = RowBench(target)
    assert isinstance(target.allocator, HybridSWAAllocator)
    layer = RowLayer(target.allocator, page_size=8)
    request = _request(floor=4)
    request.row.copy_(torch.tensor(bench.slots))
    layer.evict_out_of_window(request, 24, window=WINDOW)
    assert request.evicted == 16
    assert bench.mapped() == [*range(8), *range(16, 24)]
    request.floor = 8
    layer.free_row(request, [(0, 24)])
    assert bench.mapped() == []
    full, swa = bench.free_lists()
    assert sorted(full) == sorted(swa) == [*range(1, 17)]


@pytest.mark.parametrize("target", [EagerTarget(), FusedTarget()], ids=lambda target: target.name)
def test_the_family_has_a_contract_and_a_state_like_the_hybrid_one(target: EagerTarget) -> None:
    assert target.contract("hybrid-rows") == current_contract("hybrid-rows")
    bench = RowBench(target)
    hybrid_bench = Bench(hybrid(64, 64), target=EagerTarget())
    assert hybrid_bench.fresh(24) == bench.slots
    assert hybrid_bench.state == bench.state
    bench.evict(22)
    target.reset(bench.geometry, Mode())
    assert bench.fresh(24) == bench.slots
    assert hybrid_bench.state == bench.state


def test_random_programs_run_alike_on_both_of_ours() -> None:
    ended = run_alike(range(8), [EagerTarget(), FusedTarget()])
    for method in ROW_METHODS:
        assert ended[method, ""]
    assert any(error == "AssertionError" for _, error in ended)
