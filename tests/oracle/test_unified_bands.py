"""Bands by themselves: grids, which pages an allocation takes, what a flush moves (contract_unified §2 to §6)."""

from __future__ import annotations

import pytest
from unified_driver import UnifiedDriver, bound, full_and_state, three_pools, two_pools

from oracle.errors import UsageError


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ({"total_bytes": 64}, "no full page beside"),
        ({"swa_bytes": 0}, "an entry of 0 bytes"),
        ({"state_bytes": 8}, "no state pool"),
        ({"size": 8}, "both given or both 0"),
        ({"need_sort": True}, "no staged list"),
        ({"total_bytes": 1 << 40}, "the most is"),
    ],
)
def test_an_impossible_buffer_is_refused_with_a_sentence(sizes, text):
    with pytest.raises(UsageError, match=text):
        two_pools(**sizes)


def test_three_pools_need_caps_and_states_keep_full_at_the_high_end():
    with pytest.raises(UsageError, match="needs the static caps"):
        three_pools(size=0, size_swa=0)
    with pytest.raises(UsageError, match="FULL pool must grow down"):
        three_pools(full_direction="up")
    with pytest.raises(UsageError, match="no static caps"):
        full_and_state(size=4, size_swa=4)


def test_swa_entries_may_be_larger_than_full_ones():
    driver = UnifiedDriver(two_pools(full_bytes=8, swa_bytes=16))
    grids = driver.geometry.grids()
    assert (grids["full"].pages, grids["full"].first) == (32, 2)
    assert (grids["swa"].pages, grids["swa"].first, grids["swa"].ids) == (16, 1, 32)
    assert driver.sizes()[0] == 40
    driver.alloc(40)
    assert driver.sizes()[0] == 0
    driver.refuses("alloc", need=4)


def test_static_caps_bound_each_side_and_not_the_joint_view():
    driver = UnifiedDriver(two_pools(size=8, size_swa=12))
    assert driver.sizes() == (40, 8, 12)
    driver.alloc(12)
    queries = driver.snapshot.queries
    assert driver.sizes() == (28, -4, 0)
    assert queries["conserve_full_available_size"] == -4
    assert queries["current_full_capacity"] == 8


def test_full_may_grow_up_and_swa_down():
    driver = UnifiedDriver(two_pools(full_direction="up"))
    driver.alloc(8)
    assert bound(driver.full) == {1: 1, 2: 2}
    assert bound(driver.swa) == {1: 30, 2: 31}
    assert (driver.full.watermark, driver.swa.watermark) == (3, 29)


def test_a_mixed_draw_gives_holes_first_and_a_band_that_grows_down_lists_fresh_pages_descending():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(16)
    driver.does("free_segment", slots=row[4:8], start_pos=4)
    driver.does("free_segment", slots=row[12:16], start_pos=12)
    assert (driver.full.holes, driver.swa.holes) == ([13, 15], [3, 5])
    driver.alloc(16)
    assert [driver.full.v2p[page] for page in range(5, 9)] == [13, 15, 11, 10]
    assert [driver.swa.v2p[page] for page in range(5, 9)] == [3, 5, 6, 7]


def test_holes_taken_all_together_keep_their_order_and_some_of_them_are_the_nearest():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(16)
    for page in (3, 0, 2):
        driver.does("free_segment", slots=row[4 * page : 4 * page + 4], start_pos=4 * page)
    assert (driver.full.holes, driver.swa.holes) == ([15, 12, 14], [5, 2, 4])
    driver.alloc(12)
    assert [driver.full.v2p[page] for page in range(5, 8)] == [15, 12, 14]


def test_older_releases_draw_holes_in_order_of_arrival():
    driver = UnifiedDriver(two_pools(), hole_choice="list-head")
    row = driver.alloc(16)
    for page in (3, 0, 2):
        driver.does("free_segment", slots=row[4 * page : 4 * page + 4], start_pos=4 * page)
    driver.alloc(8)
    assert [driver.full.v2p[page] for page in (5, 6)] == [15, 12]
    assert driver.full.holes == [14]


def test_ids_come_from_the_head_and_return_to_the_tail():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(12)
    driver.does("free", slots=row[4:8])
    assert driver.full.free_ids == [*range(4, 16), 2]
    assert driver.alloc(4) == list(range(16, 20))


