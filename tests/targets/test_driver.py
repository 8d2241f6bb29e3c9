"""The driver: any object with the method names, every exception an observation."""

from __future__ import annotations

import os
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from oracle.call import Call, Segment
from oracle.geometry import Mode
from oracle.observation import Hit, Outcome
from targets.driver import Reach, classify, perform
from targets.hits import HitRecorder
from targets.mode import switched


class Recording:
    """An allocator that writes down how it was called and answers what it was told to."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def __getattr__(self, method: str) -> Any:
        if method.startswith("_") or method in ("left", "right"):
            raise AttributeError(method)

        def called(*arguments: Any, **named: Any) -> Any:
            self.calls.append((method, arguments, named))
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer

        return called


def made(allocator: object, call: Call, **options: Any) -> Outcome:
    observe = options.pop("observe", HitRecorder(has_counter=False))
    return perform(allocator, call, "cpu", observe=observe, **options)


def tensors_of(arguments: tuple[Any, ...]) -> list[tuple[list[int], torch.dtype]]:
    return [(item.tolist(), item.dtype) for item in arguments if isinstance(item, torch.Tensor)]


def test_an_extend_gets_lengths_with_their_twins_and_narrow_last_slots() -> None:
    allocator = Recording()
    call = Call(
        method="alloc_extend",
        prefix_lens=(0, 4),
        seq_lens=(3, 9),
        last_loc=(-1, 7),
        extend_num_tokens=8,
        num_new_pages=3,
        wide=False,
    )
    made(allocator, call)
    ((method, arguments, named),) = allocator.calls
    assert method == "alloc_extend"
    assert tensors_of(arguments) == [
        ([0, 4], torch.int64),
        ([0, 4], torch.int64),
        ([3, 9], torch.int64),
        ([3, 9], torch.int64),
        ([-1, 7], torch.int32),
    ]
    assert arguments[5:] == (8,)
    assert named == {"num_new_pages": 3}


def test_each_method_gets_its_own_arguments() -> None:
    allocator = Recording()
    segments = (Segment((4, 5), 0), Segment((), 4))
    for call in (
        Call(method="alloc", need=5),
        Call(
            method="alloc_extend_swa_tail",
            prefix_lens=(0,),
            seq_lens=(8,),
            last_loc=(-1,),
            extend_num_tokens=8,
            swa_tail_len=4,
        ),
        Call(method="alloc_decode", seq_lens=(5,), last_loc=(7,)),
        Call(method="free_segment", slots=(4, 5), start_pos=4),
        Call(method="free_segments", segments=segments),
        Call(method="set_full_to_swa_mapping", slots=(4,), peers=(8,), wide=False),
        Call(method="free_group_begin"),
        Call(method="resize", size=16, size_swa=8),
    ):
        made(allocator, call)
    alloc, tail, decode, segment, plural, mapping, begin, resize = allocator.calls
    assert alloc[1:] == ((5,), {})
    assert tail[1][5:] == (8, 4)
    assert [values for values, _ in tensors_of(decode[1])] == [[5], [5], [7]]
    assert segment[2] == {"start_pos": 4}
    assert [(slots.tolist(), start) for slots, start in plural[1][0]] == [([4, 5], 0), ([], 4)]
    assert tensors_of(mapping[1]) == [([4], torch.int32), ([8], torch.int32)]
    assert begin[1:] == ((), {})
    assert resize[1][0] == SimpleNamespace(
        max_total_num_tokens=16, full_max_total_num_tokens=16, swa_max_total_num_tokens=8
    )


def test_the_answer_is_read_before_the_caller_overwrites_what_it_passed() -> None:
    class Echo:
        def translate_loc_from_full_to_swa(self, slots: torch.Tensor) -> torch.Tensor:
            self.seen = slots
            return slots

    echo = Echo()
    call = Call(method="translate_loc_from_full_to_swa", slots=(4, 5), overwrite=True, wide=False)
    outcome = made(echo, call)
    assert outcome.value == (4, 5)
    assert outcome.dtype == "int32"
    assert echo.seen.tolist() == [0, 0]


def test_tensors_are_overwritten_after_an_error_too_and_only_when_asked() -> None:
    for overwrite in (True, False):
        allocator = Recording(AssertionError("no"))
        call = Call(method="free_segments", segments=(Segment((4,), 0),), overwrite=overwrite)
        assert made(allocator, call).error == "AssertionError"
        slots = allocator.calls[0][1][0][0][0]
        assert slots.tolist() == [0 if overwrite else 4]


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (AssertionError("x"), "AssertionError"),
        (NotImplementedError("x"), "NotImplementedError"),
        (ValueError("x"), "ValueError"),
        (RuntimeError("invariant-check FAILED [swa.peer_mapped]: x"), "invariant:swa.peer_mapped"),
        (RuntimeError("x"), "crash:RuntimeError"),
        (IndexError("x"), "crash:IndexError"),
        (AttributeError("x"), "crash:AttributeError"),
    ],
)
def test_an_exception_becomes_an_error_of_the_outcome(raised: Exception, error: str) -> None:
    assert classify(raised) == error
    outcome = made(Recording(raised), Call(method="clear"))
    assert outcome.error == error
    assert outcome.message == str(raised)
    assert outcome.value is None


def test_an_interrupt_is_not_an_observation() -> None:
    class Interrupted:
        def clear(self) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made(Interrupted(), Call(method="clear"))


def test_sub_allocators_are_reached_by_the_names_given() -> None:
    allocator = SimpleNamespace(left=Recording(torch.tensor([1])), right=Recording())
    reach = Reach(full="left", swa="right")
    assert made(allocator, Call(method="alloc", need=1, pool="full"), reach=reach).value == (1,)
    assert made(allocator, Call(method="alloc", need=1, pool="swa"), reach=reach).value is None
    outcome = made(Recording(), Call(method="clear", pool="swa"), reach=reach)
    assert outcome.error == "crash:AttributeError"


def test_a_backed_up_state_is_what_is_restored() -> None:
    allocator = Recording("the state")
    reach = Reach()
    assert made(allocator, Call(method="backup_state"), reach=reach).value is None
    made(allocator, Call(method="restore_state"), reach=reach)
    assert allocator.calls[1] == ("restore_state", ("the state",), {})


def test_hits_are_those_of_this_call_only() -> None:
    recorder = HitRecorder(has_counter=True)

    class Signalling:
        def clear(self) -> None:
            recorder.evaluated("a", 0)
            recorder.evaluated("b", 2)
            recorder.counted("b", 2)

        def merge_and_sort_free(self) -> None:
            pass

    outcome = made(Signalling(), Call(method="clear"), observe=recorder)
    assert outcome.hits == outcome.counted == (Hit("b", 2),)
    quiet = made(Signalling(), Call(method="merge_and_sort_free"), observe=recorder)
    assert quiet.hits == quiet.counted == ()
    assert made(Signalling(), Call(method="merge_and_sort_free")).counted is None


@pytest.mark.parametrize("former", [None, "2"])
def test_the_mode_is_switched_for_a_block_and_put_back(
    monkeypatch: pytest.MonkeyPatch, former: str | None
) -> None:
    monkeypatch.delenv("SGLANG_DEBUG_MEMORY_POOL", raising=False)
    monkeypatch.delenv("SGLANG_INVARIANT_CHECK", raising=False)
    if former is not None:
        monkeypatch.setenv("SGLANG_INVARIANT_CHECK", former)
    seen: dict[str, str] = {}
    with suppress(KeyError), switched(Mode(level="warn", debug=True)):
        seen.update(os.environ)
        raise KeyError("the block fails")
    assert seen["SGLANG_INVARIANT_CHECK"] == "1"
    assert seen["SGLANG_DEBUG_MEMORY_POOL"] == "1"
    assert os.environ.get("SGLANG_INVARIANT_CHECK") == former
    assert "SGLANG_DEBUG_MEMORY_POOL" not in os.environ
