"""The hybrid allocator's allocation and mapping, rule by rule (contract_paged_swa §6, §6.1, §6.2, §6.7)."""

from __future__ import annotations

import pytest
import torch
from eager_calls import Bench, hybrid, pages

from oracle.geometry import Mode
from targets.eager.hybrid_swa import HybridSWAAllocator

DEBUG = Mode(debug=True)


def test_the_initial_state() -> None:
    state = Bench(hybrid(16, 11)).state
    assert state.full.free == [1, 2, 3, 4]
    assert state.swa is not None
    assert state.swa.free == [1, 2]
    assert state.mapping == [0] * 20 + [-1]
    assert state.queries == {
        "available_size": 8,
        "full_available_size": 16,
        "swa_available_size": 8,
        "size": 11,
        "size_full": 16,
        "size_swa": 11,
    }


def test_the_kv_pool_is_given_the_very_mapping_that_stays() -> None:
    given: list[torch.Tensor] = []

    class KVPool:
        def register_mapping(self, mapping: torch.Tensor) -> None:
            given.append(mapping)

    allocator = HybridSWAAllocator(16, 16, 4, "cpu", kvcache=KVPool())
    allocator.set_full_to_swa_mapping(torch.tensor([4]), torch.tensor([8], dtype=torch.int32))
    allocator.clear()
    assert given[0] is allocator.full_to_swa_index_mapping


def test_page_size_one_allocates_a_slot_and_its_peer() -> None:
    bench = Bench(hybrid(8, 4, 1))
    assert bench.call("alloc", need=3).value == (1, 2, 3)
    assert bench.state.mapping == [0, 1, 2, 3, 0, 0, 0, 0, 0, -1]
    before = bench.state
    assert bench.call("alloc", need=2).value is None
    assert bench.state == before


def test_each_page_size_has_its_own_way_to_allocate() -> None:
    for bench, refused in (
        (Bench(hybrid()), lambda bench: [bench.call("alloc", need=4)]),
        (
            Bench(hybrid(page_size=1)),
            lambda bench: [bench.extend((0, 2, -1)), bench.decode((1, -1)), bench.tail(2, 1)],
        ),
    ):
        before = bench.state
        assert {outcome.error for outcome in refused(bench)} == {"AssertionError"}
        assert bench.state == before


def test_extend_gives_full_slots_and_maps_them_to_new_peers() -> None:
    bench = Bench(hybrid())
    bench.fresh(4)
    bench.free(pages(1), "free_full_segment")
    assert bench.fresh(6) == (*pages(1), 8, 9)
    assert bench.state.mapping[4:12] == [8, 9, 10, 11, 12, 13, 0, 0]
    assert bench.extend((6, 8, 9), wide=False).value == (10, 11)
    assert bench.state.mapping[10:12] == [14, 15]


@pytest.mark.parametrize("sizes", [(16, 8), (8, 16)])
def test_extend_is_refused_whichever_side_is_short_without_even_a_merge(
    sizes: tuple[int, int],
) -> None:
    bench = Bench(hybrid(*sizes, need_sort=True))
    row = bench.fresh(8)
    bench.free(row[:4])
    before = bench.state
    assert bench.extend((0, 8, -1)).value is None
    assert bench.state == before


def test_a_row_at_a_page_boundary_goes_on_although_its_last_peer_is_gone() -> None:
    bench = Bench(hybrid(), DEBUG)
    row = bench.fresh(4)
    bench.free(row, "free_swa_segment")
    assert bench.extend((4, 6, row[-1])).value == (8, 9)
    assert bench.decode((5, row[-1])).value == (12,)
    assert bench.state.mapping[4:14] == [0, 0, 0, 0, 4, 5, 0, 0, 8, 0]


def test_a_row_that_does_not_grow_needs_no_last_peer() -> None:
    bench = Bench(hybrid())
    row = bench.fresh(2)
    bench.free(row, "free_swa_segment")
    assert bench.extend((2, 2, row[-1]), (0, 4, -1)).value == pages(2)


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("length", [1, 2])
def test_a_row_inside_a_page_does_not_go_on_into_the_padding_page(debug: bool, length: int) -> None:
    bench = Bench(hybrid(), Mode(debug=debug))
    row = bench.fresh(length)
    bench.free(row, "free_swa_segment")
    before = bench.state
    assert bench.extend((length, length + 1, row[-1])).error == "AssertionError"
    assert bench.decode((length + 1, row[-1])).error == "AssertionError"
    assert bench.state == before


def test_a_failed_debug_check_of_the_swa_half_leaves_the_full_half_alone() -> None:
    bench = Bench(hybrid(), DEBUG)
    bench.fresh(2)
    bench.call("set_full_to_swa_mapping", slots=(5,), peers=(6,))
    before = bench.state
    assert bench.extend((2, 3, 5)).error == "AssertionError"
    assert bench.decode((3, 5)).error == "AssertionError"
    assert bench.state == before


