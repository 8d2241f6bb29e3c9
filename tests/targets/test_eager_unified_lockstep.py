"""Our unified allocators against the prediction over random traces, legal and hostile."""

from __future__ import annotations

import pytest
from unified_traces import unified_trace

from oracle.geometry import UNIFIED_FAMILIES, Family
from oracle.lockstep import run_trace
from oracle.trace import Callers
from targets.eager.target import EagerTarget
from targets.eager.unified.families import UNIFIED_CLASSES

TRACES = 25
OURS = [family for family in UNIFIED_FAMILIES if family in UNIFIED_CLASSES]


@pytest.mark.parametrize("callers", ["legal", "hostile"])
@pytest.mark.parametrize("family", OURS)
def test_random_traces_agree_with_the_prediction(family: Family, callers: Callers) -> None:
    target = EagerTarget()
    steps = 0
    for seed in range(TRACES):
        session = run_trace(unified_trace(family, seed, callers), [target])
        found = [finding for finding in session.findings if finding.kind != "hazard"]
        assert not found, (family, seed, callers, found[0])
        steps += session.steps
    assert steps > 10 * TRACES, f"only {steps} calls were made"
