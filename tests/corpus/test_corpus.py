"""The traces of the corpus: whole, and passed by our own allocators. What they show on releases is tested with the releases."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from oracle.lockstep import run_trace
from oracle.trace import encode_trace, read_trace
from targets.registry import make_target

FOLDER = Path(__file__).parent
ROWS = tomllib.loads((FOLDER / "manifest.toml").read_text())["trace"]
TRACES = {row["file"]: row for row in ROWS}
HAZARDS = {row["file"] for row in ROWS if row["kind"] == "hazard"}


def test_the_manifest_names_every_trace_and_no_other_file() -> None:
    assert set(TRACES) == {file.name for file in FOLDER.glob("*.json")}


@pytest.mark.parametrize("name", TRACES)
def test_a_trace_says_what_it_is_about_and_is_written_as_kvoracle_writes_it(name: str) -> None:
    trace = read_trace(FOLDER / name)
    assert trace.note, f"{name} has no note"
    hostile = name in HAZARDS or TRACES[name].get("callers") == "hostile"
    assert trace.callers == ("hostile" if hostile else "legal"), f"{name}: whose finding is it?"
    assert encode_trace(trace) == (FOLDER / name).read_bytes()


@pytest.mark.parametrize("target", ["eager", "oracle"])
@pytest.mark.parametrize("name", TRACES)
def test_our_own_allocators_and_the_prediction_pass_every_trace(name: str, target: str) -> None:
    trace = read_trace(FOLDER / name)
    kinds = [finding.kind for finding in run_trace(trace, [make_target(target)]).findings]
    if TRACES[name].get("callers") == "hostile":
        assert set(kinds) <= {"hazard"}
    else:
        assert kinds == (["hazard"] if name in HAZARDS else [])
