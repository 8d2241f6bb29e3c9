"""The fused unified allocators, rule by rule, through Triton's interpreter (contract_unified §5, §9, §16)."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from double_ratchet import main as double_ratchet
from fused_bench import counted_launches, interpreted
from unified_bench import SEGMENT_CALLS, UnifiedBench, three_pools, two_pools

from oracle.geometry import Geometry, Mode
from oracle.target import Target
from targets.eager.target import EagerTarget

PAGE_SIZES = [1, 3, 4, 16]


def bench(geometry: Geometry | None = None, mode: Mode | None = None) -> UnifiedBench:
    return UnifiedBench(geometry, mode, interpreted())


def roomy(page_size: int, pages: int) -> Geometry:
    """Two pools with room for so many pages on both sides at once."""
    return two_pools(page_size=page_size, total_bytes=2 * 24 * page_size * (pages + 2))


def both(geometry: Geometry) -> list[UnifiedBench]:
    targets: list[Target] = [interpreted(), EagerTarget()]
    return [UnifiedBench(geometry, None, target) for target in targets]


def test_pages_keep_their_kv_when_they_move() -> None:
    subject = bench()
    first, second = subject.row(16), subject.row(12)
    numbers = subject.kv("full", second), subject.kv("swa", second)
    subject.segment(first, 0, 16)
    assert subject.flush("full") == 3
    assert subject.copies("full") == {(9, 15), (10, 14), (11, 13)}
    assert subject.flush("swa") == 3
    assert (subject.kv("full", second), subject.kv("swa", second)) == numbers
    assert len(set(numbers[0])) == 12


def test_pages_that_are_source_and_destination_are_lifted_before_any_is_laid_down() -> None:
    subject = bench(three_pools())
    rows = [subject.row(4) for _ in range(5)]
    kept = [slot for row in rows[1:] for slot in row]
    numbers = subject.kv("swa", tuple(kept))
    subject.segment(rows[0], 0, 4)
    subject.call("compact_holes", pool="swa", side="low")
    moved = subject.copies("swa")
    subject.segment(rows[4], 0, 4)
    subject.call("compact_holes", pool="swa", side="high")
    moved |= subject.copies("swa")
    assert moved, "no page moved"
    assert subject.kv("swa", tuple(kept[:12])) == numbers[:12]


@pytest.mark.parametrize("page_size", PAGE_SIZES)
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_rows_may_be_strided_and_end_inside_a_page(page_size: int, dtype: torch.dtype) -> None:
    length = 4 * page_size - (page_size > 1)
    states = []
    for subject in both(roomy(page_size, 8)):
        row = subject.row(4 * page_size)[:length]
        table = torch.zeros((length, 3), dtype=dtype)
        table[:, 1] = torch.tensor(row, dtype=dtype)
        allocator = subject.target.allocator  # type: ignore[attr-defined]
        half = 2 * page_size
        allocator.free_swa_segment(table[:half, 1], start_pos=0)
        allocator.free_full_segment(table[:half, 1], start_pos=0)
        allocator.free_segment(table[half:, 1], start_pos=half)
        states.append(subject.seen)
    assert states[0] == states[1]
    assert states[0].bands["full"].live == states[0].bands["swa"].live == 0


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_translation_takes_any_slots_of_any_stride(dtype: torch.dtype) -> None:
    answers = []
    for subject in both(two_pools()):
        row = subject.row(16)
        subject.segment(row, 0, 8, "free_swa_segment")
        slots = torch.tensor([-3, 0, 3, *row, 61, 64, 67, 68, 1 << 20], dtype=dtype)
        table = subject.target.allocator.bands["swa"].table  # type: ignore[attr-defined]
        wide = slots.repeat(4, 1).T
        answers.append(
            [
                table.translate(slots).tolist(),
                table.translate(slots[::3]).tolist(),
                table.translate(wide[::2, ::3]).tolist(),
                table.translate(wide.reshape(2, -1, 4)).tolist(),
            ]
        )
    assert answers[0] == answers[1]
    assert answers[0][0][:11] == [0, 0, 3] + [0] * 8
    assert all(answers[0][0][11:19])


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("page_size", PAGE_SIZES)
@pytest.mark.parametrize("method", SEGMENT_CALLS)
def test_each_segment_free_is_one_launch(method: str, page_size: int, grouped: bool) -> None:
    subject = bench(roomy(page_size, 8))
    row = subject.row(4 * page_size)
    allocator = subject.target.allocator  # type: ignore[attr-defined]
    allocator.signals.observer = None
    if method == "free_full_segment":
        subject.segment(row, 0, 4 * page_size, "free_swa_segment")
    if grouped:
        subject.call("free_group_begin")
    with counted_launches() as names:
        subject.segment(row, 0, 4 * page_size, method)
    assert len(names) == 1, names


def test_all_segments_of_a_group_are_one_launch() -> None:
    subject = bench()
    row = subject.row(24)
    subject.segment(row, 0, 8, "free_swa_segment")
    subject.call("free_group_begin")
    subject.segment(row, 0, 8, "free_full_segment")
    subject.segment(row, 8, 16)
    subject.segment(row, 16, 24)
    with counted_launches() as names:
        assert subject.call("free_group_end").error == ""
    assert names == ["give_back"]


def test_each_allocation_of_pages_is_one_launch_and_of_rows_two() -> None:
    subject = bench(roomy(4, 40))
    with counted_launches() as names:
        row = subject.row(16)
        subject.extend((16, 22, row[-1]), (0, 5, -1))
        subject.decode((17, row[-1]))
        subject.tail(12, 4)
    assert names == [
        *("hand_out", "extend", "hand_out", "decode", "hand_out", "extend", "hand_out"),
    ]


def test_a_refusal_launches_nothing() -> None:
    subject = bench()
    row = subject.row(subject.sizes()[0])
    with counted_launches() as names:
        outcomes = [
            subject.call("alloc", need=4),
            subject.extend((0, 4, -1)),
            subject.decode((5, row[3])),
            subject.tail(8, 4),
        ]
    assert [(outcome.value, outcome.error) for outcome in outcomes] == [(None, "")] * 4
    assert names == []


def test_what_waits_in_a_group_is_the_allocators_own() -> None:
    subject = bench()
    row = subject.row(24)
    subject.segment(row, 0, 8, "free_swa_segment")
    subject.call("free_group_begin")
    for first, method in ((0, "free_full_segment"), (8, "free_segment")):
        part = row[first : first + 8]
        assert subject.free(part, method, start_pos=first, overwrite=True).error == ""
    assert subject.free(row[16:20], overwrite=True).error == ""
    before = subject.sizes()
    assert subject.seen.representative_pile == [[row[8], row[12]]]
    assert subject.seen.full_representative_pile == [[row[0], row[4]]]
    subject.call("free_group_end")
    assert subject.sizes() != before
    assert set(subject.bound("full")) == {row[20] // 4}


def test_a_peer_that_is_given_back_twice_leads_to_the_sentinel_and_not_in_front_of_the_table() -> (
    None
):
    subject = bench()
    row = subject.row(8)
    for _ in range(2):
        subject.segment(row, 0, 4, "free_swa_segment")
    assert subject.band("swa").holes == [2, -1]
    subject.row(8)
    state = subject.band("swa")
    assert (state.p2v[0], state.p2v[-1]) == (0, 4)
    assert state.v2p[4] == -1


def test_pages_that_cannot_be_paired_are_refused_before_a_launch() -> None:
    table = bench().target.allocator.bands["full"].table  # type: ignore[attr-defined]
    pages = torch.tensor([2, 3])
    with counted_launches() as names:
        for pair in (table.move, table.bind):
            with pytest.raises(IndexError, match="cannot be paired"):
                pair(pages, pages[:1])
    assert names == []


@pytest.mark.parametrize("times", [1, 2])
def test_the_script_for_the_memory_checker_runs_to_its_end(
    times: int, capsys: pytest.CaptureFixture[str]
) -> None:
    double_ratchet("fused", "cpu", times)
    said = capsys.readouterr().out
    assert said.count("call free_swa_segment") == times
    assert ("0, 0, 0, 0)" in said) == (times == 2), "two pages share no place"
    assert said.endswith("done\n")


def test_large_pools_fill_several_tiles() -> None:
    states: list[Any] = []
    for subject in both(roomy(2, 3000)):
        row = subject.row(2 * 1500)
        other = subject.row(2 * 600)
        subject.segment(row, 2 * 100, len(row), "free_swa_segment")
        subject.call("free_group_begin")
        subject.segment(row, 2 * 100, len(row), "free_full_segment")
        subject.segment(row, 0, 2 * 100)
        subject.call("free_group_end")
        moved = subject.flush("full") + subject.flush("swa")
        assert moved == 1200, moved
        subject.row(2 * 1000)
        translated = subject.call("translate", pool="full", slots=other).value
        states.append((subject.seen, translated))
    assert states[0] == states[1]
