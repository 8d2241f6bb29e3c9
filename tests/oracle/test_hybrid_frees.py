"""What gives slots back in the hybrid allocator outside groups, rule by rule (contract_paged_swa §2, §6.3, §6.6)."""

from __future__ import annotations

import pytest

from oracle.observation import Hit


def hybrid(drive, full=32, swa=None, page_size=4, **options):
    return drive("hybrid-swa", full, page_size, size_swa=swa, **options)


class TestFreeSwa:
    def test_one_slot_releases_and_unmaps_its_whole_page(self, drive, tokens):  # §6.3
        pool = hybrid(drive)
        pool.extend(0, 8)
        pool.does("free_swa", slots=[5])
        assert pool.swa.free == [1, 3, 4, 5, 6, 7, 8]
        assert pool.full.free == [3, 4, 5, 6, 7, 8]
        assert list(pool.mapped()) == tokens(2)

    def test_it_is_idempotent_and_signals_nothing(self, drive):  # §6.3, §15.12
        pool = hybrid(drive, level="strict")
        row = pool.extend(0, 8)
        pool.does("free_swa", slots=row)
        before = pool.snapshot
        assert pool.does("free_swa", slots=row).hits == ()
        assert pool.snapshot == before

    def test_pages_are_sorted_and_released_once(self, drive):  # §6.3
        pool = hybrid(drive)
        pool.extend(0, 12)
        pool.does("free_swa", slots=[13, 5, 12])
        assert pool.swa.free == [1, 3, 4, 5, 6, 7, 8]

    def test_page_size_one_is_the_segment_form_and_unfiltered(self, drive):  # §6.3
        pool = hybrid(drive, 4, page_size=1)
        pool.gives("alloc", need=4)
        pool.does("free_swa", slots=[3, 1])
        outcome = pool.does("free_swa", slots=[1, 2])
        assert outcome.hits == (Hit("swa.peer_mapped", 1),)
        assert pool.swa.free == [3, 1, 0, 2]

    def test_a_full_swa_list_raises_in_every_later_call(self, drive):  # §6.3
        pool = hybrid(drive, 4, page_size=1)
        pool.gives("alloc", need=1)
        pool.does("free_swa", slots=[1])
        pool.raises("AssertionError", "over-credit SWA: 5 of 4", "free_swa", slots=[1])
        assert pool.swa.free == [2, 3, 4, 1, 0]
        pool.raises("AssertionError", "over-credit SWA", "free_group_end")

    def test_an_over_full_side_raises_even_when_nothing_is_released(self, drive):  # §6.3
        pool = hybrid(drive, 8)
        pool.does("free_page_ids", slots=[1], pool="swa")
        pool.raises("AssertionError", "over-credit SWA", "free_swa", slots=[4])


class TestFreeSwaSegment:
    def test_pages_come_back_in_row_order(self, drive, tokens):  # §6.3
        pool = hybrid(drive)
        pool.extend(0, 12)
        pool.does("free_swa_segment", slots=tokens(3, 1)[:5], start_pos=4)
        assert pool.swa.free == [3, 1, 4, 5, 6, 7, 8]
        assert list(pool.mapped()) == tokens(2)

    def test_an_unaligned_start_raises_unchanged_and_unsignalled(self, drive, tokens):  # §2, §12
        pool = hybrid(drive, level="strict")
        for method in ("free_swa_segment", "free_segment"):
            outcome = pool.raises(
                "AssertionError", "alignment", method, slots=tokens(1), start_pos=3
            )
            assert outcome.hits == ()

    @pytest.mark.parametrize("method", ["free_swa_segment", "free_segment", "free_full_segment"])
    def test_an_empty_segment_is_not_checked(self, drive, method):  # §0
        pool = hybrid(drive)
        before = pool.snapshot
        pool.does(method, slots=[], start_pos=3)
        assert pool.snapshot == before

    def test_a_repeated_representative_gives_its_page_twice(self, drive, tokens):  # §6.3
        pool = hybrid(drive)
        pool.extend(0, 8)
        pool.does("free_swa_segment", slots=tokens(1, 1), start_pos=0)
        assert pool.swa.free == [1, 1, 3, 4, 5, 6, 7, 8]

    def test_over_credit_raises_after_everything_is_done(self, drive, tokens):  # §6.3, §12
        pool = hybrid(drive, 8)
        pool.extend(0, 4)
        pool.raises(
            "AssertionError", "over-credit SWA", "free_segment", slots=tokens(1, 1), start_pos=0
        )
        assert (pool.swa.free, pool.full.free) == ([1, 1, 2], [2])
        assert pool.mapped() == {}

    @pytest.mark.parametrize("level", ["off", "warn", "strict"])
    @pytest.mark.parametrize("method", ["free_swa_segment", "free_segment"])
    def test_unmapped_representatives_are_signalled_by_level(
        self, drive, tokens, level, method
    ):  # §2
        pool = hybrid(drive, level=level)
        row = pool.extend(0, 12)
        pool.extend(0, 20)
        pool.does("free_swa", slots=tokens(1, 3))
        before = pool.snapshot
        arguments = {"slots": row, "start_pos": 0}
        if level == "off":
            outcome = pool.does(method, **arguments)
            assert pool.swa.free == [0, 2, 0, 1, 3]
            assert pool.full.free == ([1, 2, 3] if method == "free_segment" else [])
        else:
            outcome = pool.raises("invariant:swa.peer_mapped", "2", method, **arguments)
            assert pool.snapshot == before
        assert (outcome.hits, outcome.counted) == ((Hit("swa.peer_mapped", 2),), ())

    @pytest.mark.parametrize(
        ("level", "error"), [("off", "AssertionError"), ("warn", "invariant:swa.peer_mapped")]
    )
    def test_debug_reports_an_unmapped_representative_after_the_invariant(
        self, drive, tokens, level, error
    ):  # §2, §6.6
        pool = hybrid(drive, level=level, debug=True)
        before = pool.snapshot
        outcome = pool.raises(error, "", "free_swa_segment", slots=tokens(1), start_pos=0)
        assert outcome.hits == (Hit("swa.peer_mapped", 1),)
        assert pool.snapshot == before

    def test_debug_refuses_a_repeated_representative_unchanged(self, drive, tokens):  # §6.6
        pool = hybrid(drive, debug=True)
        pool.extend(0, 8)
        before = pool.snapshot
        pool.raises(
            "AssertionError",
            "swa pages do not match",
            "free_swa_segment",
            slots=tokens(1, 1),
            start_pos=0,
        )
        assert pool.snapshot == before


