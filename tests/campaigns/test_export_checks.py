"""Every quantity that the judge compares and every law has a check that is silent on a right allocator and fires on a wrong one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from campaigns.export import render  # noqa: E402
from campaigns.export_quantities import expression  # noqa: E402
from oracle import comparison  # noqa: E402
from oracle.contract import PEER_MAPPED, PEER_RELEASED  # noqa: E402
from oracle.errors import UsageError  # noqa: E402
from oracle.geometry import Mode  # noqa: E402
from oracle.laws.violation import LAW_NAMES  # noqa: E402
from oracle.operations import Alloc, Extend, Free, FreeSegment, Merge, Part, RawFree, Recover  # noqa: E402
from oracle.trace import Trace  # noqa: E402
from targets.registry import make_target  # noqa: E402
from tests.campaigns.export_cases import (  # noqa: E402
    DRAINED,
    GROUPED,
    GROWN,
    PAGED,
    SEGMENTED,
    assert_formatted,
    finding_at,
    hybrid,
    loaded,
    trace,
)


class Sabotaged:
    """An allocator whose ``method``, at its ``nth`` call, does what ``fault`` makes of it; all else is the real one's."""

    def __init__(self, real: Any, method: str, nth: int, fault: Callable[[Any, Any], Any]) -> None:
        self._real, self._method, self._left, self._fault = real, method, nth, fault

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._real, name)
        if name != self._method:
            return attribute

        def call(*arguments: Any, **named: Any) -> Any:
            value = attribute(*arguments, **named)
            self._left -= 1
            return self._fault(self._real, value) if self._left == 0 else value

        return call


def verdict(module: Any, fault: Callable[[Any, Any], Any] | None, method: str, nth: int) -> Any:
    """(expected, got) of an exported program on our own allocator, with or without a fault in one call."""
    allocator = module.build()
    if fault is not None:
        allocator = Sabotaged(allocator, method, nth, fault)
    return module.reproduce(allocator)


HYBRID_ONLY = ("mapping", "swa_set_pile", "swa_page_pile", "group", "new_pages_available")


def quantities() -> list[tuple[str, Trace]]:
    """Every quantity that ``compare_snapshots`` can name, with a trace in which it has something to say."""
    grouped = trace(hybrid(32, 32, 4, need_sort=True), *GROUPED)
    single = trace(hybrid(16, 12, 1, need_sort=True), *GROUPED)
    named = []
    for subject in (grouped, single, SEGMENTED):
        target = make_target("eager")
        target.reset(subject.geometry, Mode())
        state = target.snapshot()
        named += [
            (name, subject)
            for name, _, _ in comparison._quantities(state, state)
            # Without a second pool these are constants of every target, so they never differ.
            if subject.family == "hybrid-swa" or name not in HYBRID_ONLY
        ]
    return named


@pytest.mark.parametrize(("quantity", "subject"), quantities())
def test_every_quantity_of_the_comparison_is_read_from_the_allocator_itself(
    quantity: str, subject: Trace
) -> None:
    method = "free" if subject is not SEGMENTED else "free_group_end"
    finding = finding_at(subject, "divergence", quantity, method=method)
    expected, got = verdict(loaded(render(subject, "eager", finding=finding)), None, method, 1)
    assert expected == got, f"{quantity} is read wrongly"


def test_a_quantity_that_differs_is_shown(tmp_path: Path) -> None:
    subject = trace(hybrid(32, 32, 4), *GROWN, Free(method="free", count=3))
    finding = finding_at(subject, "divergence", "swa.free", method="free")
    source = render(subject, "eager", finding=finding)

    def lose_a_page(allocator: Any, value: Any) -> Any:
        allocator.swa_attn_allocator.free_pages = allocator.swa_attn_allocator.free_pages[1:]
        return value

    expected, got = verdict(loaded(source), lose_a_page, "free", 1)
    assert expected[1:] == got
    assert_formatted(source, tmp_path / "swa_free.py")


def _mapping(allocator: Any, slot: int, peer: int) -> None:
    allocator.full_to_swa_index_mapping[slot] = peer


def _pages(pool: Any, pages: list[int]) -> None:
    pool.free_pages = torch.tensor(pages)


def _repeat_first_page(allocator: Any, value: Any) -> Any:
    pool = allocator.full_attn_allocator
    _pages(pool, [*pool.free_pages.tolist(), int(pool.free_pages[0])])
    return value


def _padding_first(allocator: Any, value: Any) -> Any:
    pool = allocator.swa_attn_allocator
    _pages(pool, [0, *pool.free_pages.tolist()[1:]])
    return value


