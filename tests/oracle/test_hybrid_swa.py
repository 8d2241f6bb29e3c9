"""The hybrid allocator's state, mapping and allocation, rule by rule (contract_paged_swa §6 to §6.2)."""

from __future__ import annotations

import pytest

from oracle.errors import UsageError

SENTINEL = -1


def hybrid(drive, full=32, swa=None, page_size=4, **options):
    return drive("hybrid-swa", full, page_size, size_swa=swa, **options)


def tail_of(prefix, seq, last, tail):
    return {
        "prefix_lens": [prefix],
        "seq_lens": [seq],
        "last_loc": [last],
        "extend_num_tokens": seq - prefix,
        "swa_tail_len": tail,
    }


class TestStateAndQueries:
    def test_a_new_allocator_maps_nothing_but_the_sentinel(self, drive):  # §1
        pool = hybrid(drive, 32, 16)
        assert pool.mapping == [0] * 36 + [SENTINEL]
        assert (pool.full.free, pool.swa.free) == ([1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4])
        snapshot = pool.snapshot
        assert (snapshot.group, snapshot.swa_set_pile, snapshot.swa_page_pile) == (None, [], [])

    @pytest.mark.parametrize(("full", "swa"), [(32, 18), (18, 32)])
    def test_the_smaller_side_decides(self, drive, full, swa):  # §6 queries
        queries = hybrid(drive, full, swa).snapshot.queries
        assert queries == {
            "available_size": 16,
            "full_available_size": full // 4 * 4,
            "swa_available_size": swa // 4 * 4,
            "size": 18,
            "size_full": full,
            "size_swa": swa,
        }

    def test_staged_pages_count_as_new_pages(self, drive, tokens):  # §6 queries
        pool = hybrid(drive, 16, 8, need_sort=True)
        pool.extend(0, 8)
        assert pool.swa.free == []
        pool.does("free", slots=tokens(1))
        # FULL has 3 pages, SWA 1: the pairs are (0, 1, 3, 4) by (0, 1, 1, 2).
        fits = [True, True, True, False]
        assert pool.snapshot.new_pages == [*fits, *fits, *fits, False, False, False, False]

    def test_page_size_one_uses_token_pools(self, drive):  # §1
        pool = hybrid(drive, 4, 3, page_size=1, need_sort=True)
        pool.gives("alloc", need=3)
        pool.does("free", slots=[2, 1])
        assert (pool.full.staged, pool.swa.staged) == ([[2, 1]], [[2, 1]])
        assert len(pool.mapping) == 4 + 1 + 1

    def test_an_impossible_geometry_is_refused(self, drive):
        with pytest.raises(UsageError, match="SWA pool"):
            hybrid(drive, 8, 0)

    def test_clear_returns_to_the_start(self, drive, tokens):  # §6.7
        pool = hybrid(drive, need_sort=True)
        fresh = pool.snapshot
        pool.extend(0, 16)
        pool.does("free", slots=tokens(2))
        pool.does("free_group_begin")
        pool.does("free_swa", slots=tokens(3))
        pool.does("free_segment", slots=tokens(1), start_pos=0)
        pool.does("clear")
        assert pool.snapshot == fresh
        pool.does("free_group_end")
        assert pool.snapshot == fresh

    def test_a_shrink_keeps_the_length_of_the_table(self, drive):  # §1
        pool = hybrid(drive)
        pool.extend(0, 8)
        pool.does("free_group_begin")
        pool.does("resize", size=16, size_swa=8)
        snapshot = pool.snapshot
        assert (pool.full.free, pool.swa.free) == ([1, 2, 3, 4], [1, 2])
        assert snapshot.mapping == [0] * 36 + [SENTINEL]
        assert (snapshot.group, pool.full.group) == (None, None)
        assert (snapshot.queries["size_full"], snapshot.queries["size_swa"]) == (16, 8)
        pool.does("resize", size=32, size_swa=64)
        assert pool.snapshot == hybrid(drive, 32, 64).snapshot

    def test_growth_beyond_the_table_is_undefined(self, drive):  # §1
        hybrid(drive).is_undefined("beyond the table", "resize", size=36, size_swa=32)

    def test_merging_a_composite_is_undefined(self, drive):  # §1
        hybrid(drive).is_undefined("no free list of its own", "merge_and_sort_free")

    @pytest.mark.parametrize("method", ["free_page_ids", "backup_state"])
    def test_the_composite_lacks_some_calls(self, drive, method):  # §13.1
        hybrid(drive).raises("NotImplementedError", method, method, slots=[1])