class TestFreeFull:
    def test_only_the_full_side_is_released_and_the_mapping_stays(self, drive, tokens):  # §6.3
        pool = hybrid(drive)
        pool.extend(0, 8)
        outcome = pool.does("free_full", slots=[9, 4])
        assert pool.full.free == [1, 2, 3, 4, 5, 6, 7, 8]
        assert pool.swa.free == [3, 4, 5, 6, 7, 8]
        assert list(pool.mapped()) == tokens(1, 2)
        assert outcome.hits == (Hit("swa.peer_released", 2),)

    @pytest.mark.parametrize("method", ["free_full", "free_full_segment"])
    @pytest.mark.parametrize("level", ["off", "warn", "strict"])
    def test_mapped_slots_are_signalled_by_level(self, drive, level, method):  # §2
        pool = hybrid(drive, level=level)
        row = pool.extend(0, 8)
        before = pool.snapshot
        hit = Hit("swa.peer_released", 8)
        if level == "strict":
            outcome = pool.raises("invariant:swa.peer_released", "8", method, slots=row)
            assert pool.snapshot == before
        else:
            outcome = pool.does(method, slots=row)
        assert (outcome.hits, outcome.counted) == ((hit,), (hit,) if level == "warn" else ())

    def test_the_segment_form_goes_by_representatives(self, drive, tokens):  # §6.3
        pool = hybrid(drive)
        row = pool.extend(0, 12)
        pool.does("free_swa", slots=row)
        pool.does("free_full_segment", slots=tokens(3, 1), start_pos=0)
        assert pool.full.free == [3, 1, 4, 5, 6, 7, 8]

    def test_the_segment_form_signals_before_it_checks_the_start(self, drive, tokens):  # §6.3
        pool = hybrid(drive, level="warn")
        pool.extend(0, 4)
        outcome = pool.raises(
            "AssertionError", "alignment", "free_full_segment", slots=tokens(1), start_pos=2
        )
        assert outcome.counted == (Hit("swa.peer_released", 4),)

    def test_segment_forms_do_not_assert_capacity_but_the_next_free_full_does(
        self, drive, tokens
    ):  # §6.3
        pool = hybrid(drive, 8)
        pool.does("free_full_segment", slots=tokens(1), start_pos=0)
        assert pool.full.available == 12
        pool.does("free_group_begin")
        pool.raises("AssertionError", "over-credit FULL: 12 of 8", "free_full", slots=tokens(2))
        assert pool.full.group == [tokens(2)]

    def test_a_size_with_a_remainder_still_notices_one_surplus_page(self, drive, tokens):  # §12
        pool = hybrid(drive, 11)
        pool.raises("AssertionError", "over-credit FULL: 12 of 11", "free_full", slots=tokens(1))


