"""The published JSON Schema is the one that trace files really have."""

import json
from pathlib import Path

import jsonschema
import pytest

from oracle.geometry import Geometry
from oracle.operations import OPERATION_TABLE, Drain
from oracle.trace import Trace, encode_trace, trace_schema

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "docs" / "trace.schema.json"
REGENERATE = (
    "python -c 'import sys; from oracle.trace import trace_schema; "
    "sys.stdout.buffer.write(trace_schema())' > docs/trace.schema.json"
)


def _validate(document: object) -> None:
    jsonschema.Draft202012Validator(json.loads(PUBLISHED.read_bytes())).validate(document)


def test_the_published_schema_is_the_current_one() -> None:
    assert PUBLISHED.read_bytes() == trace_schema(), f"regenerate it with: {REGENERATE}"


def test_the_command_that_regenerates_the_schema_is_documented() -> None:
    assert REGENERATE in (ROOT / "CONTRIBUTING.md").read_text()


def test_a_trace_of_every_operation_keeps_to_the_schema() -> None:
    kinds = [kind.operation for kind in OPERATION_TABLE]
    trace = Trace(
        geometry=Geometry(family="hybrid-swa", size=8, size_swa=8),
        operations=tuple(kind() for kind in (*kinds, Drain)),  # type: ignore[arg-type]
    )
    _validate(json.loads(encode_trace(trace)))


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"geometry": {"family": "other", "size": 8}},
        {"geometry": {"family": "token", "size": 8}, "operations": [{"kind": "no such operation"}]},
        {
            "geometry": {"family": "token", "size": 8},
            "operations": [{"kind": "alloc", "amount": "8"}],
        },
        {"geometry": {"family": "token", "size": 8}, "surplus": 1},
    ],
)
def test_what_is_no_trace_does_not_keep_to_the_schema(document: object) -> None:
    with pytest.raises(jsonschema.ValidationError):
        _validate(document)


def test_every_trace_of_the_corpus_keeps_to_the_schema() -> None:
    for path in sorted((ROOT / "tests" / "corpus").glob("*.json")):
        _validate(json.loads(path.read_bytes()))
