"""Each trace of the corpus shows its finding on the releases that its manifest names, and on no other."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from release_process import run_on_releases

from targets.sglang.release_range import releases_in
from targets.sglang.releases import RELEASES

FOLDER = Path(__file__).parents[1] / "corpus"
TRACES = {
    row["file"]: row for row in tomllib.loads((FOLDER / "manifest.toml").read_text())["trace"]
}
REPLAY = """
import json
from pathlib import Path
from oracle.lockstep import run_trace
from oracle.trace import read_trace

def body(release):
    target = make_sglang_target(f"sglang=={release}")
    for file in sorted(Path(sys.argv[2]).glob("*.json")):
        found = run_trace(read_trace(file), [target]).findings
        looks = [(finding.kind, finding.quantity) for finding in found]
        print(json.dumps([release, file.name, looks]), flush=True)
"""


@pytest.mark.release
def test_each_trace_shows_its_finding_exactly_on_the_releases_of_the_manifest() -> None:
    printed, _ = run_on_releases(REPLAY, RELEASES, str(FOLDER))
    shown = {
        (release, name): looks for release, name, looks in map(json.loads, printed.splitlines())
    }
    assert len(shown) == len(RELEASES) * len(TRACES)
    for name, row in TRACES.items():
        bad = releases_in(row["fails"])
        for release in RELEASES:
            found = [look for look in shown[release, name] if look[0] == row["kind"]]
            quantities = row["quantity"] if isinstance(row["quantity"], list) else [row["quantity"]]
            expected = [[row["kind"], quantity] for quantity in quantities]
            assert (found and found[0] in expected) if release in bad else not found, (
                f"{name} on {release}: {found}"
            )
            hostile = row.get("callers") == "hostile"
            assert hostile or shown[release, name] == found, f"{name} on {release}"
