"""The unified families of ``fused``, through the interpreter, in lockstep with ``eager`` and the prediction on random traces."""

from __future__ import annotations

import pytest
from fused_bench import interpreted
from unified_traces import unified_trace

from oracle.geometry import UNIFIED_FAMILIES, Family
from oracle.lockstep import run_trace
from oracle.trace import Callers
from targets.eager.target import EagerTarget

TRACES = {"unified-swa": 8, "unified-mamba-swa": 3, "unified-mamba": 3}


@pytest.mark.parametrize("callers", ["legal", "mixed", "hostile"])
@pytest.mark.parametrize("family", UNIFIED_FAMILIES)
def test_it_does_what_is_predicted_and_what_eager_does(family: Family, callers: Callers) -> None:
    targets = [interpreted(), EagerTarget()]
    steps = 0
    for seed in range(TRACES[family]):
        session = run_trace(unified_trace(family, seed, callers), targets)
        found = [finding for finding in session.findings if finding.kind != "hazard"]
        assert not found, (family, seed, callers, found[0])
        steps += session.steps
    assert steps > 10 * TRACES[family], f"only {steps} calls were made"


@pytest.mark.parametrize("seed", [393, 2040])
def test_an_allocator_that_lists_pages_twice_or_beyond_its_band_still_answers(seed: int) -> None:
    session = run_trace(unified_trace("unified-swa", seed, "hostile"), [interpreted()])
    assert session.undefined
    assert [finding for finding in session.findings if finding.kind != "hazard"] == []


@pytest.mark.parametrize(("seed", "callers"), [(106, "mixed"), (119, "hostile"), (151, "hostile")])
def test_a_page_that_is_moved_to_nowhere_is_bound_to_nowhere(seed: int, callers: Callers) -> None:
    session = run_trace(unified_trace("unified-swa", seed, callers), [interpreted()])
    assert [finding for finding in session.findings if finding.kind != "hazard"] == []