def test_slots_that_would_be_handed_out_twice_take_nothing_from_either_side() -> None:
    bench = Bench(hybrid(), DEBUG)
    bench.fresh(2, 2)
    bench.call("set_full_to_swa_mapping", slots=(9,), peers=(5,))
    before = bench.state
    assert bench.extend((2, 3, 5), (2, 3, 9)).error == "AssertionError"
    assert bench.decode((3, 5), (3, 9)).error == "AssertionError"
    assert bench.state == before


def test_decode_maps_the_new_slots() -> None:
    bench = Bench(hybrid())
    bench.fresh(4, 2)
    assert bench.decode((5, 7), (3, 9)).value == (12, 10)
    assert bench.state.mapping[4:16] == [4, 5, 6, 7, 8, 9, 10, 0, 12, 0, 0, 0]


@pytest.mark.parametrize("sizes", [(8, 4), (4, 8)])
def test_a_refused_decode_takes_from_neither_side(sizes: tuple[int, int]) -> None:
    bench = Bench(hybrid(*sizes))
    row = bench.fresh(4)
    before = bench.state
    assert bench.decode((5, row[-1])).value is None
    assert bench.state == before


def test_a_tail_starts_on_a_fresh_peer_page_and_the_head_is_unmapped() -> None:
    bench = Bench(hybrid())
    bench.call("set_full_to_swa_mapping", slots=(4, 5), peers=(20, 21))
    assert bench.tail(8, 6).value == pages(1, 2)
    assert bench.state.mapping[4:12] == [0, 0, 4, 5, 6, 7, 8, 9]
    assert bench.state.swa is not None
    assert bench.state.swa.free == [3, 4, 5, 6, 7, 8]


def test_an_empty_tail_takes_no_peers_and_leaves_the_mapping() -> None:
    bench = Bench(hybrid())
    bench.call("set_full_to_swa_mapping", slots=(4,), peers=(20,))
    assert bench.tail(8, 0).value == pages(1, 2)
    assert bench.state.mapping[4] == 20
    assert bench.state.queries["swa_available_size"] == 32


def test_a_tail_is_refused_or_rejected_with_nothing_changed() -> None:
    bench = Bench(hybrid(32, 4))
    before = bench.state
    assert bench.tail(8, 5).value is None
    assert bench.tail(8, 9).error == "AssertionError"
    two_rows = {"prefix_lens": (0, 0), "seq_lens": (4, 4), "last_loc": (-1, -1)}
    outcome = bench.call("alloc_extend_swa_tail", **two_rows, extend_num_tokens=8, swa_tail_len=4)
    assert outcome.error == "AssertionError"
    assert bench.state == before
    assert bench.tail(32, 4).value == pages(1, 2, 3, 4, 5, 6, 7, 8)


def test_mapping_primitives_touch_exactly_the_slots_named() -> None:
    bench = Bench(hybrid())
    bench.call("set_full_to_swa_mapping", slots=(4, 6), peers=(8, 9), wide=False)
    assert bench.call("set_full_to_swa_mapping", slots=(4, 5), peers=(1,)).error == "AssertionError"
    assert bench.call("set_full_to_swa_mapping", slots=(), peers=(1,)).error == ""
    translated = bench.call("translate_loc_from_full_to_swa", slots=(6, 5, 4, -1), wide=False)
    assert translated.value == (9, 0, 8, -1)
    assert translated.dtype == "int64"
    bench.call("clear_full_to_swa_mapping", slots=(6, 6), wide=False)
    assert bench.state.mapping[4:8] == [8, 0, 0, 0]


def test_clear_in_a_group_restores_everything_but_a_destroyed_sentinel() -> None:
    bench = Bench(hybrid(need_sort=True))
    before = bench.state
    row = bench.fresh(16)
    bench.free(row[:4])
    bench.call("free_group_begin")
    bench.free(row[4:8])
    bench.free(row[8:12], "free_segment")
    bench.call("clear")
    assert bench.state == before
    bench.call("clear_full_to_swa_mapping", slots=(-1,))
    bench.call("clear")
    assert bench.state.mapping[-1] == 0


def test_resize_sets_both_sides_and_refuses_what_the_mapping_cannot_hold() -> None:
    bench = Bench(hybrid())
    bench.fresh(8)
    bench.call("resize", size=16, size_swa=64)
    state = bench.state
    assert state.swa is not None
    assert (len(state.full.free), len(state.swa.free)) == (4, 16)
    assert state.queries["size"] == 16
    assert len(state.mapping or ()) == 37
    assert bench.call("resize", size=33, size_swa=32).error == "ValueError"
    assert bench.state == state
    assert bench.call("resize", size=32, size_swa=32).error == ""
    assert bench.state.queries["full_available_size"] == 32


def test_a_composite_has_no_list_of_its_own_to_merge() -> None:
    bench = Bench(hybrid(need_sort=True))
    bench.free(bench.fresh(4))
    before = bench.state
    assert bench.call("merge_and_sort_free").error == ""
    assert bench.state == before
    bench.call("merge_and_sort_free", pool="full")
    assert bench.state.full.staged == []
