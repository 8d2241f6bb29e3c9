"""The laws of unified allocators stay silent about a right allocator under legal callers, and never raise under hostile ones."""

from __future__ import annotations

from collections import Counter

import pytest

from oracle.geometry import UNIFIED_FAMILIES, Family
from oracle.laws.unified_names import UNIFIED_LAW_NAMES
from oracle.lockstep import Judging, Session
from oracle.trace import Trace, encode_trace
from strategies.explore import explore
from targets.reference import ReferenceTarget

EXAMPLES = 30
LAWS_ONLY = Judging(prediction=False)


@pytest.mark.parametrize("family", UNIFIED_FAMILIES)
def test_no_law_fires_on_the_reference_under_legal_callers(family: Family) -> None:
    calls = 0

    def look(trace: Trace, session: Session) -> None:
        nonlocal calls
        calls += session.steps
        found = [finding.sentence() for finding in session.findings]
        assert not found, f"{found} on {encode_trace(trace)!r}"

    explore(
        ReferenceTarget(),
        family,
        examples=EXAMPLES,
        seed=11,
        callers="legal",
        judging=LAWS_ONLY,
        on_example=look,
    )
    assert calls > 1_000, f"only {calls} calls were judged, so this says little"


@pytest.mark.parametrize("family", UNIFIED_FAMILIES)
def test_hostile_callers_are_found_by_laws_that_have_a_name(family: Family) -> None:
    laws: Counter[str] = Counter()

    def look(trace: Trace, session: Session) -> None:
        for finding in session.findings:
            assert finding.kind == "hazard", f"{finding.sentence()} on {encode_trace(trace)!r}"
            laws[finding.quantity.rpartition(".")[2]] += 1

    explore(ReferenceTarget(), family, examples=10, seed=12, callers="hostile", on_example=look)
    assert laws.keys() <= set(UNIFIED_LAW_NAMES)
    assert laws, "no hostile caller was found"