def _lose_first_page(allocator: Any, value: Any) -> Any:
    pool = allocator.swa_attn_allocator
    _pages(pool, pool.free_pages.tolist()[1:])
    return value


def _forget_a_page(allocator: Any, value: Any) -> Any:
    _mapping(allocator, 4, 0)
    return value


def _share_a_peer(allocator: Any, value: Any) -> Any:
    _mapping(allocator, 4, int(allocator.full_to_swa_index_mapping[8]))
    return value


def _swap_two_peers(allocator: Any, value: Any) -> Any:
    mapping = allocator.full_to_swa_index_mapping
    mapping[4:6] = mapping[4:6].flip(0)
    return value


def _swap_two_pages(allocator: Any, value: Any) -> Any:
    mapping = allocator.full_to_swa_index_mapping
    mapping[4:8], mapping[16:20] = mapping[16:20].clone(), mapping[4:8].clone()
    return value


def _hand_out_the_first_page(_allocator: Any, value: Any) -> Any:
    return torch.cat((value[:1], torch.arange(4, 8)))


def _refuse(_allocator: Any, _value: Any) -> Any:
    raise AssertionError("no")


def _map_while_refusing(allocator: Any, value: Any) -> Any:
    _mapping(allocator, 30, 4)
    return value


STATE = trace(hybrid(32, 32, 4), *GROWN, FreeSegment(method="free_swa_segment", request=1))
EXTENDED = trace(
    hybrid(32, 32, 4), Alloc(amount=6), Extend(parts=(Part(request=1, amount=1), Part(amount=4)))
)
RECOVERED = trace(
    hybrid(32, 32, 4), *GROWN, FreeSegment(method="free_swa_segment", request=0), Recover()
)
REFUSED = trace(hybrid(32, 32, 4), Alloc(amount=6), Alloc(amount=1, unit="left"))
LAWS: dict[str, tuple[Trace, str, int, str, Callable[[Any, Any], Any]]] = {
    # law -> trace, method, which call of it, pool, fault
    "legal-call-raised": (STATE, "free_swa_segment", 1, "", _refuse),
    "failed-call-changes-nothing": (REFUSED, "alloc_extend", 2, "swa", _map_while_refusing),
    "returned-slots": (EXTENDED, "alloc_extend", 2, "full", _hand_out_the_first_page),
    "padding-page": (STATE, "free_swa_segment", 1, "swa", _padding_first),
    "one-owner": (STATE, "free_swa_segment", 1, "full", _repeat_first_page),
    "conservation": (STATE, "free_swa_segment", 1, "swa", _lose_first_page),
    "capacity-within-size": (
        trace(hybrid(8, 8, 4), Alloc(amount=0, unit="pages"), FreeSegment()),
        "free_segment", 1, "full", _repeat_first_page,
    ),
    "everything-returned": (trace(hybrid(32, 32, 4), *DRAINED), "free_segments", 2, "swa", _lose_first_page),
    "mapping-support": (STATE, "free_swa_segment", 1, "swa", _share_a_peer),
    "mapping-injective": (EXTENDED, "alloc_extend", 2, "swa", _share_a_peer),
    "page-offset": (EXTENDED, "alloc_extend", 2, "swa", _swap_two_peers),
    "mapped-equals-held": (STATE, "free_swa_segment", 1, "swa", _lose_first_page),
    "content-full": (EXTENDED, "alloc_extend", 2, "full", _hand_out_the_first_page),
    "content-swa": (RECOVERED, "set_full_to_swa_mapping", 1, "swa", _swap_two_pages),
}  # fmt: skip
AT_THE_CALL = ("legal-call-raised", "failed-call-changes-nothing", "returned-slots")


def test_no_law_is_without_a_case() -> None:
    assert sorted(LAWS) == sorted(LAW_NAMES)


@pytest.mark.parametrize("law", LAW_NAMES)
def test_every_law_is_stated_on_the_allocators_own_state(law: str, tmp_path: Path) -> None:
    subject, method, nth, pool, fault = LAWS[law]
    finding = finding_at(
        subject,
        "law",
        f"{pool}.{law}" if pool else law,
        method=method if law in AT_THE_CALL else "state",
    )
    source = render(subject, "eager", finding=finding)
    expected, got = verdict(loaded(source), None, method, nth)
    assert expected == got, f"{law} is broken on a right allocator: {got}\n{source}"
    expected, got = verdict(loaded(source), fault, method, nth)
    assert expected != got, f"{law} is not seen to be broken\n{source}"
    assert_formatted(source, tmp_path / "law.py")


