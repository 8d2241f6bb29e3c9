"""The allocator of pages spread over ranks (contract_paged_swa §9)."""

from __future__ import annotations

from typing import Any

import pytest
from eager_calls import Bench, pages
from family_geometries import page_interleave

from oracle.geometry import Mode
from oracle.observation import Outcome

CLASSES = [[3, 6, 9], [4, 7, 10], [5, 8, 11]]


def grow(bench: Bench, *rows: tuple[int, int], bases: tuple[int | None, ...], **fields: Any) -> Any:
    """Rows as (prefix length, sequence length)."""
    return bench.extend(*((*row, -1) for row in rows), rotation_bases=bases, **fields)


def test_each_class_has_the_pages_of_its_rank_and_the_first_ones_are_reserved() -> None:
    state = Bench(page_interleave()).state
    assert (state.classes, state.class_staged) == (CLASSES, [[], [], []])
    assert (state.full.free, state.full.staged_count, state.full.size) == ([], 0, 36)
    assert state.queries == {
        "available_size": 36,
        "size": 36,
        "aggregate_free_size": 36,
        "least_full_class": 0,
    }
    assert state.full.all_free == [3, 6, 9, 4, 7, 10, 5, 8, 11]


def test_pages_come_from_the_classes_in_turn_in_token_order() -> None:
    bench = Bench(page_interleave())
    outcome = grow(bench, (0, 14), bases=(2,))
    assert outcome.value == pages(5, 3, 4) + pages(8)[:2]
    assert (outcome.dtype, outcome.resolved) == ("int64", (2,))
    assert bench.state.classes == [[6, 9], [7, 10], [11]]


def test_the_start_moves_on_by_the_pages_that_a_row_has() -> None:
    bench = Bench(page_interleave())
    assert grow(bench, (16, 20), bases=(1,)).value == pages(5)


def test_an_open_base_becomes_the_fullest_class_that_the_requests_before_leave() -> None:
    bench = Bench(page_interleave())
    outcome = grow(bench, (0, 4), (0, 8), (0, 4), bases=(None, None, 0))
    assert outcome.resolved == (0, 1, 0)
    assert outcome.value == pages(3, 4, 5, 6)
    assert bench.state.queries["least_full_class"] == 1


def test_the_available_size_is_that_of_the_emptiest_class_and_not_the_sum() -> None:
    bench = Bench(page_interleave())
    grow(bench, (0, 4), bases=(1,))
    queries = bench.state.queries
    assert (queries["available_size"], queries["aggregate_free_size"]) == (24, 32)


def test_a_refusal_takes_nothing_and_resolves_no_base() -> None:
    bench = Bench(page_interleave(need_sort=True))
    row = grow(bench, (0, 12), bases=(0,)).value
    bench.free(row)
    before = bench.state
    outcome = grow(bench, (0, 36), (0, 4), bases=(None, None))
    assert (outcome.value, outcome.error, outcome.resolved) == (None, "", (-1, -1))
    assert bench.state == before


@pytest.mark.parametrize(
    ("rows", "bases", "total"),
    [
        (((0, 8),), (), 8),
        (((0, 8),), (0, 1), 8),
        (((0, 4), (2, 8)), (None, 0), 10),
        (((0, 4), (4, 4)), (None, 0), 4),
        (((0, 4),), (None,), 5),
    ],
    ids=["no-bases", "too-many-bases", "prefix-in-page", "no-page", "wrong-total"],
)
def test_a_malformed_batch_is_refused_before_anything_changes(
    rows: tuple[tuple[int, int], ...], bases: tuple[int | None, ...], total: int
) -> None:
    bench = Bench(page_interleave())
    before = bench.state
    outcome = bench.call(
        "alloc_extend",
        prefix_lens=tuple(row[0] for row in rows),
        seq_lens=tuple(row[1] for row in rows),
        last_loc=(-1,) * len(rows),
        extend_num_tokens=total,
        rotation_bases=bases,
    )
    assert outcome.error == "AssertionError"
    assert outcome.resolved == tuple(-1 if base is None else base for base in bases)
    assert bench.state == before


