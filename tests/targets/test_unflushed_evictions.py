"""A group that holds only FULL-only segment frees, and then an eviction that must size itself: what waits is enough (contract_unified §11 B1)."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from release_process import run_on_releases

from oracle.lockstep import run_trace
from oracle.operations import EvictForAlloc
from oracle.trace import Trace, read_trace
from targets.registry import make_target

TRACE = Path(__file__).parents[1] / "corpus" / "full-only-frees-not-flushed.json"
ON_A_RELEASE = """
from pathlib import Path
from oracle.lockstep import run_trace
from oracle.trace import read_trace

def body(release):
    target = make_sglang_target(f"sglang=={release}")
    session = run_trace(read_trace(Path(sys.argv[2])), [target], keep_records=True)
    last = session.records[-1].got
    print(release, last.value, len(last.evicted), [finding.kind for finding in session.findings], sep="|")
"""


def _with_an_empty_tree() -> Trace:
    trace = read_trace(TRACE)
    *before, eviction = trace.operations
    assert isinstance(eviction, EvictForAlloc)
    assert eviction.rows
    return replace(trace, operations=(*before, replace(eviction, rows=0)))


@pytest.mark.parametrize("trace", [read_trace(TRACE), _with_an_empty_tree()], ids=["rows", "empty"])
def test_ours_frees_what_waits_and_leaves_the_tree_alone(trace: Trace) -> None:
    target = make_target("eager")
    session = run_trace(trace, [target], keep_records=True)
    assert session.findings == []
    last = (session.records or [])[-1].got
    assert (last.value, last.evicted) == ((1,), ())
    state = target.snapshot()
    assert state.group_open
    assert state.full_representative_pile == []


@pytest.mark.release
def test_the_newest_release_does_the_same_and_the_ones_before_are_reported() -> None:
    printed, _ = run_on_releases(ON_A_RELEASE, ("0.5.21", "0.5.22", "0.5.23"), str(TRACE))
    seen = {line.split("|")[0]: line.split("|")[1:] for line in printed.splitlines()}
    assert seen["0.5.23"] == ["(1,)", "0", "[]"]
    for release in ("0.5.21", "0.5.22"):
        verdict, evicted, kinds = seen[release]
        assert (verdict, kinds) == ("(1,)", "['divergence']"), release
        assert int(evicted) > 0, "the tree paid for what waited"
