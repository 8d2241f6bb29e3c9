"""The golden traces of contract_unified §14, step by step."""

from __future__ import annotations

from unified_driver import UnifiedDriver, bound, three_pools, two_pools


def _filled() -> tuple[UnifiedDriver, list[int], list[int]]:
    driver = UnifiedDriver(two_pools())
    return driver, driver.alloc(16), driver.alloc(12)


def _ratcheted() -> tuple[UnifiedDriver, list[int], list[int]]:
    driver, first, second = _filled()
    driver.does("free_swa_segment", slots=first[:8], start_pos=0)
    return driver, first, second


def _queued() -> tuple[UnifiedDriver, list[int]]:
    driver, first, second = _ratcheted()
    driver.does("free_group_begin")
    driver.does("free_full_segment", slots=first[:8], start_pos=0)
    driver.does("free_segment", slots=first[8:16], start_pos=8)
    return driver, second


def _freed() -> UnifiedDriver:
    driver, _ = _queued()
    driver.does("free_group_end")
    return driver


def _reused() -> UnifiedDriver:
    driver = _freed()
    driver.alloc(4)
    return driver


def _flushed() -> UnifiedDriver:
    driver = _reused()
    for _ in range(2):
        driver.flush("full")
        driver.flush("swa")
    return driver


def test_two_pools_start_empty_with_the_caps_that_the_buffer_allows() -> None:
    driver = UnifiedDriver(two_pools())
    assert (driver.full.watermark, driver.swa.watermark) == (15, 2)
    assert driver.full.free_ids == list(range(1, 16))
    assert driver.sizes() == (40, 60, 60)


def test_g1_rows_bind_both_sides_from_their_own_ends() -> None:
    driver, first, second = _filled()
    assert (first, second) == (list(range(4, 20)), list(range(20, 32)))
    assert (driver.full.watermark, driver.swa.watermark) == (8, 9)
    assert bound(driver.full) == {1: 12, 2: 13, 3: 14, 4: 15, 5: 9, 6: 10, 7: 11}
    assert bound(driver.swa) == {page: page + 1 for page in range(1, 8)}
    assert driver.sizes() == (12, 16, 32)


def test_g2_a_ratchet_leaves_holes_on_swa() -> None:
    driver, _, _ = _ratcheted()
    assert driver.swa.holes == [2, 3]
    assert driver.sizes() == (12, 20, 40)


def test_g3_deferred_frees_change_nothing_but_the_piles() -> None:
    driver, _, _ = _ratcheted()
    before = driver.snapshot
    driver, _ = _queued()
    after = driver.snapshot
    assert after.representative_pile == [[12, 16]]
    assert after.full_representative_pile == [[4, 8]]
    assert (after.bands, after.queries) == (before.bands, before.queries)


def test_g4_the_end_frees_both_piles_on_full_at_once() -> None:
    driver = _freed()
    assert driver.full.holes == [14, 15, 12, 13]
    assert driver.full.free_ids == [*range(8, 16), 3, 4, 1, 2]
    assert driver.swa.holes == [2, 3, 4, 5]
    assert driver.sizes() == (28, 40, 48)


def test_g5_an_allocation_draws_the_holes_nearest_each_end() -> None:
    driver = _freed()
    assert driver.alloc(4) == list(range(32, 36))
    assert (bound(driver.full)[8], bound(driver.swa)[8]) == (15, 2)
    assert (driver.full.holes, driver.swa.holes) == ([12, 13, 14], [3, 4, 5])
    assert driver.sizes()[0] == 24


def test_g6_a_background_flush_moves_pages_and_no_watermark() -> None:
    driver = _reused()
    assert driver.flush("full") == 3
    assert driver.copies("full") == {(9, 14), (10, 13), (11, 12)}
    assert driver.flush("swa") == 3
    assert driver.copies("swa") == {(8, 3), (7, 4), (6, 5)}
    assert (driver.full.watermark, driver.swa.watermark) == (8, 9)
    assert (driver.full.holes, driver.swa.holes) == ([9, 10, 11], [8, 7, 6])


def test_g7_the_next_one_gives_the_bytes_back() -> None:
    driver = _flushed()
    assert driver.snapshot.copies == []
    assert (driver.full.watermark, driver.swa.watermark) == (11, 6)
    assert (driver.full.holes, driver.swa.holes) == ([], [])


def test_g8_everything_that_is_available_can_be_allocated() -> None:
    driver = _flushed()
    driver.alloc(24)
    assert driver.sizes() == (0, 0, 0)
    assert (driver.full.watermark, driver.swa.watermark) == (5, 12)


def test_g9_plans_and_an_ensure_that_moves_pages() -> None:
    driver = _flushed()
    row = driver.alloc(24)
    driver.does("free_swa_segment", slots=row[:8], start_pos=0)
    evictable = {"evictable_full": 8, "evictable_swa": 8}
    assert driver.gives("reclaim_plan", need=8, need_swa=8, **evictable) == [8, 0]
    preferring = driver.gives("reclaim_plan", need=8, need_swa=8, prefer_swa=True, **evictable)
    assert preferring == [4, 8]
    assert driver.gives("reclaim_plan", need=4, need_swa=0) == [0, 0]
    assert driver.gives("ensure_capacity", need=4, need_swa=0) == [1]
    assert driver.swa.watermark == 10
    assert {p: q for p, q in bound(driver.swa).items() if p >= 11} == {11: 8, 12: 9, 13: 7, 14: 6}
    assert driver.sizes()[1:] == (4, 8)
    slots = [-3, 0, 3, 4, 20, 31, 63, 64, 10**6]
    translated = driver.gives("translate", pool="full", slots=slots)
    assert translated == [0, 0, 3, 0, 56, 51, 0, 0, 0]


def test_three_pools_a_row_floats_between_the_ends() -> None:
    driver = UnifiedDriver(three_pools())
    assert driver.sizes()[0] == 80
    assert (driver.swa.start, driver.swa.stop) == (64, 64)
    driver.alloc(16)
    assert bound(driver.full) == {2: 28, 3: 29, 4: 30, 5: 31}
    assert (driver.swa.start, driver.swa.stop) == (27, 31)
    assert driver.sizes()[0] == 48
    assert driver.gives("alloc", pool="state", need=3) == [1, 2, 3]
    assert driver.state.watermark == 4


def test_three_pools_a_floating_band_leaps_over_to_make_room_for_states() -> None:
    driver = UnifiedDriver(three_pools())
    row = driver.alloc(16)
    driver.gives("alloc", pool="state", need=3)
    driver.does("free_swa_segment", slots=row[4:8], start_pos=4)
    assert driver.swa.holes == [28]
    driver.does("free_swa_segment", slots=row[:4], start_pos=0)
    assert driver.swa.holes == [28, 27]
    assert (driver.swa.start, driver.swa.stop) == (27, 31)
    assert driver.flush("swa") == 2
    assert (driver.swa.start, driver.swa.stop) == (29, 31)
    assert driver.state.available == 5
    assert len(driver.gives("alloc", pool="state", need=6)) == 6
    assert driver.copies("swa") == {(29, 54), (30, 55)}
    assert (driver.swa.start, driver.swa.stop) == (54, 56)
    assert driver.sizes()[0] == 0
