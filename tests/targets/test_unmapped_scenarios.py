"""The three ways to a row whose pages have no peers: what a segment free of the SWA side frees, and what is signalled.

A row that was loaded from outside, a row whose first page left the window, a row of which only the tail got peers. Where a
contract skips unmapped entries (0.5.19) the first frees nothing, a page that left the window is not freed again, and the tail frees
the live page only; where it reports them (0.5.20 on), each unmapped representative is one element of the signal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from oracle.call import Call
from oracle.geometry import LEVELS, Geometry, Level, Mode
from oracle.observation import Hit
from oracle.prediction import make_prediction
from targets.registry import make_target
from targets.sglang.contracts import contract_for_version

GEOMETRY = Geometry(family="hybrid-swa", size=32, size_swa=32, page_size=4)
PAGES = 2
FREE = "free_swa_segment"


def _loaded(target: Any) -> tuple[int, ...]:
    """FULL slots alone: both pages unmapped."""
    outcome = target.apply(Call(method="alloc", pool="full", need=4 * PAGES))
    row: tuple[int, ...] = outcome.value
    return row


def _evicted(target: Any) -> tuple[int, ...]:
    """Both pages mapped, and let go already."""
    row = _extended(target, 4 * PAGES)
    assert not target.apply(Call(method="free_swa", slots=row)).error
    return row


def _tailed(target: Any) -> tuple[int, ...]:
    """The second page mapped, the first one not."""
    return _extended(target, 4)


def _extended(target: Any, tail: int) -> tuple[int, ...]:
    outcome = target.apply(
        Call(
            method="alloc_extend_swa_tail",
            prefix_lens=(0,),
            seq_lens=(4 * PAGES,),
            last_loc=(-1,),
            extend_num_tokens=4 * PAGES,
            swa_tail_len=tail,
        )
    )
    row: tuple[int, ...] = outcome.value
    return row


Scenario = Callable[[Any], tuple[int, ...]]
SCENARIOS: dict[str, tuple[Scenario, int, int]] = {
    "external load": (_loaded, 0, 2),
    "already evicted": (_evicted, 0, 2),
    "tail": (_tailed, 1, 1),
}
"""How the row comes about, how many live pages it has, how many unmapped."""


class _Filtering:
    """The prediction under the contract of the last release that skips unmapped entries."""

    def __init__(self) -> None:
        contract = contract_for_version("0.5.19", "hybrid-swa", power_of_two_pages=True)
        assert contract is not None
        assert contract.unmapped == "skipped"
        self._prediction = make_prediction(GEOMETRY, Mode(), contract)
        self.apply, self.snapshot = self._prediction.apply, self._prediction.snapshot


def _free_pages(target: Any) -> list[int]:
    swa = target.snapshot().swa
    return sorted([*swa.free, *(page for entry in swa.staged for page in entry)])


@pytest.mark.parametrize("name", SCENARIOS)
def test_where_unmapped_entries_are_skipped_live_pages_alone_are_freed(name: str) -> None:
    scenario, live, _ = SCENARIOS[name]
    target = _Filtering()
    _extended(target, 4 * PAGES)
    row = scenario(target)
    before = _free_pages(target)
    outcome = target.apply(Call(method="free_swa", slots=row))
    assert not outcome.error
    assert not outcome.hits
    freed = _free_pages(target)
    assert len(freed) - len(before) == live
    assert 0 not in freed


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("specification", ["oracle", "eager", "fused"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_where_they_are_reported_each_is_one_element_of_the_signal(
    name: str, specification: str, level: Level
) -> None:
    scenario, live, unmapped = SCENARIOS[name]
    target = make_target(specification)
    target.reset(GEOMETRY, Mode(level=level))
    # Another row holds pages, or the list would have more than the pool, which is asserted.
    _extended(target, 4 * PAGES)
    row = scenario(target)
    before = _free_pages(target)
    outcome = target.apply(Call(method=FREE, slots=row, start_pos=0))
    assert outcome.hits == (Hit("swa.peer_mapped", unmapped),)
    freed = _free_pages(target)
    if level == "off":
        assert not outcome.error
        assert len(freed) - len(before) == live + unmapped
        assert freed.count(0) == unmapped
    else:
        assert outcome.error == "invariant:swa.peer_mapped"
        assert freed == before
