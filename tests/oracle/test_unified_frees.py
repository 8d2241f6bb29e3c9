"""Frees, groups, policies for unbound pages, and the bugs B1 to B11 as the reference shows them (contract_unified §9, §11)."""

from __future__ import annotations

import pytest
from unified_driver import UnifiedDriver, bound, full_and_state, three_pools, two_pools

from oracle.call import Segment, TreeRow
from oracle.contract import SEGMENT_BOUND, SEGMENT_RELEASED
from oracle.observation import Eviction, Hit


def test_a_set_free_takes_whole_pages_and_only_the_peers_that_are_there():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(16)
    driver.does("free_swa", slots=[row[9]])
    assert bound(driver.swa).keys() == {1, 2, 4}
    driver.does("free_swa", slots=row[8:12])
    assert driver.swa.holes == [4], "freeing what has no peer changes nothing"
    driver.does("free", slots=[row[13], row[10], row[12]])
    assert (driver.full.holes, driver.swa.holes) == ([14, 15], [4, 5])
    driver.does("free_full", slots=row[4:8])
    assert driver.full.holes == [14, 15, 13]


def test_deferred_tokens_read_who_has_peers_when_the_group_ends():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(8)
    driver.does("free_group_begin")
    driver.does("free", slots=row)
    driver.does("free_swa_segment", slots=row[:4], start_pos=0)
    assert driver.swa.holes == [2], "a ratchet acts at once, in a group too"
    driver.does("free_group_end")
    assert driver.swa.holes == [2, 3]


def test_the_end_frees_tokens_then_full_only_tokens_then_both_piles_of_representatives():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(32)
    driver.does("free_swa_segment", slots=row[:12], start_pos=0)
    driver.does("free_group_begin")
    driver.does("free_full_segment", slots=row[:4], start_pos=0)
    driver.does("free_segment", slots=row[20:28], start_pos=20)
    driver.does("free_full", slots=[*row[8:12], *row[4:8]])
    driver.does("free", slots=[*row[16:20], *row[12:16]])
    snapshot = driver.snapshot
    assert snapshot.token_pile == [[*row[16:20], *row[12:16]]]
    assert snapshot.full_token_pile == [[*row[8:12], *row[4:8]]]
    driver.does("free_group_end")
    assert driver.full.free_ids == [*range(9, 16), 4, 5, 2, 3, 6, 7, 1]


def test_flushing_what_is_deferred_leaves_an_empty_group_open():
    driver = UnifiedDriver(three_pools())
    row = driver.alloc(8)
    driver.does("free_group_begin")
    driver.does("free_segment", slots=row, start_pos=0)
    driver.does("flush_deferred")
    assert (driver.snapshot.group_open, driver.snapshot.representative_pile) == (True, [])
    assert driver.full.live == 0


def test_a_group_opens_once_and_ending_none_is_nobodys_promise():
    driver = UnifiedDriver(two_pools())
    driver.does("free_group_begin")
    driver.raises("AssertionError", "free_group_begin")
    driver.does("free_group_end")
    driver.is_undefined("not open", "free_group_end")


def test_the_segment_forms_check_alignment_but_not_of_nothing():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(8)
    for method in ("free_segment", "free_swa_segment", "free_full_segment"):
        driver.raises("AssertionError", method, slots=row[1:], start_pos=1)
        driver.does(method, slots=(), start_pos=1)


def test_pieces_that_share_a_page_are_noticed_after_the_first_was_freed():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(12)
    pieces = (Segment(tuple(row[:6]), 0), Segment(tuple(row[4:12]), 4))
    driver.raises("AssertionError", "free_segments", segments=pieces)
    assert bound(driver.full).keys() == {3}


def test_a_segment_may_end_inside_its_last_page_which_goes_whole():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(12)
    driver.does("free_segment", slots=row[4:10], start_pos=4)
    assert bound(driver.full).keys() == {1}


