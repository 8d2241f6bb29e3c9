"""The releases' own allocator of states above the band of a unified allocator: what reaches it, and that it is the release's."""

from __future__ import annotations

import pytest
from release_process import run_on_releases

from targets.sglang.releases import RELEASES

UNIFIED = tuple(version for version in RELEASES if int(version.split(".")[2]) >= 20)

BODY = """
from oracle.byte_buffer import Buffer
from oracle.errors import TargetUnavailable
from targets.sglang.finder import SglangFinder

BUFFER = Buffer(total_bytes=1024, full_bytes=16, state_bytes=96)
PAIR = Geometry(family="unified-mamba", size=0, page_size=4, buffer=BUFFER)

def states(target, method, **fields):
    outcome = target.apply(Call(method=method, pool="state", **fields))
    assert not outcome.error, (method, outcome)
    return outcome.value

def body(version):
    target = make_sglang_target("sglang==" + version)
    target.reset(PAIR, Mode())
    own = target._unified._states
    assert type(own).__name__ == "UnifiedMambaSlotAllocator", type(own)
    assert type(own).__module__.startswith("sglang.srt.mem_cache."), type(own)
    fresh = target.snapshot().queries
    assert fresh["state_size"] == fresh["state_available_size"] == 9
    assert fresh["state_free_slots"] == 9
    states(target, "alloc_group_begin", need=3)
    assert target.snapshot().prepared == [1, 2, 3]
    assert states(target, "alloc", need=1) == (1,)
    assert states(target, "alloc", need=2) == (4, 5)
    state = target.snapshot()
    assert state.prepared == [2, 3]
    assert state.queries["state_available_size"] == 4, "what is prepared is not available"
    assert state.queries["state_free_slots"] == 4
    assert states(target, "translate", slots=(1, 4)) == (1, 4)
    states(target, "alloc_group_end")
    state = target.snapshot()
    assert state.prepared is None and state.queries["state_available_size"] == 6
    states(target, "alloc_group_begin", need=2)
    cleared = target.apply(Call(method="clear"))
    assert not cleared.error and target.snapshot().prepared is None

    SglangFinder.execute = lambda *_: None
    try:
        make_sglang_target("sglang==" + version).reset(PAIR, Mode())
    except TargetUnavailable as unavailable:
        print(version, "fetch the release again" in str(unavailable))
"""


@pytest.mark.release
def test_states_come_from_the_release_s_own_allocator_and_its_absence_is_one_sentence() -> None:
    out, _ = run_on_releases(BODY, UNIFIED)
    assert out.split() == [word for version in UNIFIED for word in (version, "True")]
