"""Ten thousand damaged trace files: each is refused with one sentence, or is a trace that runs.

The damage is drawn from fixed seeds, so a failure names the seed that makes it again.
"""

import json
from random import Random
from typing import Any

import pytest
from damage import damaged, sound_documents

from oracle.errors import UsageError
from oracle.trace import Trace, decode_trace, encode_trace
from targets.eager.target import EagerTarget

FILES = 10_000
SHARDS = 4
RUN_EVERY = 10
LARGEST_RUN = 4096
"""Slots. A sound trace of a larger pool runs too, but its snapshots would take most of the time of this file."""


def _read(seed: int) -> Trace | str:
    """The trace that the damaged file of ``seed`` still is, or the sentence that refuses it."""
    data = damaged(Random(seed))
    try:
        return decode_trace(data, f"file {seed}")
    except UsageError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 (any other exception is what is looked for)
        pytest.fail(f"seed {seed}: {type(error).__name__}: {error}\n{data[:300]!r}")


@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_damaged_file_is_refused_in_a_sentence_or_is_a_trace(shard: int) -> None:
    refused = read = 0
    for seed in range(shard, FILES, SHARDS):
        result = _read(seed)
        if isinstance(result, Trace):
            read += 1
            again = decode_trace(encode_trace(result))
            assert again == result, f"seed {seed}: what was read does not survive being written"
        else:
            refused += 1
            assert result.startswith(f"file {seed}"), f"seed {seed} is not named: {result}"
            assert "\n" not in result, f"seed {seed}: more than a line: {result}"
    # Both worlds must be met, or the damage is too light or too heavy to say anything.
    assert min(refused, read) * 20 > refused + read, f"{refused} refused and {read} read"


@pytest.mark.parametrize("shard", range(SHARDS))
def test_what_is_still_a_trace_runs_without_an_unexpected_exception(shard: int) -> None:
    from oracle.lockstep import run_trace

    target = EagerTarget()
    runs = 0
    for seed in range(shard * RUN_EVERY, FILES, SHARDS * RUN_EVERY):
        trace = _read(seed)
        if (
            not isinstance(trace, Trace)
            or max(trace.geometry.size, trace.geometry.size_swa) > LARGEST_RUN
        ):
            continue
        runs += 1
        try:
            session = run_trace(trace, [target])
        except Exception as error:  # noqa: BLE001 (any exception is what is looked for)
            pytest.fail(f"seed {seed}: {type(error).__name__}: {error}\n{encode_trace(trace)!r}")
        real = [finding.sentence() for finding in session.findings if finding.kind != "hazard"]
        assert not real, f"seed {seed}: our own target is judged wrong: {real}"
    assert runs > 20, f"only {runs} traces ran, so this says little"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b"[" * 200_000,
        b'{"geometry":' * 100_000,
        b'{"geometry": {"family": "token", "size": 1e400}}',
        b'{"geometry": {"family": "token", "size": NaN}}',
        b'{"geometry": {"family": "token", "size": ' + b"9" * 5000 + b"}}",
        b'{"geometry": {"family": "token", "size": -1}}',
        b'{"geometry": {"family": "paged", "size": 8, "page_size": 0}}',
        b'{"geometry": {"family": "hybrid-swa", "size": 8}}',
        b'{"version": 2, "geometry": {"family": "token", "size": 8}}',
        b'{"geometry": {"family": "token", "size": 8}, "operations": [{"kind": "reset"}]}',
        b'{"geometry": {"family": "token", "size": 8}, "note": "\\ud800"}',
    ],
    ids=lambda data: repr(data[:40]),
)
def test_the_classics_of_broken_input_are_refused(data: bytes) -> None:
    with pytest.raises(UsageError):
        decode_trace(data)


def test_the_sound_traces_that_are_damaged_are_sound() -> None:
    for document in sound_documents():
        trace: Any = decode_trace(json.dumps(document).encode())
        assert trace.operations, "a trace without operations has little to damage"
