"""The HiSparse allocator over a hybrid one (contract_paged_swa §7.2)."""

from __future__ import annotations

import pytest

from oracle.observation import Hit


def tiers(drive, pages=4, page_size=8, device_pages=4, swa_pages=None, **options):
    """Page size 8 and so 2 on the device, unless said otherwise."""
    return drive(
        "hisparse-dsv4",
        pages * page_size,
        page_size,
        size_swa=(pages if swa_pages is None else swa_pages) * page_size,
        sizes={"device_size": device_pages * page_size // 4},
        **options,
    )


def device(pool):
    return pool.snapshot.device


def places(pool):
    """The live entries of the table."""
    return {key: place for key, place in enumerate(pool.snapshot.device_mapping) if place > 0}


def eights(*pages):
    """The slots of pages at page size 8."""
    return [slot for page in pages for slot in range(page * 8, page * 8 + 8)]


def test_the_device_has_a_quarter_of_a_page_and_a_table_of_compressed_ids(drive):
    pool = tiers(drive)
    table = pool.snapshot.device_mapping
    assert (len(table), table[-1], set(table[:-1])) == (8 + 2 + 1, -1, {0})
    assert (device(pool).size, device(pool).free) == (8, [1, 2, 3, 4])
    assert (pool.full.free, pool.swa.free) == ([1, 2, 3, 4], [1, 2, 3, 4])
    assert pool.snapshot.new_pages == []


@pytest.mark.parametrize(
    ("full", "swa", "on_device", "available", "full_available"),
    [(4, 4, 4, 32, 32), (4, 3, 4, 24, 32), (4, 4, 2, 16, 16), (4, 1, 2, 8, 16)],
)
def test_what_is_available_is_bounded_by_four_times_the_device(
    drive, full, swa, on_device, available, full_available
):
    pool = tiers(drive, full, device_pages=on_device, swa_pages=swa)
    assert pool.snapshot.queries == {
        "available_size": available,
        "full_available_size": full_available,
        "swa_available_size": swa * 8,
        "size": min(full, swa) * 8,
        "size_full": full * 8,
        "size_swa": swa * 8,
        "logical_available_size": min(full, swa) * 8,
        "device_available_size": on_device * 2,
    }


def test_alloc_is_not_implemented(drive):
    tiers(drive).raises("NotImplementedError", "positions", "alloc", need=8)


def test_the_last_of_four_slots_gets_a_place_for_all_of_them(drive):
    pool = tiers(drive)
    row = pool.extend(0, 7)
    assert (row, places(pool)) == ([8, 9, 10, 11, 12, 13, 14], {2: 2})
    assert pool.mapped().keys() == set(row)
    assert pool.extend(7, 13, 14) == list(range(15, 21))
    assert places(pool) == {2: 2, 3: 3, 4: 4}
    assert pool.extend(13, 15, 20) == [21, 22]
    assert (places(pool), device(pool).free) == ({2: 2, 3: 3, 4: 4}, [3, 4])


def test_rows_of_other_pages_on_the_device_keep_to_their_own(drive, extends):
    pool = tiers(drive)
    buffer = pool.gives("alloc_device_buffer", slots=[], need=2)
    slots = pool.gives("alloc_extend", **extends([0, 0], [8, 12], [-1, -1]))
    assert (buffer, slots) == ([2, 3], [*eights(1, 2), 24, 25, 26, 27])
    assert places(pool) == {2: 4, 3: 5, 4: 6, 5: 7, 6: 8}


def test_without_a_complete_four_the_device_gives_nothing_but_may_merge(drive, extends):
    pool = tiers(drive, need_sort=True, device_pages=2)
    pool.does("free", slots=pool.extend(0, 16))
    pool.gives("alloc_extend", **extends([0], [3], [-1]))
    assert (places(pool), device(pool).free, device(pool).staged) == ({}, [1, 2], [])


@pytest.mark.parametrize(("device_pages", "swa_pages"), [(1, 4), (4, 1)])
def test_a_short_extend_changes_nothing(drive, extends, device_pages, swa_pages):
    pool = tiers(drive, device_pages=device_pages, swa_pages=swa_pages, need_sort=True)
    pool.does("free", slots=pool.extend(0, 8))
    before = pool.snapshot
    pool.refuses("alloc_extend", **extends([0], [16], [-1]))
    assert pool.snapshot == before


def test_decode_tail_and_logical_only_take_no_place(drive, extends):
    pool = tiers(drive)
    assert pool.gives("alloc_logical_only", **extends([0], [7], [-1])) == list(range(8, 15))
    assert pool.gives("alloc_decode", seq_lens=[8], last_loc=[14]) == [15]
    pool.gives("alloc_extend_swa_tail", **extends([0], [8], [-1]), swa_tail_len=0)
    assert (places(pool), device(pool).free) == ({}, [1, 2, 3, 4])
    assert pool.mapped().keys() == set(range(8, 16))
    translated = pool.gives("translate_loc_from_full_to_swa", slots=[15, 16, -1])
    assert translated == [15, 0, -1]


def test_a_partial_page_that_is_not_on_the_device_does_not_go_on_there(drive, extends):
    pool = tiers(drive)
    pool.gives("alloc_logical_only", **extends([0], [5], [-1]))
    assert pool.gives("alloc_extend", **extends([5], [7], [12])) == [13, 14]
    pool.is_undefined("no place on the device", "alloc_extend", **extends([7], [8], [14]))


def test_the_logical_precondition_comes_before_a_refusal_of_the_device(drive, extends):
    pool = tiers(drive, device_pages=1)
    row = pool.extend(0, 4)
    pool.does("free_swa", slots=row)
    pool.is_undefined("no live peer", "alloc_extend", **extends([4], [24], [row[-1]]))


def test_a_free_releases_both_sides_and_the_device(drive):
    pool = tiers(drive)
    pool.extend(0, 16)
    pool.does("free", slots=[17])
    assert (pool.full.free, pool.swa.free) == ([2, 3, 4], [2, 3, 4])
    assert (device(pool).free, places(pool)) == ([2, 3, 4], {2: 2, 3: 3})


def test_a_free_of_the_full_side_leaves_no_place_behind(drive):
    pool = tiers(drive)
    pool.extend(0, 16)
    pool.does("free_swa", slots=eights(2))
    pool.does("free_full", slots=eights(2))
    assert (pool.full.free, places(pool)) == ([2, 3, 4], {2: 2, 3: 3})
    pool.does("free_swa_segment", slots=eights(1), start_pos=0)
    pool.does("free_full_segment", slots=eights(1), start_pos=0)
    assert (device(pool).free, places(pool)) == ([1, 2, 3, 4], {})


def test_segment_forms_assert_the_alignment_first_also_of_nothing(drive):
    pool = tiers(drive)
    pool.extend(0, 8)
    for method in ("free_segment", "free_full_segment"):
        pool.raises("AssertionError", "alignment", method, slots=[], start_pos=4)
    pool.does("free_segment", slots=eights(1), start_pos=8)
    assert (pool.full.free, pool.swa.free, device(pool).free) == ([1, 2, 3, 4],) * 3


def test_an_invariant_of_the_logical_allocator_keeps_the_device_as_it_is(drive):
    pool = tiers(drive, level="strict")
    pool.extend(0, 8)
    before = pool.snapshot
    outcome = pool.raises("invariant:swa.peer_released", "8", "free_full", slots=eights(1))
    assert outcome.hits == (Hit("swa.peer_released", 8),)
    assert pool.snapshot == before


def test_in_a_group_peers_are_looked_up_at_the_end_unless_they_go_at_once(drive):
    pool = tiers(drive)
    pool.extend(0, 32)
    pool.does("free_group_begin")
    pool.does("free_swa", slots=eights(4))
    pool.does("free_full", slots=eights(4))
    pool.does("free_segment", slots=eights(1), start_pos=0)
    pool.does("free", slots=eights(2))
    state = pool.snapshot
    assert (state.group, state.device_full_pile) == ([eights(1), eights(2)], [eights(4)])
    assert (pool.full.group, pool.full.free, pool.swa.free) == (None, [], [4])
    assert pool.mapped().keys() == set(eights(1, 2, 3))
    assert len(places(pool)) == 8
    pool.raises("AssertionError", "nested", "free_group_begin")
    pool.does("free_group_end")
    assert (pool.full.free, pool.swa.free) == ([4, 1, 2], [1, 2, 4])
    assert (device(pool).free, places(pool)) == ([4, 1, 2], {6: 6, 7: 7})
    assert (pool.snapshot.group, pool.snapshot.device_full_pile) == (None, [])


def test_peer_released_is_judged_at_the_group_end(drive):
    pool = tiers(drive, level="warn")
    pool.extend(0, 8)
    pool.does("free_group_begin")
    assert pool.does("free_full", slots=eights(1)).hits == ()
    pool.does("free_swa", slots=eights(1))
    assert pool.does("free_group_end").hits == ()
    pool.extend(0, 8)
    pool.does("free_group_begin")
    pool.does("free_full", slots=eights(1))
    assert pool.does("free_group_end").hits == (Hit("swa.peer_released", 8),)


def test_what_a_failed_group_end_leaves_is_left_open(drive):
    pool = tiers(drive)
    pool.does("free_group_begin")
    pool.does("free", slots=eights(1))
    pool.does("free_full", slots=eights(1))
    pool.raises("AssertionError", "over-credit FULL", "free_group_end")
    pool.is_undefined("FULL pile", "free_group_end")
    pool.is_undefined("FULL pile", "free_group_begin")


def test_free_hisparse_gives_back_the_pages_of_completed_fours_alone(drive):
    pool = tiers(drive)
    pool.extend(0, 16)
    pool.does("free_hisparse", slots=[8, 9, 10])
    assert len(places(pool)) == 4
    pool.does("free_hisparse", slots=[11])
    assert (places(pool), device(pool).free) == ({4: 4, 5: 5}, [1, 3, 4])
    pool.does("free_hisparse_indices", slots=[1, 4])
    assert device(pool).free == [2, 1, 3, 4]


def large(drive):
    """Page size 16 and 4 on the device."""
    return tiers(drive, page_size=16)


def test_a_buffer_keeps_the_newest_place_at_the_start_of_its_last_page(drive):
    pool = large(drive)
    row = pool.extend(0, 32)
    assert pool.gives("alloc_device_buffer", slots=row, need=8) == [4, 5, 6, 7, 11, 9, 10, 8]
    assert (places(pool), device(pool).free) == ({}, [3, 4])


def test_surplus_pages_are_kept_while_a_place_on_them_is(drive):
    pool = large(drive)
    row = pool.extend(0, 44)
    assert pool.gives("alloc_device_buffer", slots=row, need=4) == [14, 5, 6, 7]
    assert device(pool).free == [2, 4]


def test_a_buffer_is_filled_up_with_what_is_left_of_its_page(drive):
    pool = large(drive)
    row = pool.extend(0, 12)
    assert pool.gives("alloc_device_buffer", slots=row, need=4) == [6, 5, 4, 7]
    pool = large(drive)
    row = pool.extend(0, 12)
    assert pool.gives("alloc_device_buffer", slots=row, need=8) == [4, 5, 6, 7, 8, 9, 10, 11]


def test_nothing_is_exchanged_where_the_newest_is_already_there(drive):
    pool = large(drive)
    row = pool.extend(0, 20)
    assert pool.gives("alloc_device_buffer", slots=row, need=8) == [4, 5, 6, 7, 8, 9, 10, 11]


def test_a_buffer_is_whole_device_pages_and_not_none(drive):
    pool = large(drive)
    row = pool.extend(0, 16)
    pool.raises("AssertionError", "whole pages", "alloc_device_buffer", slots=row, need=6)
    pool.is_undefined("no last page", "alloc_device_buffer", slots=row, need=0)


def test_clear_returns_to_the_start(drive):
    pool = tiers(drive, need_sort=True)
    before = pool.snapshot
    pool.extend(0, 24)
    pool.gives("alloc_device_buffer", slots=eights(3), need=2)
    pool.does("free", slots=eights(1))
    pool.does("free_group_begin")
    pool.does("free_full", slots=eights(2))
    pool.does("free", slots=eights(3))
    pool.does("clear")
    assert pool.snapshot == before
    pool.does("free_group_end")
    assert pool.snapshot == before
