"""Unified allocators of real releases: golden traces of contract_unified §14, the double ratchet, and frees that only a group knows."""

from __future__ import annotations

import pytest
from release_process import run_on_release, run_on_releases

from targets.sglang.releases import RELEASES

UNIFIED = tuple(version for version in RELEASES if int(version.split(".")[2]) >= 20)

PRELUDE = """
from oracle.byte_buffer import Buffer
from oracle.call import Tree, TreeRow

def start(target, total=1024, level="off"):
    buffer = Buffer(total_bytes=total, full_bytes=16, swa_bytes=8)
    target.reset(Geometry(family="unified-swa", size=0, page_size=4, buffer=buffer), Mode(level=level))

def call(target, method, **fields):
    outcome = target.apply(Call(method=method, **fields))
    assert not outcome.error, (method, outcome)
    return outcome

def segment(target, kind, slots, start_pos=0):
    return call(target, kind, slots=slots, start_pos=start_pos)

def views(target):
    queries = target.snapshot().queries
    return tuple(queries[name + "_size"] for name in ("available", "full_available", "swa_available"))

def bound(band):
    return {virtual: page for virtual, page in enumerate(band.v2p) if virtual and page >= 0}
"""

GOLDEN = """
target = make_sglang_target("sglang==0.5.23")
start(target)
assert views(target) == (40, 60, 60)

# G1
first = call(target, "alloc", need=16).value
second = call(target, "alloc", need=12).value
assert (first, second) == (tuple(range(4, 20)), tuple(range(20, 32)))
state = target.snapshot()
full, swa = state.bands["full"], state.bands["swa"]
assert bound(full) == {1: 12, 2: 13, 3: 14, 4: 15, 5: 9, 6: 10, 7: 11} and full.watermark == 8
assert bound(swa) == {page: page + 1 for page in range(1, 8)} and swa.watermark == 9
assert views(target) == (12, 16, 32)

# G2
segment(target, "free_swa_segment", first[:8])
assert target.snapshot().bands["swa"].holes == [2, 3]
assert views(target) == (12, 20, 40)

# G3
call(target, "free_group_begin")
segment(target, "free_full_segment", first[:8])
segment(target, "free_segment", first[8:], 8)
state = target.snapshot()
assert (state.representative_pile, state.full_representative_pile) == ([[12, 16]], [[4, 8]])
assert views(target) == (12, 20, 40), "what waits in a group changes no view"

# G4
call(target, "free_group_end")
state = target.snapshot()
full, swa = state.bands["full"], state.bands["swa"]
assert full.holes == [14, 15, 12, 13]
assert full.free_ids == [*range(8, 16), 3, 4, 1, 2]
assert swa.holes == [2, 3, 4, 5]
assert views(target) == (28, 40, 48)

# G5
assert call(target, "alloc", need=4).value == (32, 33, 34, 35)
state = target.snapshot()
full, swa = state.bands["full"], state.bands["swa"]
assert (full.v2p[8], full.holes) == (15, [12, 13, 14]), "FULL draws the hole next to its own end"
assert (swa.v2p[8], swa.holes) == (2, [3, 4, 5])
assert views(target)[0] == 24
before = {slot: state.bands["full"].content[call(target, "translate", pool="full", slots=(slot,)).value[0]]
          for slot in second}

# G6
moves = []
for pool in ("full", "swa"):
    assert call(target, "flush", pool=pool).value == (3,)
    moves.append([(copy.source, copy.destination) for copy in target.snapshot().copies])
assert moves == [[(9, 14), (10, 13), (11, 12)], [(6, 5), (7, 4), (8, 3)]]
state = target.snapshot()
full, swa = state.bands["full"], state.bands["swa"]
assert (full.watermark, swa.watermark) == (8, 9)
assert (full.holes, swa.holes) == ([9, 10, 11], [8, 7, 6])
after = {slot: full.content[call(target, "translate", pool="full", slots=(slot,)).value[0]] for slot in second}
assert after == before, "moves carry the KV"

# G7
for pool in ("full", "swa"):
    assert call(target, "flush", pool=pool).value == (0,)
state = target.snapshot()
full, swa = state.bands["full"], state.bands["swa"]
assert (full.watermark, swa.watermark, full.holes, swa.holes) == (11, 6, [], [])

# G8
newest = call(target, "alloc", need=24).value
assert views(target) == (0, 0, 0)
state = target.snapshot()
assert (state.bands["full"].watermark, state.bands["swa"].watermark) == (5, 12)

# G9
segment(target, "free_swa_segment", newest[:8])
plan = dict(need=8, need_swa=8, evictable_full=8, evictable_swa=8)
assert call(target, "reclaim_plan", **plan).value == (8, 0)
assert call(target, "reclaim_plan", **plan, prefer_swa=True).value == (4, 8)
assert call(target, "reclaim_plan", need=4, need_swa=0).value == (0, 0)
assert call(target, "ensure_capacity", need=4, need_swa=0).value == (1,)
swa = target.snapshot().bands["swa"]
assert swa.watermark == 10
assert {page: swa.v2p[page] for page in (11, 12, 13, 14)} == {11: 8, 12: 9, 13: 7, 14: 6}
assert views(target)[1:] == (4, 8)
strange = (-3, 0, 3, 4, 20, 31, 63, 64, 10**6)
assert call(target, "translate", pool="full", slots=strange).value == (0, 0, 3, 0, 56, 51, 0, 0, 0)
assert target.snapshot().byte_accounting == []
print("all nine")
"""

