"""Our allocator of three pools: the golden trace of contract_unified §14, and the rules of the floating band."""

from __future__ import annotations

import pytest
from unified_bench import UnifiedBench, three_pools

from oracle.call import Tree


def _with_states() -> tuple[UnifiedBench, tuple[int, ...]]:
    bench = UnifiedBench(three_pools())
    row = bench.row(16)
    assert bench.call("alloc", pool="state", need=3).value == (1, 2, 3)
    return bench, row


def test_a_row_floats_in_the_middle_and_states_grow_from_below() -> None:
    bench, _ = _with_states()
    assert bench.bound("full") == {2: 28, 3: 29, 4: 30, 5: 31}
    assert (bench.band("swa").start, bench.band("swa").stop) == (27, 31)
    assert bench.band("state").watermark == 4


def test_an_empty_floating_band_is_parked_and_leaves_all_bytes_to_both_sides() -> None:
    bench = UnifiedBench(three_pools())
    assert (bench.band("swa").start, bench.band("swa").stop) == (64, 64)
    assert bench.sizes()[0] == 80
    bench.row(16)
    assert bench.sizes()[0] == 48


def test_the_floating_band_leaps_aside_for_states_and_keeps_its_kv() -> None:
    bench, row = _with_states()
    bench.segment(row, 4, 8, "free_swa_segment")
    bench.segment(row, 0, 4, "free_swa_segment")
    assert (bench.band("swa").holes, bench.band("swa").start) == ([28, 27], 27)
    assert bench.flush("swa") == 2
    assert (bench.band("swa").start, bench.band("swa").stop) == (29, 31)
    before = bench.kv("swa", row[8:])
    states = bench.call("alloc", pool="state", need=6).value
    assert len(states or ()) == 6
    assert bench.copies("swa") == {(29, 54), (30, 55)}
    assert (bench.band("swa").start, bench.band("swa").stop) == (54, 56)
    assert bench.sizes()[0] == 0
    assert bench.kv("swa", row[8:]) == before


def test_a_closed_gate_keeps_the_floating_band_in_its_place() -> None:
    bench, row = _with_states()
    bench.segment(row, 0, 8, "free_swa_segment")
    bench.call("set_move_gate", pool="swa", gate=0, gate_state="closed")
    bench.call("make_room", pool="swa", side="high", need=800)
    bench.call("compact_holes", pool="swa", side="high")
    assert bench.seen.copies == []
    assert bench.band("swa").holes == [27, 28]


def test_holes_are_drawn_from_either_end_in_turn() -> None:
    bench = UnifiedBench(three_pools())
    row = bench.row(24)
    first = bench.band("swa").start
    assert first is not None
    bench.segment(row, 4, 20, "free_swa_segment")
    fresh = bench.row(4) + bench.row(4)
    places = [bench.bound("swa")[slot // 4] for slot in fresh[::4]]
    assert places == [first + 1, first + 4]


@pytest.mark.parametrize("side", ["low", "high"])
def test_closing_the_holes_keeps_the_order_and_the_kv(side: str) -> None:
    bench = UnifiedBench(three_pools())
    row = bench.row(24)
    bench.segment(row, 4, 8, "free_swa_segment")
    bench.segment(row, 12, 16, "free_swa_segment")
    kept = row[:4] + row[8:12] + row[16:]
    before = bench.kv("swa", kept)
    bench.call("compact_holes", pool="swa", side=side)
    band = bench.band("swa")
    assert band.holes == []
    assert [bench.bound("swa")[slot // 4] for slot in kept[::4]] == list(
        range(band.start or 0, band.stop or 0)
    )
    assert bench.kv("swa", kept) == before


def test_an_eviction_gives_up_states_when_tokens_are_not_enough() -> None:
    bench = UnifiedBench(three_pools())
    held = bench.call("alloc", pool="state", need=18).value
    assert held is not None
    need = bench.sizes()[0] + 16
    outcome = bench.call("evict_to_free_tokens", need=need, tree=Tree(states=held))
    assert outcome.value == (1,)
    assert {eviction.part for eviction in outcome.evicted} == {"state"}
    assert bench.call("alloc", need=need).value is not None
