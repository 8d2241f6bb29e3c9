"""Runs the shares of a run of random traces in processes of their own, each under a sanitizer if one is asked for, and adds up what they say.

Guarantees that a process which ends early, or a sanitizer that saw nothing, is a problem that is told, and that the others still count.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
from corpus_tally import Report

from campaigns.deaths import name_of_end
from campaigns.sanitizer import Sanitizer, find_sanitizer, read_report
from oracle.errors import UsageError


def run_processes(program: Path, options: argparse.Namespace) -> tuple[Report, list[str]]:
    """Run ``program`` with the ``options`` of this run, once for each process. Returns the sum and what went wrong, in sentences.

    Raises ``UsageError`` when there is no sanitizer although one is asked for.
    """
    found = find_sanitizer() if options.sanitizer is not None else ""
    report, problems = Report({}, []), []
    with tempfile.TemporaryDirectory() as name:
        processes = [
            _Process(Path(name), number, program, options, found)
            for number in range(options.processes)
        ]
        for process in processes:
            process.join(report, problems)
    return report, problems


class _Process:
    """The process with one share; it is started at once."""

    def __init__(
        self, folder: Path, number: int, program: Path, options: argparse.Namespace, found: str
    ) -> None:
        self._number = number
        self._report = folder / f"{number}.json"
        self._errors = folder / f"{number}.stderr"
        self._sanitizer = None
        watched: tuple[str, ...] = ()
        if found:
            self._sanitizer = Sanitizer(found, options.sanitizer, str(folder / f"{number}.log"))
            watched = self._sanitizer.command()
        told = [*_told(options), "--number", str(number), "--report", str(self._report)]
        with self._errors.open("wb") as errors:
            self._running = subprocess.Popen(
                [*watched, sys.executable, str(program), *told],
                stderr=errors,
                # Allocators work on tiny tensors: more threads only get into each other's way.
                env={"OMP_NUM_THREADS": "1", **os.environ},
            )

    def join(self, report: Report, problems: list[str]) -> None:
        """Wait for its end and add what it found."""
        code = self._running.wait()
        try:
            report.add(msgspec.json.decode(self._report.read_bytes(), type=Report))
        except (OSError, msgspec.DecodeError):
            said = self._errors.read_text(errors="replace").splitlines()
            last = next((line for line in reversed(said) if line.startswith("trace ")), "no trace")
            end = name_of_end(code) or "an early end"
            words = said[-1] if said else "nothing"
            problems.append(f"process {self._number} was ended by {end} in {last}: {words}")
        if self._sanitizer is not None:
            problems += self._told_by_sanitizer(self._sanitizer)

    def _told_by_sanitizer(self, sanitizer: Sanitizer) -> list[str]:
        where = f"process {self._number}, {sanitizer.tool}"
        try:
            errors = read_report(Path(sanitizer.log))
        except UsageError as nothing:
            return [f"{where}: {nothing}"]
        return [f"{where}: {error.count} times {error.detail}" for error in errors]


def _told(options: argparse.Namespace) -> list[str]:
    """The options that a process is given: those of the run, with the moment of its end for its seconds."""
    told: list[str] = []
    for name in (
        *("device", "page_sizes", "callers", "processes", "traces"),
        *("calls", "end", "first", "sanitizer"),
    ):
        value = getattr(options, name)
        if value is not None:
            values = value if isinstance(value, list) else [value]
            told += [f"--{name.replace('_', '-')}", *map(str, values)]
    return told
