"""The whole state of a release as the oracle names it: piles of an open group, staged pages, backups, at every age."""

from __future__ import annotations

import pytest
from release_process import run_on_releases

from targets.sglang.releases import RELEASES

PRELUDE = """
def number(version):
    return int(version.split(".")[2])

def start(version, requests=4):
    target = make_sglang_target("sglang==" + version)
    target.reset(
        Geometry(family="hybrid-swa", size=32, size_swa=32, page_size=4), Mode()
    )
    for _ in range(requests):
        extend = Call(
            method="alloc_extend", prefix_lens=(0,), seq_lens=(8,), last_loc=(-1,), extend_num_tokens=8
        )
        assert target.apply(extend).value is not None
    return target

def slots(*pages):
    return tuple(page * 4 + offset for page in pages for offset in range(4))

def made(target, **call):
    outcome = target.apply(Call(**call))
    assert outcome.error == "", outcome

def whole(state, pages):
    return [page for page in pages if state.mapping[page * 4] and state.mapping[page * 4 + 3]]
"""

# The sequence and its results are those of contract_paged_swa §13.3.
GOLDEN = """
def body(version):
    minor = number(version)
    target = start(version)
    made(target, method="free_group_begin")
    made(target, method="free", slots=slots(3, 4))
    if minor >= 17:
        made(target, method="free_segment", slots=slots(1, 2), start_pos=0)
    else:
        made(target, method="free", slots=slots(1, 2))
    if minor <= 13:
        # Those gather the peers of the given slots only, so every slot of the pages is given.
        made(target, method="free_swa", slots=slots(5, 6))
    else:
        made(target, method="free_swa", slots=(20, 24))
    made(target, method="free", slots=slots(7, 8))
    piles(minor, target.snapshot())
    made(target, method="free_group_end")
    after = target.snapshot()
    assert after.full.free == [1, 2, 3, 4, 7, 8], after
    wanted = {18: [5, 6, 1, 2, 3, 4, 7, 8], 19: [5, 6, 1, 2, 3, 4, 7, 8]}
    wanted = wanted.get(minor, [1, 2, 3, 4, 7, 8, 5, 6] if minor < 18 else [3, 4, 5, 6, 7, 8, 1, 2])
    assert after.swa.free == wanted, after
    empty = (after.group, after.full.group, after.swa.group, after.full_only_pile)
    assert empty == (None, None, None, []), after
    assert (after.swa_set_pile, after.swa_page_pile, after.full.page_pile) == ([], [], []), after
    assert after.queries["available_size"] == 24, after
    assert bool(after.new_pages) == (minor >= 14), after

def piles(minor, state):
    assert state.swa.group is None, "the SWA pool's own group is never opened"
    assert state.swa.free == ([5, 6] if minor < 18 else []), state
    mapped = {18: [1, 2, 3, 4, 5, 6, 7, 8]}.get(minor, [1, 2, 3, 4, 7, 8] if minor < 20 else [])
    assert whole(state, range(1, 9)) == mapped, state
    plain = [list(slots(3, 4)), list(slots(1, 2)), list(slots(7, 8))]
    if minor >= 20:
        assert state.group == [], state
        assert state.full.group == [plain[0], plain[2]], state
        assert state.full.page_pile == [[1, 2]], state
        assert state.swa_page_pile == [[1, 2]], state
        # Each slot that was given brings its whole page along, so a page comes once for each of its slots.
        repeated = [list(slots(3) * 4 + slots(4) * 4), list(slots(7) * 4 + slots(8) * 4)]
        assert state.swa_set_pile == [repeated[0], list(slots(5, 6)), repeated[1]], state
        return
    assert state.group == plain, state
    assert state.full.group is None, state
    assert (state.swa_page_pile, state.full.page_pile) == ([], []), state
    waiting = {18: [[20, 24]], 19: [list(slots(5, 6))]}
    assert state.swa_set_pile == waiting.get(minor, []), state
"""

FULL_ONLY = """
def body(version):
    target = start(version)
    made(target, method="free_group_begin")
    made(target, method="free_swa", slots=slots(1, 2))
    made(target, method="free_swa", slots=slots(1))
    made(target, method="free_full", slots=slots(2))
    made(target, method="free_full", slots=slots(1))
    state = target.snapshot()
    assert state.full_only_pile == [list(slots(2)), list(slots(1))], state
    assert state.swa_set_pile == [list(slots(1, 2))], "joined, and what gathered nothing is not seen"
    made(target, method="free_group_end")
    assert target.snapshot().full_only_pile == []
    assert target.snapshot().full.free == [1, 2]
"""

PAGED = """
def body(version):
    minor = number(version)
    target = make_sglang_target("sglang==" + version)
    target.reset(Geometry(family="paged", size=32, page_size=4, need_sort=True), Mode())
    made(target, method="alloc", need=32)
    made(target, method="free", slots=slots(3, 4))
    made(target, method="free", slots=slots(1, 2))
    state = target.snapshot().full
    assert state.staged == ([[3, 4], [1, 2]] if minor >= 20 else [[1, 2, 3, 4]]), state
    assert (state.staged_count, state.available, state.free) == (4, 16, []), state
    assert state.all_free == ([3, 4, 1, 2] if minor >= 20 else None), state
    made(target, method="free_group_begin")
    if minor >= 17:
        start_pos = 0 if minor >= 20 else 2
        made(target, method="free_segment", slots=slots(5, 6)[start_pos:], start_pos=start_pos)
        made(target, method="free_segment", slots=slots(7), start_pos=0)
        state = target.snapshot().full
        assert state.page_pile == ([[5, 6], [7]] if minor >= 20 else [[22, 24, 28]]), state
        assert state.group == [], state
    made(target, method="free_group_end")
    made(target, method="merge_and_sort_free")
    state = target.snapshot().full
    assert state.free == ([1, 2, 3, 4, 5, 6, 7] if minor >= 17 else [1, 2, 3, 4]), state
    assert (state.staged, state.page_pile, state.group) == ([], [], None), state
"""

BACKUP = """
def body(version):
    # 0.5.9 asks for a page more than it needs, so that the last request would be refused.
    target = start(version, requests=3)
    made(target, method="free", slots=slots(2))
    before = target.snapshot()
    for pool in ("composite", "full"):
        made(target, method="backup_state", pool=pool)
    made(target, method="alloc", need=4, pool="full")
    assert target.snapshot() != before
    for pool in ("full", "composite"):
        made(target, method="restore_state", pool=pool)
    assert target.snapshot() == before
"""


@pytest.mark.release
def test_a_group_waits_in_the_piles_of_its_release_and_ends_as_the_golden_vectors_say() -> None:
    run_on_releases(PRELUDE + GOLDEN, [v for v in RELEASES if int(v.split(".")[2]) >= 13])


@pytest.mark.release
def test_the_full_only_pile_of_0_5_19_is_reported() -> None:
    run_on_releases(PRELUDE + FULL_ONLY, ["0.5.19"])


@pytest.mark.release
def test_a_paged_pool_of_every_release_shows_its_staged_pages_and_its_piles() -> None:
    run_on_releases(PRELUDE + PAGED, RELEASES)


@pytest.mark.release
def test_a_backup_of_an_older_release_is_restored() -> None:
    run_on_releases(PRELUDE + BACKUP, ["0.5.9", "0.5.12", "0.5.16"])
