"""The three ways to a row whose pages have no peers: what a segment free of the SWA side frees, and what is signalled.

A row that was loaded from outside, a row whose pages left the window, a row of which only the tail got peers. Where unmapped
entries are filtered (up to 0.5.19 in every form, since then in the set-shaped one) the first two free nothing, and the tail frees the live page
only; where they are reported (segment forms from 0.5.20 on), each unmapped representative is one element of the signal. Ours do both, on a
CPU and on a GPU.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
import torch

from oracle.call import Call
from oracle.geometry import LEVELS, Geometry, Level, Mode
from oracle.observation import Hit
from oracle.prediction import make_prediction
from targets.fused.launcher import INTERPRET
from targets.registry import make_target
from targets.sglang.contracts import contract_for_version

PAGES = 2
POOL_PAGES = 8
PAGE_SIZES = [4, 256]
ON_GPU = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
    pytest.mark.skipif(bool(os.environ.get(INTERPRET)), reason="this process interprets kernels"),
]
OURS = [
    pytest.param(name, device, marks=ON_GPU if device == "cuda" else [], id=f"{name}-{device}")
    for device in ("cpu", "cuda")
    for name in ("eager", "fused")
]
PREDICTION = pytest.param("oracle", "cpu", id="oracle")


def geometry(page_size: int) -> Geometry:
    size = POOL_PAGES * page_size
    return Geometry(family="hybrid-swa", size=size, size_swa=size, page_size=page_size)


def _loaded(target: Any, page_size: int) -> tuple[int, ...]:
    """FULL slots alone: both pages unmapped."""
    outcome = target.apply(Call(method="alloc", pool="full", need=page_size * PAGES))
    row: tuple[int, ...] = outcome.value
    return row


def _evicted(target: Any, page_size: int) -> tuple[int, ...]:
    """Both pages mapped, and let go already."""
    row = _extended(target, page_size, PAGES)
    assert not target.apply(Call(method="free_swa", slots=row)).error
    return row


def _tailed(target: Any, page_size: int) -> tuple[int, ...]:
    """The second page mapped, the first one not."""
    return _extended(target, page_size, 1)


def _extended(target: Any, page_size: int, tail_pages: int) -> tuple[int, ...]:
    outcome = target.apply(
        Call(
            method="alloc_extend_swa_tail",
            prefix_lens=(0,),
            seq_lens=(page_size * PAGES,),
            last_loc=(-1,),
            extend_num_tokens=page_size * PAGES,
            swa_tail_len=page_size * tail_pages,
        )
    )
    row: tuple[int, ...] = outcome.value
    return row


Scenario = Callable[[Any, int], tuple[int, ...]]
SCENARIOS: dict[str, tuple[Scenario, int, int]] = {
    "external load": (_loaded, 0, 2),
    "already evicted": (_evicted, 0, 2),
    "tail": (_tailed, 1, 1),
}
"""How the row comes about, how many live pages it has, how many unmapped."""


class _Filtering:
    """The prediction under the contract of the last release that skips unmapped entries in every form."""

    def __init__(self, page_size: int) -> None:
        contract = contract_for_version("0.5.19", "hybrid-swa", power_of_two_pages=True)
        assert contract is not None
        assert contract.unmapped == "skipped"
        self._prediction = make_prediction(geometry(page_size), Mode(), contract)
        self.apply, self.snapshot = self._prediction.apply, self._prediction.snapshot


def _free_pages(target: Any) -> list[int]:
    swa = target.snapshot().swa
    return sorted([*swa.free, *(page for entry in swa.staged for page in entry)])


@pytest.mark.parametrize("page_size", PAGE_SIZES)
@pytest.mark.parametrize("name", SCENARIOS)
def test_up_to_0_5_19_live_pages_alone_are_freed(name: str, page_size: int) -> None:
    frees_live_pages_alone(_Filtering(page_size), name, page_size)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("page_size", PAGE_SIZES)
@pytest.mark.parametrize(("specification", "device"), [PREDICTION, *OURS])
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_set_shaped_form_still_frees_live_pages_alone(
    name: str, specification: str, device: str, page_size: int, level: Level
) -> None:
    target = made(specification, device, page_size, level)
    frees_live_pages_alone(target, name, page_size)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("page_size", PAGE_SIZES)
@pytest.mark.parametrize(("specification", "device"), [PREDICTION, *OURS])
@pytest.mark.parametrize("name", SCENARIOS)
def test_where_they_are_reported_each_is_one_element_of_the_signal(
    name: str, specification: str, device: str, page_size: int, level: Level
) -> None:
    scenario, live, unmapped = SCENARIOS[name]
    target = made(specification, device, page_size, level)
    # Another row holds pages, or the list would have more than the pool, which is asserted.
    _extended(target, page_size, PAGES)
    row = scenario(target, page_size)
    before = _free_pages(target)
    outcome = target.apply(Call(method="free_swa_segment", slots=row, start_pos=0))
    assert outcome.hits == (Hit("swa.peer_mapped", unmapped),)
    freed = _free_pages(target)
    if level == "off":
        assert not outcome.error
        assert len(freed) - len(before) == live + unmapped
        assert freed.count(0) == unmapped
    else:
        assert outcome.error == "invariant:swa.peer_mapped"
        assert freed == before


def made(specification: str, device: str, page_size: int, level: Level) -> Any:
    target = make_target(specification, device=device)
    target.reset(geometry(page_size), Mode(level=level))
    return target


def frees_live_pages_alone(target: Any, name: str, page_size: int) -> None:
    scenario, live, _ = SCENARIOS[name]
    _extended(target, page_size, PAGES)
    row = scenario(target, page_size)
    mapped = {slot // page_size for slot in _peers(target, row)} - {0}
    assert len(mapped) == live
    before = _free_pages(target)
    outcome = target.apply(Call(method="free_swa", slots=row))
    assert not outcome.error
    assert not outcome.hits
    assert _free_pages(target) == sorted([*before, *mapped])


def _peers(target: Any, row: tuple[int, ...]) -> list[int]:
    mapping = target.snapshot().mapping
    return [mapping[slot] for slot in row]