@pytest.mark.parametrize("law", LAW_NAMES)
@pytest.mark.parametrize("pool", ["full", "swa", ""])
@pytest.mark.parametrize("family", ["hybrid", "paged"])
def test_every_law_renders_for_every_pool_and_family(law: str, pool: str, family: str) -> None:
    subject = STATE if family == "hybrid" else SEGMENTED
    finding = finding_at(subject, "law", f"{pool}.{law}" if pool else law)
    if (family == "paged" and pool == "swa") or (not pool and law in ("one-owner",)):
        return
    compile(render(subject, "eager", finding=finding), "exported.py", "exec")


def test_an_invariant_that_fires_where_none_should_is_shown() -> None:
    subject = trace(hybrid(32, 32, 4), *GROWN, Free(method="free_full", count=3))
    finding = finding_at(subject, "signal", PEER_RELEASED, method="free_full")
    module = loaded(render(subject, "eager", finding=finding))
    expected, got = verdict(module, None, "free_full", 1)
    assert expected == got == [[PEER_RELEASED, 4]], "four live peers were left behind"


@pytest.mark.parametrize(("level", "counted"), [("off", {}), ("warn", {PEER_RELEASED: 4})])
def test_a_counter_is_read_from_the_allocator(
    level: Any, counted: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = trace(
        hybrid(32, 32, 4), *GROWN, Free(method="free_full", count=3), mode=Mode(level=level)
    )
    finding = finding_at(subject, "signal", "counted", method="free_full")
    module = loaded(render(subject, "eager", finding=finding))
    monkeypatch.setenv("SGLANG_INVARIANT_CHECK", {"off": "0", "warn": "1"}[level])
    expected, got = verdict(module, None, "free_full", 1)
    assert expected == got == counted


def test_what_the_contract_says_is_raised_is_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = trace(
        hybrid(8, 8, 1),
        Alloc(amount=4),
        Free(method="free_swa"),
        Free(method="free_swa"),
        mode=Mode(level="warn"),
    )
    finding = finding_at(subject, "signal", "raised", method="free_swa")
    module = loaded(render(subject, "eager", finding=finding))
    monkeypatch.setenv("SGLANG_INVARIANT_CHECK", "1")
    assert verdict(module, None, "free_swa", 1) == (f"invariant:{PEER_MAPPED}",) * 2


def test_a_crash_and_a_wrong_answer_are_shown() -> None:
    subject = trace(PAGED, Alloc(amount=2, unit="pages"))
    crash = loaded(
        render(
            subject, "eager", finding=finding_at(subject, "crash", "crash:KeyError", method="alloc")
        )
    )
    assert verdict(crash, None, "alloc", 1) == ("nothing", "nothing")
    assert verdict(crash, _refuse, "alloc", 1) == ("nothing", "AssertionError")
    wrong = loaded(
        render(
            subject, "eager", finding=finding_at(subject, "divergence", "returned", method="alloc")
        )
    )
    assert verdict(wrong, None, "alloc", 1) == (list(range(4, 16)),) * 2
    assert verdict(wrong, lambda _, value: None, "alloc", 1) == (list(range(4, 16)), None)


def test_a_call_that_returns_is_no_hang() -> None:
    subject = trace(PAGED, Alloc(amount=2, unit="pages"), Merge())
    finding = finding_at(subject, "hang", "hang", method="merge_and_sort_free")
    expected, got = verdict(loaded(render(subject, "eager", finding=finding)), None, "alloc", 1)
    assert expected == got


def test_a_trace_without_a_finding_compares_the_whole_state() -> None:
    for subject in (SEGMENTED, STATE, trace(hybrid(32, 32, 4), *DRAINED)):
        expected, got = verdict(loaded(render(subject, "eager")), None, "alloc", 1)
        assert expected == got
        assert expected["full.free"], "nothing was compared"


@pytest.mark.parametrize("kind", ["sync", "launches", "memory"])
def test_what_a_cpu_cannot_show_has_no_script(kind: Any) -> None:
    finding = finding_at(SEGMENTED, kind, kind, method="free_group_end")
    with pytest.raises(UsageError, match="kvoracle replay"):
        render(SEGMENTED, "eager", finding=finding)


def test_an_unknown_quantity_has_no_expression() -> None:
    assert expression("returned", "hybrid-swa") is None


def test_raw_slots_and_a_breach_are_explained() -> None:
    subject = trace(
        hybrid(32, 32, 4), Alloc(amount=6), RawFree(method="free_swa_segment", slots=(0,))
    )
    text = render(
        subject,
        "eager",
        finding=finding_at(subject, "hazard", "swa.padding-page", breach="raw-slots"),
    )
    assert "The caller breaks the contract: raw-slots: nobody handed these slots out." in text
    assert "torch.tensor([0], dtype=torch.int32)" in text
