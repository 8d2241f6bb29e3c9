"""The fused allocators, rule by rule, through Triton's interpreter on small pools (contract_paged_swa §4 to §6)."""

from __future__ import annotations

import pytest
import torch
from eager_calls import Bench, hybrid, paged, pages, token
from fused_bench import counted_launches, interpreted

from oracle.geometry import Geometry, Mode
from oracle.observation import Outcome


def bench(geometry: Geometry, mode: Mode | None = None) -> Bench:
    return Bench(geometry, mode, interpreted())


def swa_free(subject: Bench) -> list[int]:
    assert subject.state.swa is not None
    return subject.state.swa.free


def test_single_slots_come_first_in_first_out_however_often_the_ring_turns() -> None:
    subject = bench(token(5))
    expected = [1, 2, 3, 4, 5]
    for _ in range(7):
        taken = subject.call("alloc", need=3).value
        assert taken == tuple(expected[:3])
        subject.free(taken)
        expected = expected[3:] + expected[:3]
        assert subject.state.full.free == expected


def test_pages_come_last_in_first_out_and_sorted_pools_stage_them() -> None:
    for need_sort, free, staged in ((False, [1, 2, 3], []), (True, [3], [[1, 2]])):
        subject = bench(paged(9, 3, need_sort=need_sort))
        subject.free(subject.fresh(5))
        assert subject.state.full.free == free
        assert subject.state.full.staged == staged


@pytest.mark.parametrize("page_size", [1, 3, 4])
def test_a_set_is_released_ascending_and_each_page_once(page_size: int) -> None:
    subject = bench(paged(8 * page_size, page_size))
    subject.fresh(8 * page_size)
    subject.free(pages(7, 2, 5, 2, page_size=page_size), wide=False)
    assert subject.state.full.free == [2, 5, 7]
    subject.free(pages(8, 1, page_size=page_size))
    assert subject.state.full.free == [1, 8, 2, 5, 7]


def test_page_ids_that_no_mark_stands_for_are_released_all_the_same() -> None:
    subject = bench(paged(8, 4))
    subject.fresh(8)
    subject.free((40, 41, 4))
    assert subject.state.full.free == [1, 10]
    subject.free((8,))
    assert subject.state.full.free == [2, 1, 10]


def test_a_list_that_pages_freed_twice_make_too_long_gets_a_longer_buffer() -> None:
    subject = bench(paged(8, 4))
    row = subject.fresh(8)
    for _ in range(6):
        subject.free(row, "free_segment")
    assert subject.state.full.free == [1, 2] * 6


def test_a_partial_last_page_is_released_and_unmapped_whole() -> None:
    subject = bench(hybrid(12, 12, 3))
    row = subject.fresh(5)
    subject.free(row, "free_segment")
    assert subject.state.full.free == [1, 2, 3, 4]
    assert swa_free(subject) == [1, 2, 3, 4]
    assert subject.state.mapping == [0] * 15 + [-1]


def test_a_repeated_representative_gives_its_page_twice() -> None:
    subject = bench(hybrid())
    subject.fresh(8)
    subject.free(pages(1, 1), "free_segment")
    assert subject.state.full.free[:2] == [1, 1]
    assert swa_free(subject)[:2] == [1, 1]


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_rows_may_be_strided(dtype: torch.dtype) -> None:
    subject = bench(hybrid(24, 24, 3))
    allocator = subject.target.allocator  # type: ignore[attr-defined]
    table = torch.zeros((9, 4), dtype=dtype)
    table[:, 1] = torch.tensor(subject.fresh(9))
    allocator.free_swa_segment(table[:6, 1], start_pos=0)
    assert swa_free(subject)[:2] == [1, 2]
    allocator.free(table[6:, 1])
    assert swa_free(subject)[:3] == [3, 1, 2]
    allocator.free_full(table[:6, 1])
    assert subject.state.full.free == [1, 2, 3, 4, 5, 6, 7, 8]


def test_the_two_sides_flush_their_piles_in_opposite_order() -> None:
    for need_sort in (False, True):
        subject = bench(hybrid(need_sort=need_sort))
        subject.fresh(8, 8, 8, 8)
        subject.call("free_group_begin")
        subject.free(pages(3, 4), overwrite=True)
        subject.free(pages(1, 2), "free_segment", overwrite=True)
        subject.free(pages(5, 6), "free_swa", overwrite=True, wide=False)
        subject.free(pages(7, 8))
        assert subject.state.swa_page_pile == [[1, 2]]
        assert [len(entry) for entry in subject.state.swa_set_pile] == [32, 32, 32]
        assert subject.call("free_group_end").error == ""
        full, swa = subject.state.full, subject.state.swa
        assert swa is not None
        if need_sort:
            assert full.staged == [[3, 4, 7, 8], [1, 2]]
            assert swa.staged == [[1, 2], [3, 4, 5, 6, 7, 8]]
        else:
            assert full.free == [1, 2, 3, 4, 7, 8]
            assert swa.free == [3, 4, 5, 6, 7, 8, 1, 2]