class TestMapping:
    def test_setting_overwrites_whatever_was_there(self, drive):  # §6.1
        pool = hybrid(drive)
        pool.does("set_full_to_swa_mapping", slots=[4, 9], peers=[8, 5])
        pool.does("set_full_to_swa_mapping", slots=[9], peers=[6])
        assert pool.mapped() == {4: 8, 9: 6}
        assert pool.gives("translate_loc_from_full_to_swa", slots=[9, 4, 5, -1]) == [6, 8, 0, -1]

    def test_setting_nothing_is_nothing_whatever_the_peers(self, drive):  # §6.1
        hybrid(drive).does("set_full_to_swa_mapping", slots=[], peers=[5])

    def test_unequal_lengths_raise_and_change_nothing(self, drive):  # §6.1, §12
        pool = hybrid(drive)
        pool.raises("AssertionError", "length", "set_full_to_swa_mapping", slots=[4, 5], peers=[8])
        assert pool.mapped() == {}

    @pytest.mark.parametrize("slots", [[4, 4], [36, -1]])
    def test_two_peers_for_one_slot_are_undefined(self, drive, slots):  # §6.1
        pool = hybrid(drive)
        pool.is_undefined("twice", "set_full_to_swa_mapping", slots=slots, peers=[8, 9])

    def test_the_same_peer_twice_is_no_conflict(self, drive):  # §6.1
        pool = hybrid(drive)
        pool.does("set_full_to_swa_mapping", slots=[4, 4], peers=[8, 8])
        assert pool.mapped() == {4: 8}

    def test_clearing_takes_exactly_the_named_slots_and_is_idempotent(self, drive):  # §6.1
        pool = hybrid(drive)
        pool.extend(0, 4)
        for _ in range(2):
            pool.does("clear_full_to_swa_mapping", slots=[5, 6])
            assert pool.mapped() == {4: 4, 7: 7}

    @pytest.mark.parametrize("slot", [37, -38])
    @pytest.mark.parametrize(
        "method",
        [
            "translate_loc_from_full_to_swa",
            "clear_full_to_swa_mapping",
            "set_full_to_swa_mapping",
            "free",
            "free_swa",
            "free_full",
            "free_segment",
            "free_swa_segment",
        ],
    )
    def test_a_slot_outside_the_table_is_undefined(self, drive, method, slot):
        hybrid(drive).is_undefined("outside the mapping", method, slots=[slot], peers=[4])

    def test_translating_nothing_gives_an_empty_tensor(self, drive):  # §6
        assert hybrid(drive).gives("translate_loc_from_full_to_swa", slots=[]) == []


class TestAlloc:
    def test_both_sides_give_and_are_mapped(self, drive):  # §6.2
        pool = hybrid(drive, 4, 4, page_size=1)
        pool.gives("alloc", need=1, pool="swa")
        assert pool.gives("alloc", need=2) == [1, 2]
        assert pool.mapped() == {1: 2, 2: 3}

    def test_a_short_side_refuses_without_a_merge(self, drive):  # §6.2, §12
        pool = hybrid(drive, 8, 3, page_size=1, need_sort=True)
        pool.gives("alloc", need=3)
        pool.does("free_full", slots=[3, 2])
        pool.does("free_swa", slots=[1])
        before = pool.snapshot
        pool.refuses("alloc", need=2)
        assert pool.snapshot == before

    def test_it_needs_page_size_one(self, drive):  # §6.2
        hybrid(drive).raises("AssertionError", "page size", "alloc", need=4)


