"""How long it takes from nothing to a script that shows a known bug: find, reduce, export, and run the script once.

For each row of targets/sglang/known_bugs.toml that a release has, with seeds 0, 1, ... From 0.5.20 on releases allocate on a CPU by
their own code. Prints measurements of this run on this machine only.

    python benchmarks/to_a_script.py [--release X] [--seeds N] [--cache DIR]
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

from campaigns.export_run import ScriptRunner
from campaigns.rediscovery import family_of
from campaigns.scripting import script_of
from campaigns.shortening import reduce_bounded, trace_until
from oracle.finding import Finding
from oracle.lockstep import Session, run_trace
from oracle.target import Target
from oracle.trace import Trace
from strategies.explore import explore
from targets.registry import make_target
from targets.sglang.fetch import fetch_release
from targets.sglang.known_bugs import KnownBug, known_bugs
from targets.sglang.releases import RELEASES

MOST_EXAMPLES = 300
PARTS = ("find", "reduce", "export", "run it")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--release", default="0.5.23", choices=RELEASES)
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args()
    print(f"machine: {platform.machine()}, {os.cpu_count()} cores, {platform.system()}")
    print(
        f"versions: Python {platform.python_version()}, torch {version('torch')}, sglang {options.release}"
    )
    print(f"{'bug':30}" + "".join(f"{part:>9}" for part in (*PARTS, "in all")))
    totals: list[float] = []
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        runner = ScriptRunner()
        tree = fetch_release(options.release, options.cache)
        target = make_target(f"sglang=={options.release}", cache=options.cache)
        for bug in known_bugs():
            if bug.skipped or options.release not in bug.bad_releases:
                continue
            for seed in range(options.seeds):
                run = _to_a_script(bug, target, seed, runner, tree, Path(folder))
                if run is None:
                    missed += 1
                    continue
                totals.append(sum(run))
                figures = "".join(f"{seconds:9.2f}" for seconds in (*run, sum(run)))
                print(f"{bug.id:30}{figures}", flush=True)
        runner.close()
    print(
        f"seconds to a script that was run and showed the bug: {statistics.median(totals):.2f} in the median of "
        f"{len(totals)}, {max(totals):.2f} at most; {missed} were not found in {MOST_EXAMPLES} examples"
    )
    sys.exit(1 if missed else 0)


def _to_a_script(
    bug: KnownBug, target: Target, seed: int, runner: ScriptRunner, tree: Path, folder: Path
) -> tuple[float, ...] | None:
    """The seconds of each of ``PARTS``; None when the bug was not found or its script did not show it."""
    met: list[tuple[Trace, Finding]] = []

    def explained(session: Session) -> list[Finding]:
        broken = {breach for record in session.records or [] for breach in record.breaches}
        return [found for found in session.findings if bug.explains(found, broken)]

    def look_at(trace: Trace, session: Session) -> None:
        met.extend((trace_until(trace, found), found) for found in explained(session)[:1])

    start = perf_counter()
    explore(
        [target],
        family_of(bug),
        callers="legal" if bug.callers == "legal" else "hostile",
        level=bug.level,
        examples=MOST_EXAMPLES,
        seed=seed,
        on_example=look_at,
        stop=lambda: bool(met),
    )
    if not met:
        return None
    found = perf_counter()
    short, finding = reduce_bounded(
        *met[0],
        lambda candidate: explained(run_trace(candidate, [target], keep_records=True)),
        hurry=lambda: False,
        alive=lambda: None,
    )
    reduced = perf_counter()
    session = run_trace(short, [target], keep_records=True)
    path = folder / "shows_it.py"
    path.write_text(script_of(short, target, finding, session)[0])
    exported = perf_counter()
    if runner.run(path, argument=tree) is not True:
        return None
    ran = perf_counter()
    return found - start, reduced - found, exported - reduced, ran - exported


if __name__ == "__main__":
    main()
