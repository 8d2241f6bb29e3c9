"""Each trace of the corpus shows its finding on the releases that its manifest names, and on no other."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from release_process import run_on_releases

from oracle.geometry import UNIFIED_FAMILIES
from oracle.trace import read_trace
from targets.sglang.further_contracts import FIRST
from targets.sglang.release_range import releases_in
from targets.sglang.releases import RELEASES

FOLDER = Path(__file__).parents[1] / "corpus"
ROWS = tomllib.loads((FOLDER / "manifest.toml").read_text())["trace"]
REPLAY = """
import json
from pathlib import Path
from oracle.lockstep import run_trace
from oracle.trace import read_trace

def body(release):
    target = make_sglang_target(f"sglang=={release}")
    for file in sorted(Path(sys.argv[2]).glob("*.json")):
        trace = read_trace(file)
        if target.contract(trace.family) is None:
            continue
        found = run_trace(trace, [target]).findings
        looks = [(finding.kind, finding.quantity) for finding in found]
        print(json.dumps([release, file.name, looks]), flush=True)
"""


@pytest.mark.release
def test_each_trace_shows_its_finding_exactly_on_the_releases_of_the_manifest() -> None:
    printed, _ = run_on_releases(REPLAY, RELEASES, str(FOLDER))
    shown = {
        (release, name): looks for release, name, looks in map(json.loads, printed.splitlines())
    }
    expected: dict[tuple[str, str], list[list[str]]] = {
        (release, row["file"]): []
        for row in ROWS
        for release in having(read_trace(FOLDER / row["file"]).family)
    }
    for row in ROWS:
        for release in releases_in(row["fails"]):
            expected[release, row["file"]].append([row["kind"], row["quantity"]])
    # Beside what they are kept for, traces of hostile callers show the hazards of every release.
    hostile = {row["file"] for row in ROWS if row.get("callers") == "hostile"}
    for place, looks in shown.items():
        if place[1] in hostile:
            kept = expected.get(place, [])
            looks[:] = [look for look in looks if look[0] != "hazard" or look in kept]
    assert shown.keys() == expected.keys()
    assert {place: looks for place, looks in shown.items() if looks != expected[place]} == {}


def having(family: str) -> tuple[str, ...]:
    """The releases that have a family."""
    first = FIRST.get(family, 20 if family in UNIFIED_FAMILIES else 0)
    return releases_in(f"0.5.{first}..") if first else RELEASES
