"""Each trace of the corpus shows its finding on the releases that its manifest names, and on no other.

Those that are about the releases' own kernels show nothing with our stand-ins for these, and end a process that interprets them.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from release_process import run_on_releases

from oracle.geometry import UNIFIED_FAMILIES
from oracle.trace import read_trace
from targets.rows.methods import ROWS_FAMILY
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
        for release in releases_in(row["fails"]) if "kernels" not in row else ():
            expected[release, row["file"]].append([row["kind"], row["quantity"]])
    # Beside what they are kept for, traces of hostile callers show the hazards of every release.
    hostile = {row["file"] for row in ROWS if row.get("callers") == "hostile"}
    for place, looks in shown.items():
        if place[1] in hostile:
            kept = expected.get(place, [])
            looks[:] = [look for look in looks if look[0] != "hazard" or look in kept]
    assert shown.keys() == expected.keys()
    assert {place: looks for place, looks in shown.items() if looks != expected[place]} == {}


OWN_KERNELS = """
import resource
import signal
from pathlib import Path

# The memory of a process that is meant to die is of no use to anybody.
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

def body(release):
    target = make_sglang_target(f"sglang=={release}")
    from oracle.lockstep import run_trace
    from oracle.trace import read_trace

    for file in sys.argv[2:]:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            found = run_trace(read_trace(Path(file)), [target]).findings
            os._exit(len(found))
        _, status = os.waitpid(child, 0)
        end = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else ""
        print(release, os.path.basename(file), end or os.WEXITSTATUS(status), flush=True)
"""


@pytest.mark.long
@pytest.mark.release
def test_the_own_kernels_of_releases_end_the_process_as_the_manifest_says() -> None:
    rows = [row for row in ROWS if "kernels" in row]
    files = [str(FOLDER / row["file"]) for row in rows]
    printed, _ = run_on_releases(
        OWN_KERNELS, RELEASES, *files, KVORACLE_KERNELS="interpreter", TRITON_INTERPRET="1"
    )
    shown = dict(line.rsplit(" ", 1) for line in printed.splitlines())
    expected = {f"{release} {row['file']}": "0" for row in rows for release in RELEASES}
    for row in rows:
        signal = row["quantity"].removeprefix("process ")
        expected |= {f"{release} {row['file']}": signal for release in releases_in(row["fails"])}
    assert shown == expected


def having(family: str) -> tuple[str, ...]:
    """The releases that have a family."""
    first = {ROWS_FAMILY: 14, **FIRST}.get(family, 20 if family in UNIFIED_FAMILIES else 0)
    return releases_in(f"0.5.{first}..") if first else RELEASES