def test_a_row_grows_into_its_partial_page_and_then_into_new_ids():
    driver = UnifiedDriver(two_pools())
    first = driver.gives("alloc_extend", prefix_lens=[0], seq_lens=[6], last_loc=[-1])
    assert first == [4, 5, 6, 7, 8, 9]
    batch = driver.gives("alloc_extend", prefix_lens=[6, 0], seq_lens=[9, 3], last_loc=[9, -1])
    assert batch == [10, 11, 12, 16, 17, 18]
    assert driver.gives("alloc_decode", seq_lens=[10, 4], last_loc=[12, 18]) == [13, 19]
    assert driver.gives("alloc_decode", seq_lens=[5], last_loc=[19]) == [20]


def test_a_tail_binds_only_the_new_pages_that_it_overlaps():
    driver = UnifiedDriver(two_pools())
    tail = {"prefix_lens": [0], "seq_lens": [14], "last_loc": [-1], "swa_tail_len": 3}
    driver.gives("alloc_extend_swa_tail", **tail)
    assert bound(driver.full).keys() == {1, 2, 3, 4}
    assert bound(driver.swa).keys() == {3, 4}
    none = {"prefix_lens": [0], "seq_lens": [4], "last_loc": [-1], "swa_tail_len": 0}
    driver.gives("alloc_extend_swa_tail", **none)
    assert bound(driver.swa).keys() == {3, 4}


def test_allocating_nothing_and_less_than_nothing_and_a_part_of_a_page():
    driver = UnifiedDriver(two_pools())
    assert driver.does("alloc", need=0).value == ()
    driver.refuses("alloc", need=-4)
    before = driver.snapshot
    driver.raises("AssertionError", "alloc", need=6)
    assert driver.snapshot == before


def test_an_urgent_flush_packs_and_gives_the_bytes_back():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(24)
    driver.does("free_swa_segment", slots=row[:12], start_pos=0)
    assert driver.flush("swa", urgent=True) == 3
    assert driver.copies("swa") == {(7, 2), (6, 3), (5, 4)}
    assert (driver.swa.watermark, driver.swa.holes) == (5, [])
    content = driver.swa.content
    for slot in row[12:]:
        place = driver.gives("translate", pool="swa", slots=[slot])[0]
        assert content[place] == slot - 3, "the numbers of the first row are its slots less 3"


def test_vacated_pages_wait_for_the_forward_pass_that_may_still_read_them():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(16)
    driver.does("begin_forward", event=0, slots=[])
    driver.does("free_swa_segment", slots=row[:4], start_pos=0)
    assert driver.flush("swa") == 1
    assert (driver.swa.holes, driver.swa.pending) == ([], [[5]])
    driver.does("free_swa_segment", slots=row[4:8], start_pos=4)
    assert driver.flush("swa") == 1
    assert driver.swa.pending == [[5, 4]], "several batches under one event accumulate"
    driver.does("fire_event", event=0)
    assert driver.flush("swa") == 0
    assert (driver.swa.pending, driver.swa.watermark) == ([], 4)


def test_a_background_flush_stops_at_a_page_that_is_about_to_be_written():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(16)
    driver.does("begin_forward", event=0, slots=row[15:])
    driver.does("free_swa_segment", slots=row[:4], start_pos=0)
    assert driver.flush("swa") == 0
    assert driver.flush("swa", urgent=True) == 1
    driver.does("free_swa_segment", slots=row[4:8], start_pos=4)
    driver.does("fire_event", event=0)
    assert driver.flush("swa") == 1, "a fired event protects nothing"


def test_a_forward_pass_that_an_urgent_flush_waited_for_is_not_spared_any_more():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(16)
    driver.does("begin_forward", event=0, slots=row[11:12])
    driver.does("free_swa_segment", slots=row[:4], start_pos=0)
    assert driver.flush("swa", urgent=True) == 1, "it waits, as a hole lies inside"
    driver.does("free_swa_segment", slots=row[4:8], start_pos=4)
    assert driver.flush("swa") == 1, "the page that the pass wrote moves"
    assert driver.swa.pending == [[4]], (
        "its event has not been seen to fire: the page may still be read"
    )


def test_an_urgent_flush_without_inner_holes_waits_for_no_forward_pass():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(16)
    driver.does("begin_forward", event=0, slots=row[11:12])
    driver.does("free_swa_segment", slots=row[12:], start_pos=12)
    assert driver.flush("swa", urgent=True) == 0
    driver.does("free_swa_segment", slots=row[:4], start_pos=0)
    assert driver.flush("swa") == 0


