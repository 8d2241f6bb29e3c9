"""What a call on an allocator costs: ours and SGLang releases side by side, as a Markdown table.

Each target runs in a process of its own, one after the other on the same device. A release is taken from ``--cache`` (see
``kvoracle fetch``). Prints measurements of this run on this machine only.

    python benchmarks/allocators.py [--device cuda] [--cache FOLDER] [--targets T ...] [--page-sizes N ...] [--pages N ...]
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import checkout  # noqa: F401 (finds the packages of this checkout, before they are imported)
import torch

TARGETS = ("fused", "eager", "sglang==0.5.19", "sglang==0.5.20", "sglang==0.5.23")
PAGE_SIZES = (1, 16, 64, 128, 256)
PAGES = (1, 8, 64, 1024)
COMPARED = ("free_segment", "alloc_extend")
LAUNCH_LIMIT = 12.6
"""Microseconds that one launch of a kept compiled kernel took when it was measured alone on an H200."""

Key = tuple[str, int, int]
Results = dict[str, dict[Key, dict[str, Any]]]


def run_target(target: str, options: argparse.Namespace) -> tuple[dict[str, str], dict[Key, Any]]:
    """Measure one target in its process: its versions and its figures by call, page size and pages."""
    command = [sys.executable, str(Path(__file__).with_name("allocator_worker.py")), target]
    command += ["--device", options.device, "--rounds", str(options.rounds)]
    command += ["--page-sizes", *map(str, options.page_sizes), "--pages", *map(str, options.pages)]
    if options.cache is not None:
        command += ["--cache", str(options.cache)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"{target} ended with {done.returncode}: {done.stderr[-2000:]}", file=sys.stderr)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return {}, {}
    return lines[0]["versions"], {(f["call"], f["page_size"], f["pages"]): f for f in lines[1:]}


def cell(figures: dict[str, Any] | None) -> str:
    """One measurement: CPU, GPU (``*``: live), launches, syncs."""
    if figures is None:
        return "-"
    gpu = "-" if figures["gpu"] is None else f"{figures['gpu']:.1f}"
    gpu += "*" if figures["gpu_by"] == "live" else ""
    launches = "-" if figures["launches"] is None else figures["launches"]
    return f"{figures['enqueue']:.1f} / {gpu} / {launches} / {figures['syncs']}"


def print_table(results: Results) -> None:
    """Every measurement, a row for each call, a column for each target."""
    keys = list(dict.fromkeys(key for figures in results.values() for key in figures))
    keys.sort()
    print(f"| call | page size | pages | {' | '.join(results)} |")
    print("|---|---|---|" + "---|" * len(results))
    for key in keys:
        cells = " | ".join(cell(figures.get(key)) for figures in results.values())
        print(f"| {key[0]} | {key[1]} | {key[2]} | {cells} |")


def print_comparison(results: Results) -> None:
    """How many times ``fused``'s enqueueing each other target's is, and what ``fused`` needs beside one launch."""
    fused = results.get("fused", {})
    print("\nCPU enqueueing as a multiple of that of `fused`, over all page sizes and pages:\n")
    print("| call | target | least | median | most |\n|---|---|---|---|---|")
    for call in COMPARED:
        for target, figures in results.items():
            ratios = [
                figures[key]["enqueue"] / fused[key]["enqueue"]
                for key in fused
                if key[0] == call and key in figures
            ]
            if target != "fused" and ratios:
                low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
                print(f"| {call} | {target} | {low:.1f} | {middle:.1f} | {high:.1f} |")
    for call in COMPARED:
        taken = [figures["enqueue"] for key, figures in fused.items() if key[0] == call]
        if taken:
            middle = statistics.median(taken)
            print(
                f"\n`fused` {call}: {min(taken):.1f} to {max(taken):.1f} µs, median {middle:.1f}; "
                f"above one launch of a kept kernel ({LAUNCH_LIMIT} µs): {middle - LAUNCH_LIMIT:.1f}."
            )


def print_places(results: Results) -> None:
    """Where each target waits or needs a shape from values, by call."""
    print("\nWhere hosts wait, or shapes depend on values:\n")
    for target, figures in results.items():
        places: dict[str, set[str]] = {}
        for (call, _, _), measured in figures.items():
            places.setdefault(call, set()).update(measured["places"])
        found = "; ".join(
            f"{call}: {', '.join(sorted(seen))}" for call, seen in sorted(places.items()) if seen
        )
        print(f"- {target}: {found or 'nowhere'}")


def print_machine(options: argparse.Namespace, versions: dict[str, dict[str, str]]) -> None:
    """What this was measured on, and what the columns hold."""
    on_gpu = options.device.startswith("cuda")
    device = torch.cuda.get_device_name() if on_gpu else platform.processor() or platform.machine()
    print(f"- device: {device}; driver: {_driver() if on_gpu else 'none'}")
    print(f"- Python {platform.python_version()}, torch {torch.__version__}, triton {_triton()}")
    for target, of_target in versions.items():
        print(f"- {target}: " + ", ".join(f"{name} {value}" for name, value in of_target.items()))
    print(
        f"- each cell: CPU time to enqueue in µs (median of {options.rounds}) / GPU interval in µs (median; of a "
        "replayed graph of the call, or, marked *, of the call itself between two events; the L2 is overwritten "
        "before the first event) / kernels launched / host syncs and shapes that depend on values"
    )
    print("- without a segment form, a release's free_swa or free was called\n")


def _driver() -> str:
    query = shutil.which("nvidia-smi")
    if query is None:
        return "unknown"
    asked = [query, "--query-gpu=driver_version", "--format=csv,noheader"]
    return subprocess.run(asked, capture_output=True, text=True).stdout.split("\n")[0] or "unknown"


def _triton() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("triton")
    except PackageNotFoundError:
        return "none"


def main() -> None:
    """Measure every target and print the tables."""
    parser = argparse.ArgumentParser(description="What a call on an allocator costs.")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--targets", nargs="+", default=TARGETS)
    parser.add_argument("--page-sizes", type=int, nargs="+", default=PAGE_SIZES)
    parser.add_argument("--pages", type=int, nargs="+", default=PAGES)
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    measured = {target: run_target(target, options) for target in options.targets}
    print_machine(options, {target: versions for target, (versions, _) in measured.items()})
    results = {target: figures for target, (_, figures) in measured.items()}
    print_table(results)
    print_comparison(results)
    print_places(results)
    if not all(results.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
