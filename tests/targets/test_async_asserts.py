"""Asynchronous asserts of an allocator: a failed one is an outcome of its call, and never reaches the device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from eager_calls import Bench, hybrid

from oracle.call import Call
from oracle.geometry import Mode
from oracle.lockstep import Judging, run_trace
from oracle.operations import Alloc, FreeSegment, Release
from oracle.trace import Trace
from targets.async_asserts import UNNAMED, asserts_on_host
from targets.driver import perform
from targets.eager.hybrid_swa import HybridSWAAllocator
from targets.eager.signals import Signals
from targets.eager.target import AllocatorClasses, EagerTarget
from targets.hits import HitRecorder
from targets.probes.host_reads import HostReads


@pytest.fixture(autouse=True)
def deadly(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Every assert that reaches the device, where a failed one would end the context: there must be none."""
    reached: list[str] = []
    monkeypatch.setattr(torch, "_assert_async", lambda _, message="": reached.append(message))
    yield reached
    assert reached == [], "an assert reached the device"


class Asserting:
    """Asserts on its device that each slot given back is below 8."""

    def __init__(self) -> None:
        self.freed: list[int] = []

    def free(self, slots: torch.Tensor) -> None:
        torch._assert_async((slots < 8).all(), "invariant-check FAILED [slot.known]: below 8")
        self.freed += slots.tolist()

    def free_full(self, slots: torch.Tensor) -> None:
        torch._assert_async(slots[0] > 0)


def outcome_of(allocator: object, method: Any, *slots: int) -> tuple[str, str]:
    recorder = HitRecorder(has_counter=False)
    outcome = perform(allocator, Call(method=method, slots=slots), "cpu", observe=recorder)
    return outcome.error, outcome.message


def test_a_failed_assert_is_raised_where_it_stands() -> None:
    allocator = Asserting()
    error, message = outcome_of(allocator, "free", 3, 9)
    assert error == "invariant:slot.known"
    assert message == "invariant-check FAILED [slot.known]: below 8"
    assert allocator.freed == [], "the call went on behind its assert"
    assert outcome_of(allocator, "free_full", 0) == ("AssertionError", UNNAMED)


def test_an_assert_that_holds_says_nothing() -> None:
    allocator = Asserting()
    assert outcome_of(allocator, "free", 3, 7) == ("", "")
    assert allocator.freed == [3, 7]
    assert outcome_of(allocator, "free_full", 2) == ("", "")


def test_it_is_put_back_however_the_block_ends() -> None:
    asynchronous = torch._assert_async
    with pytest.raises(KeyError), asserts_on_host():
        raise KeyError
    assert torch._assert_async is asynchronous


def test_reading_the_predicate_is_no_cost_of_the_allocator() -> None:
    probe = HostReads()
    holds = torch.tensor(True)
    with asserts_on_host(), probe.watch():
        torch._assert_async(holds)
    assert probe.syncs == []


class Serving(HybridSWAAllocator):
    """``eager`` as on a GPU: its invariants assert on the device, at every level, and speak of the peers of segments."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **{**named, "signals": Speechless()})

    def free_swa_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:
        peers = self.full_to_swa_index_mapping[free_index[:: self.page_size].long()]
        torch._assert_async((peers > 0).all(), "invariant-check FAILED [swa.peer_mapped]: mapped")
        super().free_swa_segment(free_index, start_pos=start_pos)


class Speechless(Signals):
    """Says nothing."""

    def expect(self, *_: Any) -> None:
        pass


def test_the_judge_sees_the_signal_and_the_run_goes_on() -> None:
    target = EagerTarget(name="serving", classes=AllocatorClasses(hybrid=Serving))
    subject = Bench(hybrid(), Mode(level="strict"), target)
    row = subject.fresh(4)
    assert subject.free(row, "free_swa_segment").error == ""
    again = subject.free(row, "free_swa_segment")
    assert again.error == "invariant:swa.peer_mapped"
    assert subject.fresh(4), "the next call works"
    off = Trace(
        geometry=hybrid(),
        operations=(
            Alloc(amount=1, unit="pages"),
            FreeSegment(method="free_swa_segment"),
            FreeSegment(method="free_swa_segment"),
            Release(),
        ),
    )
    findings = run_trace(off, [target], Judging(laws=False)).findings
    assert [finding.kind for finding in findings] == ["signal"], "it must not be raised at off"
