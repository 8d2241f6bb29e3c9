"""Damaged traces of the unified families: each is refused with one sentence, or is a trace that the prediction can run.

The damage is drawn from fixed seeds, so a failure names the seed that makes it again.
"""

from random import Random

import pytest
from damage import damaged

from oracle.errors import UsageError
from oracle.geometry import UNIFIED_FAMILIES
from oracle.lockstep import run_trace
from oracle.trace import Trace, decode_trace, encode_trace
from targets.reference import ReferenceTarget

FILES = 1_600
LARGEST_BUFFER = 1 << 14
"""Bytes. A sound trace of a larger buffer runs too, but its snapshots would take most of the time of this file."""


def _read(seed: int) -> Trace | str:
    """The trace that the damaged file of ``seed`` still is, or the sentence that refuses it."""
    try:
        return decode_trace(damaged(Random(seed), UNIFIED_FAMILIES), f"file {seed}")
    except UsageError as error:
        return str(error)


def test_a_damaged_file_is_refused_in_a_sentence_or_runs() -> None:
    refused = runs = 0
    for seed in range(FILES):
        trace = _read(seed)
        if isinstance(trace, str):
            refused += 1
            assert trace.startswith(f"file {seed}"), f"seed {seed} is not named: {trace}"
            assert "\n" not in trace, f"seed {seed}: more than a line: {trace}"
            continue
        assert decode_trace(encode_trace(trace)) == trace
        if trace.family not in UNIFIED_FAMILIES or seed % 4:
            continue
        if trace.geometry.bytes_shared.total_bytes > LARGEST_BUFFER:
            continue
        runs += 1
        try:
            session = run_trace(trace, [ReferenceTarget()])
        except Exception as error:  # noqa: BLE001 (any exception is what is looked for)
            pytest.fail(f"seed {seed}: {type(error).__name__}: {error}\n{encode_trace(trace)!r}")
        real = [finding.sentence() for finding in session.findings if finding.kind != "hazard"]
        assert not real, f"seed {seed}: the prediction is judged wrong: {real}"
    assert refused > FILES // 20, f"only {refused} files were refused"
    assert runs > 50, f"only {runs} traces ran, so this says little"