def test_the_pair_has_two_piles_and_frees_slots_first():
    driver = UnifiedDriver(full_and_state(state_bytes=32))
    row = driver.alloc(24)
    driver.does("free_group_begin")
    driver.does("free_segment", slots=row[:8], start_pos=0)
    driver.does("free", slots=[*row[12:16], *row[8:12]])
    assert driver.snapshot.representative_pile == [[row[0], row[4]]]
    driver.does("free_group_end")
    assert driver.full.free_ids is not None
    assert [page - row[0] // 4 for page in driver.full.free_ids[-4:]] == [2, 3, 0, 1]


def test_b1_a_group_of_full_only_segments_is_flushed_before_an_eviction_sizes_itself():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(40)
    driver.does("free_swa_segment", slots=row[:20], start_pos=0)
    driver.does("free_group_begin")
    driver.does("free_full_segment", slots=row[:20], start_pos=0)
    driver.refuses("alloc", need=16)
    tree_row = TreeRow(tuple(row[20:40]), 20, True)
    outcome = driver.evict(16, tree_row)
    assert (outcome.value, outcome.evicted) == ((1,), ()), "the tree is untouched"
    snapshot = driver.snapshot
    assert (snapshot.group_open, snapshot.full_representative_pile) == (True, [])
    driver.alloc(16)


def test_b2_a_double_ratchet_lends_the_same_bytes_twice():
    driver = UnifiedDriver(two_pools())
    first, second = driver.alloc(16), driver.alloc(12)
    driver.does("free_swa_segment", slots=first[:8], start_pos=0)
    joint = driver.sizes()[0]
    again = driver.does("free_swa_segment", slots=first[:8], start_pos=0)
    assert again.hits == (Hit(SEGMENT_BOUND, 2),)
    assert (driver.swa.holes, driver.swa.live) == ([2, 3, -1, -1], 3)
    assert driver.snapshot.byte_accounting == [], "the allocator's own check sees nothing"
    driver.does("free_full_segment", slots=first[:8], start_pos=0)
    assert driver.sizes()[0] > joint
    third = driver.alloc(12)
    assert [driver.swa.v2p[slot // 4] for slot in third[::4]] == [-1, -1, 2]
    assert driver.swa.p2v[-1] == third[4] // 4, "the tell-tale: the sentinel names a page"
    assert driver.gives("translate", pool="swa", slots=third[:8]) == [0] * 8
    assert second


def test_b2_an_urgent_flush_moves_a_page_to_page_minus_one():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(16)
    driver.does("free_swa_segment", slots=row[:4], start_pos=0)
    driver.does("free_swa_segment", slots=row[:4], start_pos=0)
    driver.flush("swa", urgent=True)
    assert driver.copies("swa") == {(5, -1), (4, 2)}
    assert driver.swa.v2p[4] == -1
    assert driver.swa.p2v[-1] == 4
    assert driver.swa.content[-4:] == [13, 14, 15, 16]


def test_b2_is_filtered_or_refused_where_the_contract_says_so():
    filtering = UnifiedDriver(two_pools(), unbound_pages="filtered")
    refusing = UnifiedDriver(two_pools(), unbound_pages="refused")
    for driver in (filtering, refusing):
        row = driver.alloc(16)
        driver.does("free_swa_segment", slots=row[:4], start_pos=0)
    before = filtering.snapshot
    filtering.does("free_swa_segment", slots=row[:4], start_pos=0)
    assert filtering.snapshot == before
    filtering.does("free_segment", slots=row[:8], start_pos=0)
    assert filtering.swa.holes == [2, 3]
    refusing.raises("AssertionError", "free_segment", slots=row[:8], start_pos=0)
    assert refusing.snapshot.bands == before.bands


@pytest.mark.parametrize("level", ["warn", "strict"])
def test_b2_is_stopped_before_anything_changes_when_signals_are_on(level):
    driver = UnifiedDriver(two_pools(), level=level)
    row = driver.alloc(16)
    driver.does("free_swa_segment", slots=row[:4], start_pos=0)
    before = driver.snapshot
    error = f"invariant:{SEGMENT_BOUND}"
    driver.raises(error, "free_swa_segment", slots=row[:8], start_pos=0)
    assert driver.snapshot == before


def test_a_signal_in_the_end_of_a_group_leaves_the_group_closed_and_the_representatives_lost():
    driver = UnifiedDriver(two_pools(), level="warn")
    row = driver.alloc(16)
    driver.does("free_group_begin")
    driver.does("free_segment", slots=row[:8], start_pos=0)
    driver.does("free", slots=row[8:12])
    driver.does("free_swa_segment", slots=row[:4], start_pos=0)
    driver.raises(f"invariant:{SEGMENT_BOUND}", "free_group_end")
    assert not driver.snapshot.group_open
    assert bound(driver.full).keys() == {1, 2, 4}


def test_b3_a_full_only_free_of_a_bound_page_ends_in_lost_kv():
    driver = UnifiedDriver(two_pools())
    first, second = driver.alloc(8), driver.alloc(4)
    freed = driver.does("free_full_segment", slots=second, start_pos=0)
    assert freed.hits == (Hit(SEGMENT_RELEASED, 1),)
    assert driver.swa.v2p[second[0] // 4] > 0, "bound on SWA and free on FULL"
    reused = driver.alloc(4)
    while reused != second:
        driver.does("free", slots=reused)
        reused = driver.alloc(4)
    place = driver.gives("translate", pool="swa", slots=[reused[0]])[0]
    written = driver.swa.content[place]
    driver.does("free_swa_segment", slots=first, start_pos=0)
    driver.flush("swa", urgent=True)
    place = driver.gives("translate", pool="swa", slots=[reused[0]])[0]
    assert driver.swa.content[place] != written
    assert driver.snapshot.byte_accounting == []


def test_b3_is_signalled_at_the_call_in_a_group_too():
    driver = UnifiedDriver(two_pools(), level="warn")
    row = driver.alloc(4)
    driver.does("free_group_begin")
    driver.raises(f"invariant:{SEGMENT_RELEASED}", "free_full_segment", slots=row, start_pos=0)
    assert driver.snapshot.full_representative_pile == []


def test_b11_each_side_credits_the_same_gap_and_only_the_joint_view_counts():
    driver = UnifiedDriver(two_pools())
    joint, full, swa = driver.sizes()
    assert full > joint < swa
    driver.alloc(joint)
    driver.refuses("alloc", need=4)


def test_before_0523_a_full_only_segment_is_a_two_sided_one_that_finds_no_peers():
    driver = UnifiedDriver(
        two_pools(),
        full_only_segments="two-sided",
        unbound_pages="filtered",
        invariants=frozenset(),
    )
    row = driver.alloc(16)
    driver.does("free_swa_segment", slots=row[:8], start_pos=0)
    driver.does("free_group_begin")
    driver.does("free_full_segment", slots=row[:8], start_pos=0)
    assert driver.snapshot.representative_pile == [[row[0], row[4]]]
    driver.does("free_group_end")
    assert (driver.full.holes, driver.swa.holes) == ([12, 13], [2, 3])


def test_before_0523_a_segment_of_single_slots_is_a_set():
    driver = UnifiedDriver(
        two_pools(page_size=1), single_slot_segments="set-shaped", unbound_pages="filtered"
    )
    row = driver.alloc(4)
    driver.does("free_group_begin")
    driver.does("free_segment", slots=row, start_pos=0)
    assert driver.snapshot.token_pile == [row]


def test_freeing_a_page_twice_at_once_is_left_open():
    driver = UnifiedDriver(two_pools(page_size=1))
    row = driver.alloc(4)
    driver.is_undefined("freed twice", "free", slots=[row[0], row[0]])


def test_a_direct_free_on_the_full_band_acts_at_once_in_a_group():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(8)
    driver.does("free_swa_segment", slots=row, start_pos=0)
    driver.does("free_group_begin")
    driver.does("free_segment", pool="full", slots=row, start_pos=0)
    assert driver.full.live == 0


def test_an_eviction_takes_what_the_plan_says_oldest_first():
    driver = UnifiedDriver(two_pools())
    rows = [driver.alloc(8) for _ in range(5)]
    tree = [TreeRow(tuple(row), 0, True) for row in rows[:3]]
    outcome = driver.evict(12, *tree)
    assert outcome.value == (1,)
    assert outcome.evicted == (
        Eviction(0, "swa"), Eviction(0, "full"), Eviction(1, "swa"), Eviction(1, "full"),
    )  # fmt: skip
    assert driver.gives("check_decode_capacity", need=12) == [1]


def test_an_eviction_without_a_tree_or_without_hope_does_nothing():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(40)
    driver.refuses("evict_to_free_tokens", need=8)
    before = driver.snapshot
    assert driver.evict(400, TreeRow(tuple(row), 0, True)).value is None
    assert driver.snapshot == before


def test_through_the_composite_an_open_group_defers_what_the_tree_gives_up():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(40)
    driver.does("free_group_begin")
    outcome = driver.evict(8, TreeRow(tuple(row), 0, True), direct=False)
    assert (outcome.value, outcome.evicted) == ((0,), (Eviction(0, "both"),))
    assert driver.snapshot.representative_pile == [row[::4]]
    driver.does("free_group_end")
    driver.alloc(8)


def test_three_pools_evict_rows_and_then_states():
    driver = UnifiedDriver(three_pools())
    driver.gives("alloc", pool="state", need=12)
    row = driver.alloc(driver.sizes()[0])
    states = tuple(range(1, 13))
    outcome = driver.evict(len(row) + 8, TreeRow(tuple(row[:8]), 0, True), states=states)
    assert outcome.value == (1,)
    assert {eviction.part for eviction in outcome.evicted} >= {"full"}
    driver.alloc(len(row) + 8)


def test_the_pair_evicts_its_shortfall():
    driver = UnifiedDriver(full_and_state())
    rows = [driver.alloc(8) for _ in range(7)]
    short = 8 + driver.snapshot.queries["available_size"]
    outcome = driver.evict(short, *(TreeRow(tuple(row), 0, False) for row in rows))
    assert outcome.evicted == (Eviction(0, "full"),)
    assert driver.gives("check_decode_capacity", need=short) == [1]


def test_a_reservation_is_bound_to_ids_that_lost_their_peers():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(16)
    driver.does("free_swa_segment", slots=row[:8], start_pos=0)
    peers = driver.gives("alloc_physical", pool="swa", need=8)
    assert (peers, driver.swa.pending_load) == ([8, 9, 10, 11, 12, 13, 14, 15], 2)
    driver.does("set_full_to_swa_mapping", slots=row[:4], peers=peers[:4])
    driver.does("cancel_physical_reservation", pool="swa", slots=peers[4:])
    assert (driver.swa.pending_load, driver.swa.holes) == (1, [3])
    assert driver.flush("swa", urgent=True) == 0, "no page moves while one is loading"
    driver.does("finish_load")
    assert driver.flush("swa", urgent=True) == 1
    assert driver.swa.content[peers[0] : peers[0] + 4] == [17, 18, 19, 20]


def test_an_unbound_reservation_that_nobody_protects_is_noticed_when_it_moves():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(8)
    driver.gives("alloc_physical", pool="swa", need=4)
    driver.does("free_swa_segment", slots=row, start_pos=0)
    driver.does("finish_load")
    driver.raises("AssertionError", "flush", pool="swa", urgent=True)


def test_an_eager_band_sorts_the_slots_of_a_segment_at_page_size_1():
    sizes = {"page_size": 1, "lazy": False, "total_bytes": 256}
    driver = UnifiedDriver(full_and_state(**sizes))
    row = driver.alloc(3)
    driver.does("free_segment", pool="full", slots=[row[2], row[0], row[1]], start_pos=0)
    assert driver.full.free_ids[-3:] == sorted(row), "at page size 1 it is a plain free (§5)"
