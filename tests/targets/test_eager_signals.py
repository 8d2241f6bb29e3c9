"""The invariants by bucket and level (contract_paged_swa §2)."""

from __future__ import annotations

import pytest
import torch
from eager_calls import Bench, hybrid, pages

from oracle.geometry import Level, Mode
from oracle.observation import Hit
from targets.eager.signals import (
    PEER_MAPPED_INVARIANT,
    PEER_RELEASED_INVARIANT,
    Signals,
    current_level,
)
from targets.eager.signals import Level as SignalLevel

MAPPED = Hit("swa.peer_mapped", 1)
RELEASED = Hit("swa.peer_released", 4)


@pytest.mark.parametrize(
    ("level", "error"),
    [("off", ""), ("warn", "invariant:swa.peer_mapped"), ("strict", "invariant:swa.peer_mapped")],
)
def test_an_unmapped_representative_asserts_from_warn_up(level: Level, error: str) -> None:
    bench = Bench(hybrid(), Mode(level=level))
    bench.fresh(8)
    bench.free(pages(1), "free_swa")
    before = bench.state
    outcome = bench.free(pages(1), "free_segment")
    assert outcome.error == error
    assert outcome.hits == (MAPPED,)
    assert outcome.counted == ()
    assert (bench.state == before) == (level != "off")


@pytest.mark.parametrize(
    ("level", "error", "counted"),
    [
        ("off", "", ()),
        ("warn", "", (RELEASED,)),
        ("strict", "invariant:swa.peer_released", ()),
    ],
)
def test_a_live_peer_at_a_full_free_is_counted_at_warn_and_asserts_at_strict(
    level: Level, error: str, counted: tuple[Hit, ...]
) -> None:
    for method in ("free_full", "free_full_segment"):
        bench = Bench(hybrid(), Mode(level=level))
        bench.fresh(8)
        before = bench.state
        outcome = bench.free(pages(1), method)
        assert outcome.error == error
        assert outcome.hits == (RELEASED,)
        assert outcome.counted == counted
        assert (bench.state == before) == (level == "strict")


def test_the_invariant_speaks_before_the_debug_comparison() -> None:
    for level, error in (("off", "AssertionError"), ("warn", "invariant:swa.peer_mapped")):
        bench = Bench(hybrid(), Mode(level=level, debug=True))
        bench.fresh(4)
        bench.free(pages(1), "free_swa")
        assert bench.free(pages(1), "free_swa_segment").error == error


def test_the_alignment_speaks_before_peer_mapped_and_after_peer_released() -> None:
    bench = Bench(hybrid(), Mode(level="strict"))
    bench.fresh(4)
    outcome = bench.free(pages(1), "free_full_segment", start_pos=1)
    assert outcome.error == "invariant:swa.peer_released"
    bench.free(pages(1), "free_swa")
    assert bench.free(pages(1), "free_segment", start_pos=1).error == "AssertionError"


@pytest.mark.parametrize(
    ("check", "async_assert", "level"),
    [
        (None, None, SignalLevel.OFF),
        (None, "true", SignalLevel.STRICT),
        ("0", "true", SignalLevel.OFF),
        ("1", None, SignalLevel.WARN),
        ("loud", "true", SignalLevel.OFF),
    ],
)
def test_the_level_comes_from_the_environment_at_each_call(
    monkeypatch: pytest.MonkeyPatch, check: str | None, async_assert: str | None, level: SignalLevel
) -> None:
    for name, value in (
        ("SGLANG_INVARIANT_CHECK", check),
        ("SGLANG_ENABLE_ASYNC_ASSERT", async_assert),
    ):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert current_level() is level


def test_a_level_out_of_range_is_an_error_of_each_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SGLANG_INVARIANT_CHECK", "3")
    with pytest.raises(ValueError, match="3"):
        Signals().expect(PEER_MAPPED_INVARIANT, torch.tensor([True]), "all is well")


def test_counts_add_up_and_an_observer_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SGLANG_INVARIANT_CHECK", "1")
    signals = Signals()
    for holds in ([True, False], [True, True], [False, False]):
        signals.expect(PEER_RELEASED_INVARIANT, torch.tensor(holds), "a test")
    assert signals.counts == {"swa.peer_released": 3}


def test_an_observer_hears_of_every_evaluation_at_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SGLANG_INVARIANT_CHECK", "0")
    heard: list[tuple[str, int]] = []

    class Observer:
        def evaluated(self, name: str, false_elements: int) -> None:
            heard.append((name, false_elements))

        def counted(self, name: str, false_elements: int) -> None:
            raise AssertionError("nothing is counted at off")

    signals = Signals(Observer())
    signals.expect(PEER_MAPPED_INVARIANT, torch.tensor([True]), "")
    signals.expect(PEER_RELEASED_INVARIANT, torch.tensor([False]), "")
    assert heard == [("swa.peer_mapped", 0), ("swa.peer_released", 1)]