class TestFree:
    def test_both_sides_come_back_sorted_and_unmapped(self, drive, tokens):  # §6.3
        pool = hybrid(drive)
        pool.extend(0, 12)
        pool.does("free", slots=[13, 4])
        assert pool.full.free == pool.swa.free == [1, 3, 4, 5, 6, 7, 8]
        assert list(pool.mapped()) == tokens(2)

    def test_after_free_swa_the_rest_comes_back_without_a_signal(self, drive):  # §13.2
        pool = hybrid(drive, level="strict")
        row = pool.extend(0, 8)
        pool.does("free_swa", slots=row)
        assert pool.does("free", slots=row).hits == ()
        assert pool.full.free == pool.swa.free == [1, 2, 3, 4, 5, 6, 7, 8]

    def test_over_credit_of_the_swa_half_leaves_the_full_half_undone(self, drive):  # §12
        pool = hybrid(drive, 8, 8)
        row = pool.extend(0, 4)
        pool.does("free_page_ids", slots=[7, 6], pool="swa")
        pool.raises("AssertionError", "over-credit SWA", "free", slots=row)
        assert (pool.swa.free, pool.full.free, pool.mapped()) == ([1, 7, 6, 2], [2], {})

    def test_a_debug_duplicate_of_the_swa_half_leaves_the_full_half_undone(
        self, drive, tokens
    ):  # §12
        pool = hybrid(drive, debug=True)
        row = pool.extend(0, 8)
        pool.does("free_page_ids", slots=[1], pool="swa")
        pool.raises("AssertionError", "duplicate pages", "free", slots=row)
        assert (pool.swa.free, pool.full.free) == ([1, 2, 1, *range(3, 9)], list(range(3, 9)))
        assert pool.mapped() == {}

    def test_a_segment_goes_by_representatives_on_both_sides(self, drive, tokens):  # §6.3
        pool = hybrid(drive)
        pool.extend(0, 12)
        pool.does("free_segment", slots=tokens(3, 1)[:6], start_pos=0)
        assert pool.full.free == pool.swa.free == [3, 1, 4, 5, 6, 7, 8]

    def test_debug_refuses_a_segment_that_full_would_refuse_before_swa_changes(
        self, drive
    ):  # rule 1
        pool = hybrid(drive, debug=True)
        pool.extend(0, 8)
        before = pool.snapshot
        pool.raises(
            "AssertionError", "representatives", "free_segment", slots=[4, 5, 6, 8], start_pos=0
        )
        assert pool.snapshot == before

    def test_segments_free_both_sides_until_one_raises(self, drive, segment, tokens):  # §3, §12
        pool = hybrid(drive, level="warn")
        pool.extend(0, 12)
        pool.does("free_swa", slots=tokens(2))
        segments = [segment(tokens(3), 0), segment(tokens(2), 4), segment(tokens(1), 8)]
        pool.raises("invariant:swa.peer_mapped", "1", "free_segments", segments=segments)
        assert pool.full.free == [3, 4, 5, 6, 7, 8]
        assert list(pool.mapped()) == tokens(1)

    def test_full_segments_signal_once_for_each_segment(self, drive, segment, tokens):  # §2, §3
        pool = hybrid(drive, level="warn")
        pool.extend(0, 12)
        segments = [segment(tokens(3), 0), segment([], 1), segment(tokens(1)[:3], 8)]
        outcome = pool.does("free_full_segments", segments=segments)
        assert outcome.hits == (Hit("swa.peer_released", 4), Hit("swa.peer_released", 3))
        assert outcome.counted == outcome.hits
        assert pool.full.free == [1, 3, 4, 5, 6, 7, 8]

    def test_negative_slots_wrap_around_like_a_list_index(self, drive):  # §6.3
        pool = hybrid(drive)
        pool.extend(0, 4)
        pool.does("set_full_to_swa_mapping", slots=[35], peers=[4])
        outcome = pool.does("free", slots=[-2])
        assert outcome.hits == ()
        assert pool.mapping[33:] == [0, 0, 0, 0]
        assert pool.swa.free[0] == 1
        assert pool.full.free[0] == -1


class TestDeviceTiming:
    def test_an_invariant_on_a_device_leaves_the_host_state_as_at_off(self, drive, tokens):  # §12
        states = []
        for options in ({}, {"level": "warn", "checks_after_clearing": True}):
            pool = hybrid(drive, **options)
            pool.extend(0, 32)
            pool.does("free_swa", slots=tokens(1))
            outcome = pool.call("free_swa_segment", slots=tokens(1, 2), start_pos=0)
            assert outcome.hits == (Hit("swa.peer_mapped", 1),)
            states.append(pool.snapshot)
        assert outcome.error == "invariant:swa.peer_mapped"
        assert states[0] == states[1]

    def test_the_debug_comparison_comes_after_clearing(self, drive, tokens):  # §12
        pool = hybrid(drive, debug=True, checks_after_clearing=True)
        pool.extend(0, 8)
        pool.does("set_full_to_swa_mapping", slots=[5], peers=[8])
        pool.raises(
            "AssertionError", "do not match", "free_swa_segment", slots=tokens(1), start_pos=0
        )
        assert list(pool.mapped()) == tokens(2)
        assert pool.swa.free == [3, 4, 5, 6, 7, 8]

    def test_repeated_representatives_are_undefined(self, drive, tokens):  # §6.3
        pool = hybrid(drive, checks_after_clearing=True)
        pool.is_undefined("device", "free_swa_segment", slots=tokens(1, 1), start_pos=0)


def test_a_contract_without_invariants_reports_none(drive, tokens):
    pool = hybrid(drive, level="strict", invariants=frozenset(), has_counter=False)
    pool.gives("alloc", need=4, pool="swa")
    outcome = pool.does("free_swa_segment", slots=tokens(1), start_pos=0)
    assert (outcome.hits, outcome.counted) == ((), None)
