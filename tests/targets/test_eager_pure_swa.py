"""The allocator for models whose layers all slide (contract_paged_swa §6.8)."""

from __future__ import annotations

from typing import Any

import pytest
from eager_calls import Bench
from family_geometries import pure_swa

IDENTITY = [0, 1, 2, 3, 4, 5, 6, 7, 8, -1]


def test_one_pool_is_shown_as_both_sides() -> None:
    bench = Bench(pure_swa())
    assert bench.call("alloc", need=3).value == (1, 2, 3)
    state = bench.state
    assert (state.full.free, state.swa, state.mapping) == ([4, 5, 6, 7, 8], None, IDENTITY)
    assert state.queries == {
        "available_size": 5,
        "full_available_size": 5,
        "swa_available_size": 5,
        "size": 8,
        "size_full": 8,
        "size_swa": 8,
    }
    fits = [True, True, True, False]
    assert state.new_pages == [full and swa for full in fits for swa in fits]


def test_a_slot_is_its_own_peer() -> None:
    bench = Bench(pure_swa())
    outcome = bench.free((3, 0, -1, 8), "translate_loc_from_full_to_swa", wide=False)
    assert (outcome.value, outcome.dtype) == ((3, 0, -1, 8), "int32")


@pytest.mark.parametrize("method", ["free", "free_swa"])
def test_only_positive_slots_are_freed(method: str) -> None:
    bench = Bench(pure_swa())
    bench.call("alloc", need=8)
    assert not bench.free((5, 0, 2, -1), method).error
    assert bench.state.full.free == [5, 2]


@pytest.mark.parametrize("method", ["free_segment", "free_swa_segment"])
def test_segment_forms_do_not_look_at_the_start(method: str) -> None:
    bench = Bench(pure_swa())
    bench.call("alloc", need=8)
    bench.free((7, 3), method, start_pos=5)
    assert bench.state.full.free == [7, 3]


@pytest.mark.parametrize("method", ["free_full", "free_full_segment"])
def test_what_frees_the_full_side_alone_does_nothing(method: str) -> None:
    bench = Bench(pure_swa())
    bench.call("alloc", need=8)
    assert not bench.free((7, 3), method).error
    bench.segments("free_full_segments", ((1, 2), 0), ((3,), 4))
    assert bench.state.full.free == []


@pytest.mark.parametrize(
    ("method", "fields"),
    [
        ("alloc_extend", {"prefix_lens": (0,), "seq_lens": (2,), "last_loc": (-1,)}),
        ("alloc_extend_swa_tail", {"prefix_lens": (0,), "seq_lens": (2,), "last_loc": (-1,)}),
        ("alloc_decode", {"seq_lens": (2,), "last_loc": (1,)}),
        ("set_full_to_swa_mapping", {"slots": (1,), "peers": (2,)}),
        ("clear_full_to_swa_mapping", {"slots": (1,)}),
    ],
)
def test_what_needs_two_pools_is_not_implemented(method: str, fields: dict[str, Any]) -> None:
    bench = Bench(pure_swa())
    before = bench.state
    assert bench.call(method, **fields).error == "NotImplementedError"
    assert bench.state == before


def test_a_group_keeps_what_was_given_and_filters_at_its_end() -> None:
    bench = Bench(pure_swa())
    bench.call("alloc", need=8)
    bench.call("free_group_begin")
    bench.free((4, 0), overwrite=True)
    bench.free((2,), "free_swa", overwrite=True)
    assert (bench.state.group, bench.state.full.free) == ([[4, 0], [2]], [])
    assert bench.state.full.group is None
    assert bench.call("free_group_begin").error == "AssertionError"
    bench.call("free_group_end")
    assert (bench.state.group, bench.state.full.free) == (None, [4, 2])


def test_the_capacity_is_asserted_by_free_and_not_by_free_swa() -> None:
    bench = Bench(pure_swa(size=2))
    assert not bench.free((1,), "free_swa").error
    assert bench.free((2,)).error == "AssertionError"
    assert bench.state.full.free == [1, 2, 1, 2], "raised after the work"


def test_the_swa_size_of_a_resize_decides_and_the_mapping_stays() -> None:
    bench = Bench(pure_swa())
    bench.call("free_group_begin")
    assert not bench.call("resize", size=7, size_swa=5).error
    state = bench.state
    assert (state.full.free, state.group, state.mapping) == ([1, 2, 3, 4, 5], None, IDENTITY)
    sizes = [state.queries[name] for name in ("size", "size_full", "size_swa")]
    assert sizes == [5, 7, 5]
    assert bench.call("resize", size=20, size_swa=20).error == "ValueError"
    assert bench.state == state


def test_staged_slots_are_merged_when_slots_are_short() -> None:
    bench = Bench(pure_swa(need_sort=True))
    bench.call("alloc", need=8)
    bench.free((5, 2))
    assert bench.state.full.staged == [[5, 2]]
    assert bench.call("alloc", need=1).value == (2,)


def test_clear_returns_to_the_state_after_construction() -> None:
    bench = Bench(pure_swa())
    before = bench.state
    bench.call("alloc", need=3)
    bench.call("free_group_begin")
    bench.free((1,))
    bench.call("clear")
    assert bench.state == before