RATCHET = """
def body(version):
    target = make_sglang_target("sglang==" + version)
    name = "unified_swa.segment_bound"
    signals = version == "0.5.23"
    for level in ("off", "warn", "strict"):
        start(target, level=level)
        row = call(target, "alloc", need=8).value
        segment(target, "free_swa_segment", row[:4])
        before = target.snapshot()
        again = target.apply(Call(method="free_swa_segment", slots=row[:4], start_pos=0))
        after = target.snapshot()
        if not signals:
            assert not again.error and not again.hits and after == before, (version, again)
            continue
        assert again.hits == (Hit(name, 1),), (level, again)
        assert again.error == ("" if level == "off" else f"invariant:{name}"), (level, again)
        if level != "off":
            assert after == before, "the signal comes before anything changes"
            continue
        swa = after.bands["swa"]
        assert -1 in swa.holes and swa.live == before.bands["swa"].live - 1
        assert after.byte_accounting == [], "the release's own verifier does not see it"
    print(version)
"""

JUDGED = """
from oracle.geometry import LEVELS
from oracle.lockstep import run_trace
from oracle.operations import Evict, Extend, FreeSegment, Part
from oracle.trace import Trace

def body(version):
    target = make_sglang_target("sglang==" + version)
    buffer = Buffer(total_bytes=1024, full_bytes=16, swa_bytes=8)
    geometry = Geometry(family="unified-swa", size=60, size_swa=60, page_size=4, buffer=buffer)
    operations = (
        Extend(parts=(Part(amount=8),)),
        Evict(),
        FreeSegment(method="free_swa_segment"),
        Extend(parts=(Part(amount=32),)),
    )
    for level in LEVELS:
        trace = Trace(geometry=geometry, mode=Mode(level=level), callers="hostile", operations=operations)
        kinds = [finding.kind for finding in run_trace(trace, [target]).findings]
        hazardous = version == "0.5.23" and level == "off"
        assert kinds == (["hazard"] if hazardous else []), (version, level, kinds)
    print(version)
"""

GROUPED = """
def evict_in_a_group(target, rows):
    start(target, total=1088)
    row = call(target, "alloc", need=target.snapshot().queries["available_size"]).value
    half = len(row) // 8 * 4
    segment(target, "free_swa_segment", row[:half])
    call(target, "free_group_begin")
    segment(target, "free_full_segment", row[:half])
    tree = Tree(rows=(TreeRow(slots=row[half:], start_pos=half, bound=True),) if rows else ())
    evicted = call(target, "evict_to_free_tokens", need=half, tree=tree)
    return evicted, target.snapshot(), call(target, "alloc", need=half).value

def body(version):
    target = make_sglang_target("sglang==" + version)
    for rows in (True, False):
        evicted, state, got = evict_in_a_group(target, rows)
        if version == "0.5.23":
            assert evicted.value == (1,) and not evicted.evicted, "what waits is enough"
            assert state.group_open and not state.full_representative_pile
            assert got is not None
        elif rows:
            assert evicted.evicted, "the tree paid for what waited in the group"
        else:
            assert evicted.value is None and got is None, "what waited was not seen"
    print(version)
"""


@pytest.mark.release
def test_the_golden_traces_of_two_pools_hold_on_the_newest_release() -> None:
    out, _ = run_on_release(PRELUDE + GOLDEN)
    assert out.split() == ["all", "nine"]


@pytest.mark.release
def test_a_second_window_eviction_is_a_hazard_on_the_newest_release_only_and_signalled_from_warn() -> (
    None
):
    out, _ = run_on_releases(PRELUDE + RATCHET, UNIFIED)
    assert tuple(out.split()) == UNIFIED


@pytest.mark.release
def test_an_eviction_sizes_itself_after_full_only_frees_that_wait_in_a_group() -> None:
    out, _ = run_on_releases(PRELUDE + GROUPED, ("0.5.21", "0.5.22", "0.5.23"))
    assert out.split() == ["0.5.21", "0.5.22", "0.5.23"]


@pytest.mark.release
def test_a_double_ratchet_of_four_operations_is_judged_a_hazard_where_nothing_contains_it() -> None:
    out, _ = run_on_releases(PRELUDE + JUDGED, UNIFIED)
    assert tuple(out.split()) == UNIFIED
