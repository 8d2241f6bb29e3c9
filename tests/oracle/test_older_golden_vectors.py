"""The golden vectors of contract_paged_swa §13.3 for the releases before 0.5.20."""

from __future__ import annotations

import pytest

PAGE_TABLE = 36  # slots of 8 pages and the padding page, without the sentinel
BEFORE_18 = [f"0.5.{number}" for number in range(9, 18)]
OLDER = [*BEFORE_18, "0.5.18", "0.5.19"]


def four_rows(drive, release, **options):
    """Page size 4, 32 slots on each side, four requests of 8: all 8 pages are used."""
    pool = drive("hybrid-swa", 32, 4, release=release, **options)
    for _ in range(4):
        pool.extend(0, 8)
    assert pool.full.free == pool.swa.free == []
    return pool


def mixed_group(pool, tokens, release):
    pool.does("free_group_begin")
    pool.does("free", slots=tokens(3, 4))
    if release in ("0.5.17", "0.5.18", "0.5.19"):
        pool.does("free_segment", slots=tokens(1, 2), start_pos=0)
    else:
        pool.does("free", slots=tokens(1, 2))
    pool.does("free_swa", slots=tokens(5, 6))
    pool.does("free", slots=tokens(7, 8))


def mapped_pages(pool):
    return sorted({slot // 4 for slot in pool.mapped()})


@pytest.mark.parametrize("release", BEFORE_18)
def test_a_mixed_group_releases_the_window_at_once_and_the_rest_at_its_end(drive, tokens, release):
    pool = four_rows(drive, release)
    mixed_group(pool, tokens, release)
    assert pool.swa.free == [5, 6]
    assert mapped_pages(pool) == [1, 2, 3, 4, 7, 8]
    assert pool.snapshot.group == [tokens(3, 4), tokens(1, 2), tokens(7, 8)]
    pool.does("free_group_end")
    assert pool.full.free == [1, 2, 3, 4, 7, 8]
    assert pool.swa.free == [1, 2, 3, 4, 7, 8, 5, 6]
    assert pool.mapping == [0] * PAGE_TABLE + [-1]


def test_a_mixed_group_of_18_resolves_everything_at_its_end(drive, tokens):
    pool = four_rows(drive, "0.5.18")
    mixed_group(pool, tokens, "0.5.18")
    assert pool.swa.free == []
    assert mapped_pages(pool) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert pool.snapshot.swa_set_pile == [tokens(5, 6)], "the FULL slots wait as given"
    pool.does("free_group_end")
    assert pool.full.free == [1, 2, 3, 4, 7, 8]
    assert pool.swa.free == [5, 6, 1, 2, 3, 4, 7, 8]
    assert pool.mapping == [0] * PAGE_TABLE + [-1]


def test_a_mixed_group_of_19_unmaps_the_window_at_the_call_and_releases_it_last(drive, tokens):
    pool = four_rows(drive, "0.5.19")
    mixed_group(pool, tokens, "0.5.19")
    assert pool.swa.free == []
    assert mapped_pages(pool) == [1, 2, 3, 4, 7, 8]
    assert pool.snapshot.swa_set_pile == [tokens(5, 6)], "their peers wait, in one entry"
    pool.does("free_group_end")
    assert pool.full.free == [1, 2, 3, 4, 7, 8]
    assert pool.swa.free == [5, 6, 1, 2, 3, 4, 7, 8]


@pytest.mark.parametrize("release", OLDER)
def test_a_mixed_group_under_need_sort_stages_one_list_in_the_order_of_the_free_list(
    drive, tokens, release
):
    sorted_later = four_rows(drive, release, need_sort=True)
    at_once = four_rows(drive, release)
    for pool in (sorted_later, at_once):
        mixed_group(pool, tokens, release)
        pool.does("free_group_end")
    assert sorted_later.full.staged == [at_once.full.free]
    assert sorted_later.swa.staged == [at_once.swa.free]
    assert sorted_later.full.staged_count == 6


@pytest.mark.parametrize("release", OLDER)
def test_two_plain_frees_stage_the_later_in_front(drive, tokens, release):
    pool = drive("paged", 32, 4, need_sort=True, release=release)
    pool.gives("alloc", need=16)
    pool.does("free", slots=tokens(3, 4))
    pool.does("free", slots=tokens(1, 2))
    assert (pool.full.free, pool.full.staged) == ([5, 6, 7, 8], [[1, 2, 3, 4]])


@pytest.mark.parametrize("release", OLDER)
@pytest.mark.parametrize("level", ["off", "warn", "strict"])
def test_page_size_one_skips_what_has_no_peer_and_says_nothing(drive, release, level):
    pool = drive("hybrid-swa", 8, level=level, release=release)
    assert pool.gives("alloc", need=4) == [1, 2, 3, 4]
    pool.does("free_swa", slots=[2, 3])
    outcome = pool.does("free", slots=[1, 2, 3, 4])
    assert (outcome.hits, outcome.counted) == ((), None)
    assert pool.swa.free == [5, 6, 7, 8, 2, 3, 1, 4]
    assert pool.full.free == [5, 6, 7, 8, 1, 2, 3, 4]
