"""Simulated days of traffic: legal, repeatable, with every serving pattern in them, and whole at the end."""

from __future__ import annotations

from collections import Counter

import pytest

from oracle import operations as op
from oracle.contract import current_contract
from oracle.errors import UsageError
from oracle.geometry import Family, Geometry, Mode
from oracle.lockstep import Session, run_trace
from oracle.trace import Trace
from strategies.serving.dry_run import simulated_trace
from strategies.serving.scheduler import serve
from strategies.serving.workload import Workload, serving_geometry
from targets.reference import ReferenceTarget

NO_CALL = {"fork", "release", "drain"}
"""What may come to no call: sharing needs none, nor does letting go of pages that others hold, nor a drain of nothing."""

HYBRID_PATTERNS = {
    "extend", "extend-tail", "decode", "fork", "load", "recover", "transfer-peers", "evict", "free-segment",
    "release", "group-begin", "group-end", "translate", "clear", "drain",
}  # fmt: skip


def day(
    family: Family, page_size: int, *, requests: int = 50, sharing: bool = True, seed: int = 0
) -> Trace:
    geometry = serving_geometry(family, page_size, need_sort=seed % 2 == 1)
    workload = Workload(requests=requests, sharing=sharing)
    return simulated_trace(geometry, current_contract(family), workload, seed)


@pytest.mark.parametrize("sharing", [True, False])
@pytest.mark.parametrize(
    ("family", "page_size"),
    [("token", 1), ("paged", 1), ("paged", 16), ("hybrid-swa", 1), ("hybrid-swa", 4)],
)
def test_a_day_is_legal_and_nothing_of_it_comes_to_no_call(
    family: Family, page_size: int, sharing: bool
) -> None:
    geometry = serving_geometry(family, page_size)
    session = Session([ReferenceTarget()], geometry, Mode(level="strict"), "legal")
    idle: Counter[str] = Counter()
    for operation in serve(session.caller, Workload(requests=25, sharing=sharing), 5):
        if session.step(operation) == "skipped":
            idle[op.kind_of(operation)] += 1
    assert set(idle) <= NO_CALL, idle
    assert not session.findings, session.findings[0].sentence()
    assert not session.undefined
    assert not session.caller.books.requests, "the drain gives everything back"
    assert session.caller.available_full == geometry.size // page_size * page_size


def test_the_serving_patterns_are_all_there() -> None:
    traces = [day("hybrid-swa", size, seed=seed) for size in (1, 4) for seed in range(3)]
    operations = [operation for trace in traces for operation in trace.operations]
    kinds = {op.kind_of(operation) for operation in operations}
    assert kinds == HYBRID_PATTERNS
    frees = {(one.method, one.direct) for one in operations if isinstance(one, op.FreeSegment)}
    assert frees == {
        ("free_segment", False),  # rollback of drafts, partial last pages, duplicates with peers
        ("free_segment", True),  # eviction from the tree on the FULL pool itself
        ("free_full_segment", False),  # duplicates and tombstones whose peers are gone
    }
    extends = [one for one in operations if isinstance(one, op.Extend)]
    assert any(len(one.parts) > 1 for one in extends), "a batch"
    assert any(part.request for one in extends for part in one.parts), "a chunk or a draft"
    assert any(one.count for one in operations if isinstance(one, op.Decode)), "a decode batch"


def test_under_pressure_requests_are_retracted_and_come_back() -> None:
    trace = day("paged", 16, requests=100, sharing=False)
    released = sum(isinstance(operation, op.Release) for operation in trace.operations)
    assert released > 100, "each request ends once, so the rest was retracted"


def test_windows_are_evicted_in_one_group_a_step() -> None:
    trace = day("hybrid-swa", 1, sharing=False)
    group, sizes = False, Counter[int]()
    inside = 0
    for operation in trace.operations:
        if isinstance(operation, op.GroupBegin):
            group, inside = True, 0
        elif isinstance(operation, op.GroupEnd):
            group = False
            sizes[inside] += 1
        elif isinstance(operation, op.Evict):
            assert group, "a window is evicted outside a group"
            inside += 1
    assert max(sizes) > 1, "no group has two evictions"


def test_a_seed_gives_the_same_day_and_another_seed_another_one() -> None:
    assert day("hybrid-swa", 4, requests=20) == day("hybrid-swa", 4, requests=20)
    assert day("hybrid-swa", 4, requests=20) != day("hybrid-swa", 4, requests=20, seed=2)


def test_a_day_on_an_allocator_is_the_day_that_the_prediction_foretold() -> None:
    trace = day("hybrid-swa", 4, requests=20)
    session = Session([ReferenceTarget()], trace.geometry, trace.mode, "legal")
    workload = Workload(requests=20)
    performed = []
    for operation in serve(session.caller, workload, 0):
        session.step(operation)
        performed.append(operation)
    assert tuple(performed) == trace.operations
    assert not run_trace(trace, [ReferenceTarget()]).findings


@pytest.mark.parametrize("optimistic", [True, False])
@pytest.mark.parametrize("pages", [1, 2, 5])
def test_a_pool_that_is_much_too_small_ends_the_day_all_the_same(
    pages: int, optimistic: bool
) -> None:
    geometry = Geometry(family="hybrid-swa", size=pages * 4, size_swa=pages * 4, page_size=4)
    workload = Workload(requests=8, optimistic=optimistic)
    trace = simulated_trace(geometry, current_contract("hybrid-swa"), workload, 1)
    assert isinstance(trace.operations[-1], op.Drain)
    assert not run_trace(trace, [ReferenceTarget()]).findings


@pytest.mark.parametrize("optimistic", [True, False])
def test_only_an_optimistic_scheduler_is_ever_refused(optimistic: bool) -> None:
    geometry = serving_geometry("hybrid-swa", 4)
    workload = Workload(requests=40, sharing=False, optimistic=optimistic)
    trace = simulated_trace(geometry, current_contract("hybrid-swa"), workload, 1)
    session = run_trace(trace, [ReferenceTarget()], keep_records=True)
    assert not session.findings
    refused = [
        record.call.method
        for record in session.records or ()
        if record.call.method.startswith("alloc") and record.got.value is None
    ]
    assert bool(refused) == optimistic, refused


def test_sizes_that_no_allocator_can_have_are_refused() -> None:
    with pytest.raises(UsageError, match="page size 64 is impossible"):
        serving_geometry("hybrid-swa", 64, size=10)