class TestExtend:
    def test_both_sides_take_the_same_number_of_pages(self, drive):  # §6.2
        pool = hybrid(drive)
        pool.gives("alloc", need=4, pool="swa")
        row = pool.extend(0, 6)
        assert row == [4, 5, 6, 7, 8, 9]
        assert pool.extend(6, 9, row[-1]) == [10, 11, 12]
        assert pool.mapped() == {slot: slot + 4 for slot in range(4, 13)}
        assert (pool.full.free, pool.swa.free) == ([4, 5, 6, 7, 8], [5, 6, 7, 8])

    @pytest.mark.parametrize("method", ["alloc_extend", "alloc_decode", "alloc_extend_swa_tail"])
    def test_it_needs_a_page_size_of_more_than_one(self, drive, method):  # §6.2
        pool = hybrid(drive, 8, page_size=1)
        pool.raises("AssertionError", "page size", method, **tail_of(0, 1, -1, 0))

    @pytest.mark.parametrize(("full", "swa"), [(8, 16), (16, 8)])
    def test_a_short_side_refuses_without_a_merge(
        self, drive, extends, tokens, full, swa
    ):  # §6.2, §12
        pool = hybrid(drive, full, swa, need_sort=True)
        pool.extend(0, 8)
        pool.does("free", slots=tokens(2))
        pool.does("free", slots=tokens(1))
        before = pool.snapshot
        pool.refuses("alloc_extend", **extends([0], [12], [-1]))
        assert pool.snapshot == before

    def test_exactly_what_is_left_is_given(self, drive):  # §6.2
        pool = hybrid(drive, 8, 8)
        pool.extend(0, 8)
        assert pool.snapshot.queries["available_size"] == 0

    @pytest.mark.parametrize("debug", [False, True])
    def test_an_aligned_prefix_may_have_lost_its_peers(self, drive, tokens, debug):  # §6.2
        pool = hybrid(drive, debug=debug)
        row = pool.extend(0, 4)
        pool.does("free_swa", slots=row)
        assert pool.extend(4, 8, row[-1]) == tokens(2)
        assert pool.mapped() == dict(zip(tokens(2), tokens(1), strict=True))

    def test_continuing_a_tombstoned_page_is_undefined(self, drive, extends):  # §6.2
        pool = hybrid(drive)
        row = pool.extend(0, 5)
        pool.does("free_swa", slots=row)
        pool.is_undefined("no live peer", "alloc_extend", **extends([5], [6], [row[-1]]))

    def test_continuing_a_tombstoned_page_is_undefined_where_debug_mode_would_refuse_it(
        self, drive, extends
    ):  # §6.2
        pool = hybrid(drive, debug=True)
        row = pool.extend(0, 6)
        pool.does("free_swa", slots=row)
        pool.is_undefined("no live peer", "alloc_extend", **extends([6], [7], [row[-1]]))
        pool.is_undefined("no live peer", "alloc_decode", seq_lens=[7], last_loc=[row[-1]])

    def test_continuing_a_tombstoned_page_is_undefined_where_pages_are_short(
        self, drive, extends
    ):  # §6.2
        pool = hybrid(drive)
        row = pool.extend(0, 31)
        pool.does("free_swa", slots=row[28:])
        arguments = extends([31, 0], [32, 40], [row[-1], -1])
        pool.is_undefined("no live peer", "alloc_extend", **arguments)
        pool.does("free_swa", slots=row)
        pool.gives("alloc", need=32, pool="swa")
        arguments = {"seq_lens": [32, 1], "last_loc": [row[-1], -1]}
        pool.is_undefined("no live peer", "alloc_decode", **arguments)

    def test_a_debug_assert_of_the_swa_half_comes_before_full_takes_anything(
        self, drive, extends
    ):  # §6.2
        pool = hybrid(drive, debug=True)
        pool.raises("AssertionError", "duplicate", "free_page_ids", slots=[3], pool="swa")
        pool.gives("alloc", need=4 * 8, pool="swa")
        before = pool.snapshot
        assert before.swa.free == [8]
        pool.raises("AssertionError", "duplicate", "free_page_ids", slots=[8], pool="swa")
        before = pool.snapshot
        pool.raises("AssertionError", "twice", "alloc_extend", **extends([0], [8], [-1]))
        assert pool.snapshot == before

    def test_a_batch_of_no_requests_gives_an_empty_tensor(self, drive):  # §5.3
        assert hybrid(drive).gives("alloc_extend") == []