def test_a_row_that_goes_on_after_a_peer_that_is_gone_changes_nothing() -> None:
    subject = bench(hybrid())
    row = subject.fresh(6)
    subject.free(row[4:], "free_swa")
    before = subject.state
    for refused in (subject.extend((6, 9, row[-1])), subject.decode((7, row[-1]))):
        assert refused.error == "AssertionError"
        assert subject.state == before


def test_where_checks_are_not_exact_such_a_row_gets_no_peer_in_that_page() -> None:
    subject = bench(hybrid())
    row = subject.fresh(6)
    subject.free(row[4:], "free_swa")
    subject.target.allocator.exact = False  # type: ignore[attr-defined]
    assert subject.extend((6, 10, row[-1])).value == (10, 11, 12, 13)
    assert subject.decode((7, row[-1])).value == (10,)
    mapping = subject.state.mapping
    assert mapping is not None
    assert mapping[8:14] == [0, 0, 0, 0, 8, 9]


ONE_LAUNCH: list[tuple[str, dict[str, object]]] = [
    ("free_swa_segment", {"slots": pages(1, 2)}),
    ("free_segment", {"slots": pages(1, 2)}),
    ("free_full_segment", {"slots": pages(1, 2)}),
    ("free", {"slots": pages(1, 2)}),
    ("free_swa", {"slots": pages(1, 2)}),
    ("free_full", {"slots": pages(1, 2)}),
]


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize(("method", "fields"), ONE_LAUNCH)
def test_each_free_is_one_launch(method: str, fields: dict[str, object], grouped: bool) -> None:
    subject = bench(hybrid())
    subject.fresh(8)
    if grouped:
        subject.call("free_group_begin")
    with counted_launches() as names:
        assert subject.call(method, **fields).error == ""
    assert len(names) == 1, names


def test_each_allocation_is_one_launch() -> None:
    subject = bench(hybrid(64, 64))
    with counted_launches() as names:
        row = subject.fresh(6)
        subject.tail(8, 4)
        subject.extend((6, 9, row[-1]), (0, 5, -1))
        subject.decode((7, row[-1]))
    assert names == ["extend", "extend", "extend", "decode"]
    single = bench(hybrid(8, 8, 1))
    with counted_launches() as names:
        single.call("alloc", need=3)
    assert names == ["take"]


@pytest.mark.parametrize("methods", [("free_segment", "free_swa_segment"), ("free", "free_swa")])
def test_the_flush_of_a_group_is_one_launch(methods: tuple[str, str]) -> None:
    subject = bench(hybrid())
    subject.fresh(16)
    subject.call("free_group_begin")
    subject.free(pages(1, 2), methods[0])
    subject.free(pages(3), methods[1])
    with counted_launches() as names:
        assert subject.call("free_group_end").error == ""
    assert len(names) == 1, names


def refusals(subject: Bench) -> list[Outcome]:
    return [subject.extend((0, 100, -1)), subject.decode((5, 7)), subject.tail(100, 4)]


def test_a_refusal_launches_nothing() -> None:
    subject = bench(hybrid(8, 8))
    subject.fresh(8)
    single = bench(token(4))
    with counted_launches() as names:
        outcomes = [*refusals(subject), single.call("alloc", need=5)]
    assert [(outcome.value, outcome.error) for outcome in outcomes] == [(None, "")] * 4
    assert names == []


def test_a_reset_target_is_in_the_state_of_a_fresh_one() -> None:
    geometry = hybrid(need_sort=True)
    target = interpreted()
    used = Bench(geometry, target=target)
    row = used.fresh(9)
    used.call("free_group_begin")
    used.free(row[:4])
    used.free(row[4:8], "free_swa_segment")
    target.reset(geometry, Mode())
    assert target.snapshot() == bench(geometry).state


def test_slots_of_a_page_below_the_padding_page_stay_inside_the_mapping() -> None:
    subject = bench(hybrid(8, 8))
    subject.fresh(8)
    subject.free((-1,), "free_full")
    subject.call("alloc", need=4, pool="full")
    assert subject.state.mapping == [0] * 4 + [*range(4, 12)] + [-1]
    subject.free((-1,), "free_full")
    subject.free(pages(1), "free_swa")
    assert subject.extend((0, 4, -1)).value == (-4, -3, -2, -1)
    mapping = subject.state.mapping
    assert mapping is not None
    assert mapping[-4:] == [4, 5, 6, 7]


@pytest.mark.parametrize("debug", [False, True])
def test_a_page_beyond_the_mapping_does_no_harm(debug: bool) -> None:
    subject = bench(hybrid(8, 8), Mode(debug=debug))
    subject.fresh(8)
    far = tuple(range(4000, 4004))
    assert subject.call("translate_loc_from_full_to_swa", slots=(-1, 4, 4000)).value == (-1, 4, 0)
    subject.call("set_full_to_swa_mapping", slots=far, peers=far)
    subject.call("clear_full_to_swa_mapping", slots=far)
    subject.free(far, "free_swa")
    subject.free(far, "free_swa_segment")
    assert subject.state.mapping == [0] * 4 + [*range(4, 12)] + [-1]
