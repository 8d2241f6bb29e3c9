"""Each choice of a hybrid allocator in the contract, one test or more a field (contract_paged_swa §13.2)."""

from __future__ import annotations

import pytest

LATE = {"grouped_free": "resolved-at-end", "flush_order": ("plain", "swa-set", "full-only")}
LATE_WINDOW = LATE | {"grouped_free_swa": "resolved-at-end"}
RELEASES_BEFORE_20 = [f"0.5.{number}" for number in range(9, 20)]


def hybrid(drive, pages=8, page_size=4, **options):
    return drive("hybrid-swa", pages * page_size, page_size, **options)


@pytest.mark.parametrize("release", [*RELEASES_BEFORE_20, "0.5.23"])
def test_part_of_a_page_takes_the_whole_swa_page_with_it(drive, release):
    pool = hybrid(drive, release=release)
    row = pool.extend(0, 8)
    pool.does("free_swa", slots=row[:1])
    assert pool.mapped() == dict(zip(row[4:], row[4:], strict=True))
    pool.does("free", slots=row)
    assert sorted(pool.swa.free) == sorted(pool.full.free) == list(range(1, 9))


@pytest.mark.parametrize("release", ["0.5.12", "0.5.17", "0.5.18", "0.5.19", "0.5.23"])
@pytest.mark.parametrize("method", ["free", "free_swa"])
def test_a_peer_that_comes_while_a_free_waits_is_not_released(drive, release, method):
    pool = hybrid(drive, release=release)
    row = pool.extend(0, 4)
    pool.does("free_group_begin")
    pool.does(method, slots=row)
    new = pool.gives("alloc", need=4, pool="swa")
    pool.does("set_full_to_swa_mapping", slots=row, peers=new)
    pool.does("free_group_end")
    assert pool.mapped() == dict(zip(row, new, strict=True))
    assert new[0] // 4 not in pool.swa.free
    assert len(pool.swa.free) == 7, "the old page is free again, the new one is not"


def test_a_peer_that_comes_while_a_free_of_none_waits_is_not_released(drive):
    pool = hybrid(drive, **LATE)
    row = pool.gives("alloc", need=4, pool="full")
    pool.does("free_group_begin")
    pool.does("free", slots=row)
    new = pool.gives("alloc", need=4, pool="swa")
    pool.does("set_full_to_swa_mapping", slots=row, peers=new)
    pool.does("free_group_end")
    assert new[0] // 4 not in pool.swa.free
    assert pool.mapped() == dict(zip(row, new, strict=True))


def test_a_slot_that_is_freed_with_its_old_and_its_new_peer_gives_both(drive):
    pool = hybrid(drive, **LATE)
    row = pool.extend(0, 4)
    pool.does("free_group_begin")
    pool.does("free", slots=row)
    pool.does("set_full_to_swa_mapping", slots=row, peers=pool.gives("alloc", need=4, pool="swa"))
    pool.does("free", slots=row)
    pool.does("free_group_end")
    assert sorted(pool.swa.free) == list(range(1, 9))
    assert pool.mapped() == {}


@pytest.mark.parametrize("window", ["released-at-call", "resolved-at-call", "resolved-at-end"])
@pytest.mark.parametrize("window_first", [False, True])
def test_a_window_and_its_row_in_one_group_release_each_page_once(drive, window, window_first):
    pool = hybrid(drive, **LATE, grouped_free_swa=window, unmapped="skipped")
    row = pool.extend(0, 8)
    calls = [("free", row), ("free_swa", row[:4])]
    pool.does("free_group_begin")
    for method, slots in reversed(calls) if window_first else calls:
        pool.does(method, slots=slots)
    pool.does("free_group_end")
    assert sorted(pool.swa.free) == sorted(pool.full.free) == list(range(1, 9))
    assert pool.mapped() == {}


def test_peers_that_the_caller_takes_while_a_free_waits_are_the_callers(drive):
    pool = hybrid(drive, release="0.5.19")
    row = pool.extend(0, 4)
    pool.does("free_group_begin")
    pool.does("free", slots=row)
    pool.does("clear_full_to_swa_mapping", slots=row)
    pool.does("free_group_end")
    assert 1 not in pool.swa.free


def test_clear_drops_what_waits_with_its_mapping(drive):
    pool = hybrid(drive, **LATE_WINDOW)
    fresh = pool.snapshot
    row = pool.extend(0, 8)
    pool.does("free_group_begin")
    pool.does("free", slots=row[:4])
    pool.does("free_swa", slots=row[4:])
    pool.does("clear")
    assert pool.snapshot == fresh
    pool.does("free_group_end")
    assert pool.snapshot == fresh


def test_the_full_only_pile_is_released_last(drive, tokens):
    pool = hybrid(drive, release="0.5.19")
    row = pool.extend(0, 32)
    pool.does("free_swa", slots=row[:8])
    pool.does("free_group_begin")
    pool.does("free_full", slots=row[:8])
    pool.does("free", slots=row[16:24])
    assert pool.snapshot.full_only_pile == [tokens(1, 2)]
    assert pool.full.group is None, "the pool's own group is not opened"
    pool.does("free_group_end")
    assert pool.full.free == [1, 2, 5, 6]
    assert pool.snapshot.full_only_pile == []


