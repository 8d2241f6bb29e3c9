"""Calls and outcomes in the allocator's own terms."""

from __future__ import annotations

import pytest

from campaigns.wording import describe_call, describe_outcome, shorten
from oracle.call import Call, RowCursors, Segment
from oracle.observation import Hit, Outcome

SHORTENED = {
    (): "[]",
    (5,): "[5]",
    (4, 5, 6, 7): "[4..7]",
    (4, 5, 9, 8): "[4..5, 9, 8]",
    (7, 6, 5): "[7, 6, 5]",
    (-1, 0): "[-1..0]",
    tuple(range(0, 40, 2)): "[0, 2, 4, 6, 8, 10, … 20 in all]",
}


@pytest.mark.parametrize("slots", SHORTENED)
def test_slots_are_shortened_to_runs(slots: tuple[int, ...]) -> None:
    assert shorten(slots) == SHORTENED[slots]


CALLS = {
    "alloc(3)": Call(method="alloc", need=3),
    "free([1..2] int32)": Call(method="free", slots=(1, 2), wide=False),
    "swa pool: free([3]), then the caller overwrites what it passed": Call(
        method="free", pool="swa", slots=(3,), overwrite=True
    ),
    "free_page_ids(pages [2])": Call(method="free_page_ids", slots=(2,)),
    "free_swa_segment([4..7], start_pos=4)": Call(
        method="free_swa_segment", slots=(4, 5, 6, 7), start_pos=4
    ),
    "free_segments([4] at 0, [8] at 8)": Call(
        method="free_segments", segments=(Segment((4,), 0), Segment((8,), 8))
    ),
    "free_group_begin()": Call(method="free_group_begin"),
    "take_request_slots(2)": Call(method="take_request_slots", need=2),
    "alloc_group_begin(3)": Call(method="alloc_group_begin", need=3),
    "alloc_cyclic(start_class=1, 8)": Call(method="alloc_cyclic", start_class=1, need=8),
    "alloc_device_buffer([4..7], need=8)": Call(
        method="alloc_device_buffer", slots=(4, 5, 6, 7), need=8
    ),
    "free_hisparse([4])": Call(method="free_hisparse", slots=(4,)),
    "configure_spec_scratch(4, device_buffer_size=8)": Call(
        method="configure_spec_scratch", need=4, device_buffer=8
    ),
    "request_slot_reserve(has_req_pool_slot=True, prefill_tokens=3)": Call(
        method="request_slot_reserve", need=3, slot_held=True
    ),
    "alloc_extend(prefix_lens=[0], seq_lens=[4], last_loc=[-1], extend_num_tokens=4, rotation_bases=[None])": Call(
        method="alloc_extend",
        prefix_lens=(0,),
        seq_lens=(4,),
        last_loc=(-1,),
        extend_num_tokens=4,
        rotation_bases=(None,),
    ),
    "resize(size=8, size_swa=4)": Call(method="resize", size=8, size_swa=4),
    "set_full_to_swa_mapping([1], [2])": Call(
        method="set_full_to_swa_mapping", slots=(1,), peers=(2,)
    ),
    "alloc_decode(seq_lens=[5], last_loc=[7])": Call(
        method="alloc_decode", seq_lens=(5,), last_loc=(7,)
    ),
    "alloc_extend_swa_tail(prefix_lens=[0], seq_lens=[8], last_loc=[-1], extend_num_tokens=8, swa_tail_len=4)": Call(
        method="alloc_extend_swa_tail",
        prefix_lens=(0,),
        seq_lens=(8,),
        last_loc=(-1,),
        extend_num_tokens=8,
        swa_tail_len=4,
    ),
    "free_row_segments([4..7] at 0, [] at 4, evicted=4, dead_lo=0)": Call(
        method="free_row_segments",
        segments=(Segment((4, 5, 6, 7), 0), Segment((), 4)),
        evicted=4,
    ),
    "free_row([4..7] int32, protected=0, floor=1, evicted=2, [0, 2), [3, 4))": Call(
        method="free_row",
        slots=(4, 5, 6, 7),
        cursors=RowCursors(floor=1, evicted=2),
        ranges=((0, 2), (3, 4)),
        wide=False,
    ),
    "evict_out_of_window([4..7], protected=1, floor=0, evicted=2, pre_len=3, window=2, sharing=True, retain_floor=1, interval=1)": Call(
        method="evict_out_of_window",
        slots=(4, 5, 6, 7),
        cursors=RowCursors(protected=1, evicted=2),
        pre_len=3,
        window=2,
        retain_floor=1,
    ),
}


@pytest.mark.parametrize("text", CALLS)
def test_a_call_reads_like_a_call(text: str) -> None:
    assert describe_call(CALLS[text]) == text


def test_outcomes_say_what_came_back() -> None:
    alloc, free = CALLS["alloc(3)"], CALLS["free([1..2] int32)"]
    assert describe_outcome(alloc, Outcome(value=(4, 5))) == "[4..5]"
    assert describe_outcome(alloc, Outcome()) == "None (refused)"
    assert describe_outcome(free, Outcome()) == "done"
    assert describe_outcome(free, Outcome(hits=(Hit("x", 2),))) == "done; hit x x2"
    raised = Outcome(error="ValueError", message="too many\nmore")
    assert describe_outcome(alloc, raised) == "raised ValueError: too many"
    evict = Call(method="evict_out_of_window", slots=(4,))
    assert describe_outcome(evict, Outcome(resolved=(4,))) == "done, evicted=4"