def test_alloc_cyclic_is_a_new_row_from_a_class() -> None:
    bench = Bench(page_interleave())
    assert bench.call("alloc_cyclic", start_class=4, need=6).value == pages(4) + pages(5)[:2]
    assert bench.call("alloc_cyclic", start_class=0, need=0).error == "AssertionError"
    assert bench.call("alloc_cyclic", start_class=0, need=40).value is None


@pytest.mark.parametrize("method", ["alloc", "alloc_decode", "resize"])
def test_what_names_no_class_is_not_implemented(method: str) -> None:
    bench = Bench(page_interleave())
    assert bench.call(method, need=4, size=12).error == "NotImplementedError"


def test_freed_pages_go_in_front_of_their_class_each_once() -> None:
    bench = Bench(page_interleave())
    row = grow(bench, (0, 24), bases=(0,)).value
    bench.free((row[20], row[0], row[1], row[12]))
    assert bench.state.classes == [[3, 6, 9], [10], [8, 11]]
    bench.free(row[4:8], "free_segment", start_pos=5)
    assert bench.state.classes == [[3, 6, 9], [4, 10], [8, 11]]


def test_staged_pages_are_merged_in_every_class_when_one_list_is_short() -> None:
    bench = Bench(page_interleave(need_sort=True))
    row = grow(bench, (0, 36), bases=(0,)).value
    bench.free(row[16:24])
    bench.free(row[:8])
    state = bench.state
    assert state.classes == [[], [], []]
    assert state.class_staged == [[3], [4, 7], [8]], "newer ones in front"
    assert state.full.all_free == [3, 4, 7, 8]
    assert grow(bench, (0, 4), bases=(1,)).value == pages(4)
    assert (bench.state.classes, bench.state.class_staged) == ([[3], [7], [8]], [[], [], []])


def test_nothing_is_merged_while_each_list_is_long_enough() -> None:
    bench = Bench(page_interleave(need_sort=True))
    bench.free(grow(bench, (0, 12), bases=(0,)).value)
    grow(bench, (0, 12), bases=(0,))
    assert bench.state.class_staged == [[3], [4], [5]]
    bench.call("merge_and_sort_free")
    assert bench.state.classes == [[3, 9], [4, 10], [5, 11]]


def test_a_group_keeps_slots_and_releases_each_page_once() -> None:
    bench = Bench(page_interleave())
    row = grow(bench, (0, 12), bases=(0,)).value
    bench.call("free_group_begin")
    bench.free(row[8:], overwrite=True)
    bench.segments("free_segments", (row[:4], 0), (row[4:8], 4))
    bench.free(row[:1])
    assert bench.state.full.group == [list(pages(5)), list(pages(3)), list(pages(4)), [12]]
    bench.call("free_group_end")
    assert bench.state.classes == CLASSES


def test_segments_still_ascend() -> None:
    bench = Bench(page_interleave())
    row = grow(bench, (0, 12), bases=(0,)).value
    assert bench.segments("free_segments", (row[4:8], 4), (row[:4], 0)).error == "AssertionError"
    assert bench.state.classes == [[6, 9], [4, 7, 10], [8, 11]]


def test_pages_by_id_are_refused_in_a_group_only_at_its_end() -> None:
    bench = Bench(page_interleave())
    assert bench.free((3,), "free_page_ids").error == "NotImplementedError"
    bench.call("free_group_begin")
    assert not bench.free((3,), "free_page_ids").error
    assert bench.call("free_group_end").error == "NotImplementedError"
    assert (bench.state.full.group, bench.state.full.page_pile) == (None, [[3]])
    bench.call("clear")
    assert bench.state == Bench(page_interleave()).state


def test_debug_mode_knows_the_owner_of_the_last_page_and_pages_that_are_free_twice() -> None:
    bench = Bench(page_interleave(), Mode(debug=True))
    row = grow(bench, (0, 4), bases=(0,)).value

    def go_on(base: int) -> Outcome:
        return bench.extend((4, 8, row[-1]), rotation_bases=(base,))

    assert go_on(1).error == "AssertionError"
    assert go_on(0).value == pages(4)
    assert not bench.free(row).error
    assert bench.free(row).error == "AssertionError"
    assert bench.state.classes == [[3, 3, 6, 9], [7, 10], [5, 8, 11]]
