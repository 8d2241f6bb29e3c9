"""The target in docs/adding_a_target.md is the code that runs here, word for word."""

import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from oracle.geometry import Geometry
from oracle.lockstep import run_trace
from oracle.operations import (
    Alloc,
    Clear,
    Drain,
    Extend,
    Free,
    GroupBegin,
    GroupEnd,
    Operation,
    Part,
    Release,
)
from oracle.target import Target
from oracle.trace import Trace

DOCUMENT = Path(__file__).parents[2] / "docs" / "adding_a_target.md"
MOST_LINES = 45
TRACES = 50


def _documented_code() -> str:
    blocks = re.findall(r"^```python\n(.*?)^```$", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1, f"{DOCUMENT.name} must show one Python program, not {len(blocks)}"
    return str(blocks[0])


def _documented_target() -> Any:
    names: dict[str, Any] = {}
    exec(compile(_documented_code(), str(DOCUMENT), "exec"), names)  # noqa: S102 (our own document)
    return names["QueueTarget"]()


def _trace(seed: int, *, need_sort: bool) -> Trace:
    random = Random(seed)

    def operation() -> Operation:
        request, amount = random.randrange(4), random.randrange(6)
        return random.choice(
            [
                Alloc(amount=amount),
                Extend(parts=(Part(request=request, amount=amount), Part(amount=1))),
                Free(request=request, first=amount, count=amount),
                Release(request=request),
                GroupBegin(),
                GroupEnd(),
                Clear() if amount == 5 else Alloc(amount=1),
            ]
        )

    return Trace(
        geometry=Geometry(family="token", size=12, need_sort=need_sort),
        callers="legal",
        operations=(*(operation() for _ in range(30)), Drain()),
    )


def test_the_documented_target_is_a_target_and_as_short_as_promised() -> None:
    assert isinstance(_documented_target(), Target)
    code = [line for line in _documented_code().splitlines() if line.strip()]
    assert len(code) <= MOST_LINES, f"{len(code)} lines are not 'about 40'"


@pytest.mark.parametrize("need_sort", [False, True])
def test_the_documented_target_agrees_with_the_prediction_and_keeps_the_laws(
    need_sort: bool,
) -> None:
    target = _documented_target()
    steps = 0
    for seed in range(TRACES):
        session = run_trace(_trace(seed, need_sort=need_sort), [target])
        steps += session.steps
        assert not session.findings, f"seed {seed}: {session.findings[0].sentence()}"
    assert steps > 5 * TRACES, f"only {steps} calls were made, so this says little"


def test_a_fault_in_the_documented_target_is_found() -> None:
    target = _documented_target()
    honest = target.alloc

    def hand_out_the_padding_slot(need: int) -> Any:
        target.free.insert(0, 0)
        return honest(need)

    target.alloc = hand_out_the_padding_slot
    session = run_trace(_trace(0, need_sort=False), [target])
    assert [finding.kind for finding in session.findings] == ["divergence"]