def test_a_closed_gate_keeps_every_page_where_it_is():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(40)
    driver.does("free_swa_segment", slots=row[:20], start_pos=0)
    driver.does("set_move_gate", pool="swa", gate=1, gate_state="closed")
    assert driver.flush("swa", urgent=True) == 0
    assert driver.gives("ensure_capacity", need=8, need_swa=0) == [0]
    driver.does("set_move_gate", pool="swa", gate=1, gate_state="open")
    assert driver.gives("ensure_capacity", need=8, need_swa=0) == [1]


def test_an_eager_free_packs_at_once_and_refuses_what_it_cannot():
    driver = UnifiedDriver(two_pools(lazy=False))
    row = driver.alloc(16)
    driver.does("free", slots=row[12:])
    assert (driver.copies("full"), driver.copies("swa")) == ({(12, 15)}, set())
    assert (driver.full.holes, driver.full.watermark, driver.swa.watermark) == ([], 12, 5)
    before = driver.snapshot
    driver.raises("AssertionError", "free_swa_segment", slots=row[12:], start_pos=12)
    driver.does("set_move_gate", pool="swa", gate=0, gate_state="closed")
    driver.raises("AssertionError", "free_swa", slots=row[4:8])
    assert driver.snapshot.bands == before.bands


def test_translation_leads_whatever_does_not_exist_to_the_padding_page():
    driver = UnifiedDriver(two_pools())
    row = driver.alloc(8)
    driver.does("free_swa_segment", slots=row[:4], start_pos=0)
    assert driver.gives("translate", pool="swa", slots=[*row[:4], row[4], -1, 10**9]) == [
        0, 0, 0, 0, 12, 0, 0,
    ]  # fmt: skip


def test_clear_returns_to_the_start_but_for_the_turn_of_the_floating_band():
    driver = UnifiedDriver(three_pools())
    start = driver.snapshot
    row = driver.alloc(16)
    driver.gives("alloc", pool="state", need=2)
    driver.does("free_swa_segment", slots=row[4:8], start_pos=4)
    driver.alloc(4)
    driver.does("free_group_begin")
    driver.does("free", slots=row[8:])
    driver.does("clear")
    after = driver.snapshot
    assert after.bands["swa"].next_end == "high"
    assert after.queries == start.queries
    assert not after.group_open
    for name, band in after.bands.items():
        assert (band.v2p, band.p2v, band.holes) == (
            start.bands[name].v2p,
            start.bands[name].p2v,
            [],
        )


def test_a_floating_band_draws_holes_from_either_end_in_turn():
    driver = UnifiedDriver(three_pools())
    row = driver.alloc(24)
    driver.does("free_swa_segment", slots=row[4:20], start_pos=4)
    holes = sorted(driver.swa.holes)
    driver.alloc(4)
    driver.alloc(4)
    taken = [driver.swa.v2p[page] for page in (8, 9)]
    assert taken == [holes[0], holes[-1]]


def test_an_empty_floating_band_is_parked_and_in_nobodys_way():
    driver = UnifiedDriver(three_pools())
    row = driver.alloc(8)
    driver.does("free_swa_segment", slots=row, start_pos=0)
    assert (driver.swa.start, driver.swa.stop, driver.swa.holes) == (64, 64, [])
    assert not driver.swa.dirty


def test_room_is_made_by_moving_the_nearest_pages_into_the_holes_beyond_them():
    driver = UnifiedDriver(three_pools())
    row = driver.alloc(32)
    start, stop = driver.swa.start, driver.swa.stop
    assert (start, stop) == (21, 29)
    driver.does("free_swa_segment", slots=row[20:24], start_pos=20)
    opened = driver.gives("make_room", pool="swa", side="low", need=21 * 32 - 96 + 33)
    assert driver.copies("swa") == {(21, 26), (22, 29)}
    assert (driver.swa.start, driver.swa.stop) == (23, 30)
    assert opened == [23 * 32 - 96]


def test_closing_holes_keeps_the_order():
    driver = UnifiedDriver(three_pools())
    row = driver.alloc(16)
    driver.does("free_swa_segment", slots=row[4:8], start_pos=4)
    driver.does("compact_holes", pool="swa", side="low")
    assert bound(driver.swa) == {2: 28, 4: 29, 5: 30}
    assert driver.copies("swa") == {(27, 28)}


def test_states_have_ids_of_their_own_and_translate_plainly():
    driver = UnifiedDriver(full_and_state())
    assert driver.gives("alloc", pool="state", need=3) == [1, 2, 3]
    driver.does("free", pool="state", slots=[2])
    assert driver.state.holes == [2]
    assert driver.gives("translate", pool="state", slots=[1, 2, 3]) == [1, -1, 3]
    assert driver.snapshot.queries["state_available_size"] == 7
