"""What a release with invariants says at each level on a CPU, what had been changed when it said it, and what is counted."""

from __future__ import annotations

import pytest
from release_process import run_on_releases

from targets.sglang.releases import RELEASES

WITH_INVARIANTS = tuple(version for version in RELEASES if int(version.split(".")[2]) >= 20)

PRELUDE = """
PEER, RELEASED = "swa.peer_mapped", "swa.peer_released"

def start(target, level, page_size=4):
    size = 32 if page_size > 1 else 8
    geometry = Geometry(family="hybrid-swa", size=size, size_swa=size, page_size=page_size)
    target.reset(geometry, Mode(level=level))
    if page_size == 1:
        return target.apply(Call(method="alloc", need=4)).value
    return target.apply(
        Call(method="alloc_extend", prefix_lens=(0,), seq_lens=(8,), last_loc=(-1,), extend_num_tokens=8)
    ).value

def check(target, call, error, hits, counted):
    before = target.snapshot()
    outcome = target.apply(call)
    got = (outcome.error, outcome.hits, outcome.counted)
    assert got == (error, hits, counted), (target.name, call, got)
    return before, target.snapshot()
"""

BODY = """
def body(version):
    target = make_sglang_target("sglang==" + version)
    for level in ("off", "warn", "strict"):
        unmapped(target, level)
        bound(target, level)
        unmapped_slot(target, level)
        in_group(target, level)

def unmapped(target, level):
    row = start(target, level)
    segment = Call(method="free_swa_segment", slots=row[4:], start_pos=4)
    check(target, segment, "", (), ())
    raised = f"invariant:{PEER}" if level != "off" else ""
    before, after = check(target, segment, raised, (Hit(PEER, 1),), ())
    if raised:
        assert after == before, "something changed before the invariant was raised"
    else:
        assert after.swa.free[0] == 0, "at off the padding page goes into the free list"

def bound(target, level):
    row = start(target, level)
    raised = f"invariant:{RELEASED}" if level == "strict" else ""
    counted = (Hit(RELEASED, 4),) if level == "warn" else ()
    first = Call(method="free_full", slots=row[:4])
    before, after = check(target, first, raised, (Hit(RELEASED, 4),), counted)
    assert (after == before) == bool(raised), "FULL is released unless it was raised"
    assert after.mapping == before.mapping
    second = Call(method="free_full_segment", slots=row[4:7], start_pos=4)
    counted = (Hit(RELEASED, 3),) if level == "warn" else ()
    check(target, second, raised, (Hit(RELEASED, 3),), counted)

def unmapped_slot(target, level):
    row = start(target, level, page_size=1)
    check(target, Call(method="free_swa", slots=row[1:3]), "", (), ())
    raised = f"invariant:{PEER}" if level != "off" else "AssertionError"
    before, after = check(target, Call(method="free", slots=row), raised, (Hit(PEER, 2),), ())
    assert after.full == before.full, "the FULL half came before the SWA half had raised"
    assert (after == before) == (level != "off")

def in_group(target, level):
    row = start(target, level)
    check(target, Call(method="free_group_begin"), "", (), ())
    raised = f"invariant:{RELEASED}" if level == "strict" else ""
    counted = (Hit(RELEASED, 4),) if level == "warn" else ()
    call = Call(method="free_full", slots=row[:4])
    before, after = check(target, call, raised, (Hit(RELEASED, 4),), counted)
    assert (after.full.group == []) == bool(raised), "judged when it is put on the pile"
    check(target, Call(method="free_group_end"), "", (), ())
"""


@pytest.mark.release
def test_each_level_says_raises_and_counts_what_the_contract_says() -> None:
    assert WITH_INVARIANTS == ("0.5.20", "0.5.21", "0.5.22", "0.5.23")
    printed, errors = run_on_releases(PRELUDE + BODY, WITH_INVARIANTS)
    assert "invariant-check" not in printed + errors, "the release's own log reached the terminal"


QUIET = """
def body(version):
    import logging
    records = []
    handler = logging.Handler()
    handler.emit = records.append
    logging.getLogger().addHandler(handler)
    target = make_sglang_target("sglang==" + version)
    assert target.contract("hybrid-swa").invariants == frozenset()
    for level in ("off", "warn", "strict"):
        row = start(target, level)
        outcome = target.apply(Call(method="free_swa", slots=row))
        outcome = target.apply(Call(method="free_swa", slots=row))
        assert (outcome.error, outcome.hits, outcome.counted) == ("", (), None), outcome
    assert not records, records
"""


@pytest.mark.release
def test_a_release_without_invariants_says_nothing_at_any_level() -> None:
    run_on_releases(PRELUDE + QUIET, ("0.5.16", "0.5.19"))


DEBUG = """
def body(version):
    target = make_sglang_target("sglang==" + version)
    geometry = Geometry(family="paged", size=32, page_size=4)
    for debug in (False, True):
        target.reset(geometry, Mode(debug=debug))
        slots = target.apply(Call(method="alloc", need=8)).value
        assert target.apply(Call(method="free", slots=slots[:4])).error == ""
        outcome = target.apply(Call(method="free", slots=slots[:4]))
        assert outcome.error == ("AssertionError" if debug else ""), (version, debug, outcome)
        assert target.snapshot().full.free[:2] == [1, 1], "the check comes after the release"
"""


@pytest.mark.release
def test_the_debug_mode_of_a_release_is_what_the_run_asked_for() -> None:
    run_on_releases(DEBUG, RELEASES)