def test_the_full_half_may_come_first(drive, tokens):
    for order, swa_free in (("full-first", []), ("swa-first", [1, 8])):
        pool = hybrid(drive, debug=True, free_order=order)
        row = pool.extend(0, 32)
        pool.does("free", slots=row[:4], pool="full")
        pool.raises("AssertionError", "duplicate", "free", slots=[*row[:4], *row[28:]])
        assert pool.swa.free == swa_free, "what the SWA half had done when the FULL half raised"


def test_a_release_that_comes_first_leaves_the_mapping_when_it_raises(drive):
    for order in ("clear-first", "release-first"):
        pool = hybrid(drive, debug=True, free_swa_order=order)
        row = pool.extend(0, 8)
        pool.does("free", slots=row[:4], pool="swa")
        pool.raises("AssertionError", "duplicate", "free_swa", slots=row[:4])
        assert (row[0] in pool.mapped()) == (order == "release-first")


def test_pages_may_wait_sorted_and_once_or_as_given(drive):
    for expansion, waiting in (("as-given", [2, 1, 2]), ("sorted-pages", [1, 2])):
        pool = hybrid(drive, expansion=expansion)
        row = pool.extend(0, 8)
        pool.does("free_group_begin")
        pool.does("free_swa", slots=[row[4], row[0], row[5]])
        (entry,) = pool.snapshot.swa_set_pile
        assert [peer // 4 for peer in entry[::4]] == waiting
        pool.does("free_group_end")
        assert sorted(pool.swa.free) == list(range(1, 9))


def test_gathered_slots_wait_without_zeros_where_unmapped_ones_are_skipped(drive, tokens):
    pool = hybrid(drive, release="0.5.19")
    row = pool.extend(0, 12)
    pool.does("free_swa", slots=row[:4])
    pool.does("free_group_begin")
    pool.does("free_swa", slots=row[:4])
    assert pool.snapshot.swa_set_pile == []
    pool.does("free_swa", slots=row[:8])
    pool.does("free_swa", slots=row[8:])
    assert pool.snapshot.swa_set_pile == [tokens(2, 3)]


def test_a_segment_may_be_a_set(drive, tokens):
    pool = hybrid(drive, release="0.5.18")
    row = pool.extend(0, 16)
    pool.does("free_swa", slots=row[:4])
    pool.does("free_segment", slots=row[2:14], start_pos=2)
    assert pool.full.free == [1, 2, 3, 4, 5, 6, 7, 8]
    assert pool.swa.free == [2, 3, 4, 1, 5, 6, 7, 8]


def test_an_unaligned_tail_comes_back_whole_where_a_segment_is_a_set(drive):
    pool = hybrid(drive, release="0.5.19")
    row = pool.gives(
        "alloc_extend_swa_tail",
        prefix_lens=[0],
        seq_lens=[8],
        last_loc=[-1],
        extend_num_tokens=8,
        swa_tail_len=6,
    )
    pool.does("free_segment", slots=row, start_pos=0)
    assert sorted(pool.swa.free) == list(range(1, 9))


def test_capacity_is_checked_in_each_free_and_not_in_a_window_free(drive):
    pool = hybrid(drive, pages=2, page_size=1, release="0.5.19")
    pool.gives("alloc", need=1)
    pool.does("free", slots=[1, 2], pool="swa")
    assert pool.swa.available == 3
    pool.does("free_swa", slots=[1])
    pool.does("free_group_begin")
    pool.raises("AssertionError", "over-credit SWA", "free", slots=[1])
    assert pool.snapshot.group == [[1]], "it is checked though nothing was released"


def test_capacity_is_checked_in_each_full_free(drive):
    pool = hybrid(drive, pages=2, page_size=1, release="0.5.19")
    pool.does("free", slots=[1], pool="full")
    pool.does("free_group_begin")
    pool.raises("AssertionError", "over-credit FULL", "free_full", slots=[1])


def test_an_empty_group_end_checks_nothing_where_each_free_does(drive):
    for release, raises in (("0.5.19", False), ("0.5.20", True)):
        pool = hybrid(drive, pages=2, page_size=1, release=release)
        pool.does("free", slots=[1], pool="swa")
        pool.does("free_group_begin")
        assert bool(pool.call("free_group_end").error) == raises


def test_exact_fits_are_never_refused(drive, extends):
    for release in RELEASES_BEFORE_20:
        pool = hybrid(drive, pages=2, release=release)
        assert pool.gives("alloc_extend", **extends([0], [8], [-1])) == list(range(4, 12))


def test_a_tail_clears_the_mapping_of_its_head(drive):
    pool = hybrid(drive, release="0.5.12")
    pool.does("set_full_to_swa_mapping", slots=[4, 5], peers=[8, 9])
    pool.gives(
        "alloc_extend_swa_tail",
        prefix_lens=[0],
        seq_lens=[8],
        last_loc=[-1],
        extend_num_tokens=8,
        swa_tail_len=4,
    )
    assert pool.mapped() == {8: 4, 9: 5, 10: 6, 11: 7}


def test_new_pages_are_told_where_there_is_such_a_query(drive):
    assert hybrid(drive, release="0.5.13").snapshot.new_pages == []
    assert len(hybrid(drive, release="0.5.14").snapshot.new_pages) == 16
