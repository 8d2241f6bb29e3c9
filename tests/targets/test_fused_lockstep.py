"""The target ``fused``, through the interpreter, in lockstep with the prediction on random traces, legal and hostile."""

from __future__ import annotations

import pytest
from fused_bench import interpreted
from random_traces import random_trace

from oracle.geometry import Family, Level, Mode
from oracle.lockstep import Judging, run_trace
from oracle.trace import Callers

CASES: list[tuple[Family, int, Callers, Level, bool]] = [
    ("token", 1, "mixed", "off", False),
    ("paged", 1, "mixed", "off", False),
    ("paged", 3, "mixed", "off", True),
    ("paged", 4, "legal", "off", False),
    ("paged", 16, "mixed", "off", False),
    ("hybrid-swa", 1, "mixed", "off", False),
    ("hybrid-swa", 1, "mixed", "strict", False),
    ("hybrid-swa", 3, "legal", "off", False),
    ("hybrid-swa", 3, "mixed", "warn", False),
    ("hybrid-swa", 4, "mixed", "off", False),
    ("hybrid-swa", 4, "mixed", "strict", True),
    ("hybrid-swa", 16, "mixed", "strict", False),
]


@pytest.mark.parametrize(("family", "page_size", "callers", "level", "debug"), CASES)
def test_it_does_what_is_predicted(
    family: Family, page_size: int, callers: Callers, level: Level, debug: bool
) -> None:
    target = interpreted()
    mode = Mode(level=level, debug=debug)
    steps = 0
    for seed in range(2):
        trace = random_trace(family, page_size, seed, callers, mode)
        session = run_trace(trace, [target], Judging(laws=False))
        assert session.findings == [], f"seed {seed}: {session.findings}"
        steps += session.steps
    assert steps > 15, f"only {steps} calls were made"