class TestTail:
    def test_only_the_tail_gets_peers_from_the_start_of_fresh_pages(self, drive):  # §6.2
        pool = hybrid(drive)
        row = pool.gives("alloc_extend_swa_tail", **tail_of(0, 12, -1, 5))
        assert row == list(range(4, 16))
        assert pool.mapped() == {11: 4, 12: 5, 13: 6, 14: 7, 15: 8}
        assert pool.swa.free == [3, 4, 5, 6, 7, 8]

    def test_an_empty_tail_leaves_old_entries_of_the_new_slots(self, drive, tokens):  # §6.2
        pool = hybrid(drive, 8, 8)
        row = pool.extend(0, 8)
        pool.does("free_full", slots=row)
        pool.gives("alloc_extend_swa_tail", **tail_of(0, 8, -1, 0))
        assert pool.mapped() == {slot: slot for slot in tokens(1, 2)}

    def test_a_tail_clears_old_entries_of_its_head(self, drive):  # §6.2
        pool = hybrid(drive, 8, 16)
        row = pool.extend(0, 8)
        pool.does("free_full", slots=row)
        pool.gives("alloc_extend_swa_tail", **tail_of(0, 8, -1, 4))
        assert pool.mapped() == {8: 12, 9: 13, 10: 14, 11: 15}

    @pytest.mark.parametrize(("full", "swa", "tail"), [(8, 32, 4), (32, 4, 5)])
    def test_a_short_side_refuses_without_a_merge(self, drive, full, swa, tail):  # §6.2, §12
        pool = hybrid(drive, full, swa)
        before = pool.snapshot
        pool.refuses("alloc_extend_swa_tail", **tail_of(0, 12, -1, tail))
        assert pool.snapshot == before

    def test_full_needs_the_open_page_only_once(self, drive):  # §6.2
        pool = hybrid(drive, 8, 8)
        row = pool.extend(0, 5)
        assert pool.gives("alloc_extend_swa_tail", **tail_of(5, 8, row[-1], 0)) == [9, 10, 11]

    @pytest.mark.parametrize("tail", [-1, 9])
    def test_a_tail_longer_than_the_extend_raises(self, drive, tail):  # §6.2
        hybrid(drive).raises(
            "AssertionError", "tail", "alloc_extend_swa_tail", **tail_of(0, 8, -1, tail)
        )

    def test_more_than_one_request_raises(self, drive, extends):  # §6.2
        hybrid(drive).raises(
            "AssertionError",
            "batch size",
            "alloc_extend_swa_tail",
            **extends([0, 0], [4, 4], [-1, -1]),
            swa_tail_len=4,
        )


class TestDecode:
    def test_both_sides_go_on_and_are_mapped(self, drive, extends):  # §6.2
        pool = hybrid(drive)
        rows = pool.gives("alloc_extend", **extends([0, 0], [4, 3], [-1, -1]))
        last = [rows[3], rows[6]]
        assert pool.gives("alloc_decode", seq_lens=[5, 4], last_loc=last) == [12, 11]
        assert pool.mapped() == {slot: slot for slot in [*range(4, 13)]}

    @pytest.mark.parametrize(("full", "swa"), [(4, 16), (16, 4)])
    def test_a_short_side_refuses_and_nothing_is_taken(self, drive, full, swa):  # §6.2, §12
        pool = hybrid(drive, full, swa)
        row = pool.extend(0, 4)
        before = pool.snapshot
        pool.refuses("alloc_decode", seq_lens=[5], last_loc=[row[-1]])
        assert pool.snapshot == before

    def test_a_refusal_may_merge_both_sides(self, drive, tokens):  # §12
        pool = hybrid(drive, 8, 8, need_sort=True)
        pool.extend(0, 8)
        pool.does("free", slots=tokens(1))
        pool.refuses("alloc_decode", seq_lens=[5, 5], last_loc=[7, 11])
        assert (pool.full.free, pool.full.staged) == ([1], [])
        assert (pool.swa.free, pool.swa.staged) == ([1], [])

    @pytest.mark.parametrize("debug", [False, True])
    def test_a_full_page_may_have_lost_its_peers(self, drive, debug):  # §6.2
        pool = hybrid(drive, debug=debug)
        row = pool.extend(0, 4)
        pool.does("free_swa", slots=row)
        assert pool.gives("alloc_decode", seq_lens=[5], last_loc=[row[-1]]) == [8]
        assert pool.mapped() == {8: 4}

    def test_continuing_a_tombstoned_page_is_undefined(self, drive):  # §6.2
        pool = hybrid(drive)
        row = pool.extend(0, 5)
        pool.does("free_swa", slots=row)
        pool.is_undefined("no live peer", "alloc_decode", seq_lens=[6], last_loc=[row[-1]])
