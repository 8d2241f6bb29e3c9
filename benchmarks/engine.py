"""What a step costs: a bare Hypothesis machine against ours on ``eager``, and where our time goes.

The bare machine has the same rules, argument strategies, preconditions and settings as ours, and bodies that do nothing.
Both run with the same seeds, turn and turn about, so that a busy machine slows both. A step is one rule that Hypothesis
ran; what ours does besides (first rows, upkeep, the drain) is part of the cost of the steps. Prints measurements of this
run on this machine only; compares nothing with numbers from anywhere else.

    python benchmarks/engine.py [--examples N] [--steps N] [--rounds N] [--callers legal|hostile|mixed]
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

import checkout  # noqa: F401 (finds the packages of this checkout, before they are imported)
from hypothesis import seed as with_seed
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from oracle.geometry import Family, Geometry, Mode
from oracle.lockstep import Session
from oracle.operations import Base
from oracle.trace import CALLERS, Callers, Trace
from strategies.machines import AllocatorMachine, OnExample, make_machine
from strategies.profiles import generation_settings
from strategies.setting import MachineSetting
from targets.eager.target import EagerTarget

FAMILIES: tuple[Family, ...] = ("token", "paged", "hybrid-swa")
MOST_TIMES_THE_BARE_MACHINE = 3.0
PARTS = ("target", "prediction", "laws", "comparison")


class TimedTarget(EagerTarget):
    """``eager``, which also says how long its resets took (the judge times calls and snapshots)."""

    reset_seconds = 0.0

    def reset(self, geometry: Geometry, mode: Mode) -> None:
        """As ``eager``, timed."""
        start = perf_counter()
        super().reset(geometry, mode)
        self.reset_seconds += perf_counter() - start


@dataclass
class Cost:
    """What one run took: the whole time, the steps that were drawn, and the seconds in each of ``PARTS``."""

    seconds: float = 0.0
    steps: int = 0
    parts: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))

    def microseconds(self, part: str | None = None) -> float:
        """Microseconds a step, in all or in one part."""
        return (self.seconds if part is None else self.parts[part]) * 1e6 / self.steps


def our_machine(
    family: Family, callers: Callers, target: EagerTarget, on_example: OnExample | None = None
) -> type[AllocatorMachine]:
    """The machine that campaigns run, on ``target``, prediction and laws on."""
    setting = MachineSetting(targets=(target,), family=family, callers=callers)
    return make_machine(setting, on_example=on_example)


def run_bare(family: Family, callers: Callers, seed: int, examples: int, steps: int) -> Cost:
    """One run of the bare machine: ours with its bodies taken out."""
    cost = Cost()

    def nothing(*_: Any, **__: Any) -> None:
        return

    def count(self: AllocatorMachine, operation: Base) -> None:
        cost.steps += 1
        # Some of the preconditions go by how many operations there were.
        self.operations.append(operation)

    bodies = {"start_session": nothing, "perform": count, "teardown": nothing}
    bare = type("bare", (our_machine(family, callers, EagerTarget()),), bodies)
    cost.seconds = _run(bare, seed, examples, steps)
    return cost


def run_ours(family: Family, callers: Callers, seed: int, examples: int, steps: int) -> Cost:
    """One run of our machine on ``eager``."""
    target, cost = TimedTarget(), Cost()

    def add(_: Trace, session: Session) -> None:
        for part in PARTS:
            cost.parts[part] += getattr(session.seconds, part)

    def count(self: AllocatorMachine, operation: Base) -> None:
        cost.steps += 1
        machine.perform(self, operation)

    machine = our_machine(family, callers, target, add)
    cost.seconds = _run(type("ours", (machine,), {"perform": count}), seed, examples, steps)
    cost.parts["target"] += target.reset_seconds
    return cost


def _run(machine: type[RuleBasedStateMachine], seed: int, examples: int, steps: int) -> float:
    seeded = with_seed(seed)(machine)
    start = perf_counter()
    run_state_machine_as_test(seeded, settings=generation_settings(examples, steps))
    return perf_counter() - start


def measure(family: Family, options: argparse.Namespace) -> tuple[Cost, Cost]:
    """The median run (by microseconds a step) of the bare machine and of ours."""
    run_bare(family, options.callers, 0, 5, options.steps)
    run_ours(family, options.callers, 0, 5, options.steps)
    bare, ours = [], []
    for seed in range(1, options.rounds + 1):
        bare.append(run_bare(family, options.callers, seed, options.examples, options.steps))
        ours.append(run_ours(family, options.callers, seed, options.examples, options.steps))
    return _median(bare), _median(ours)


def _median(costs: list[Cost]) -> Cost:
    middle = statistics.median_low([cost.microseconds() for cost in costs])
    return next(cost for cost in costs if cost.microseconds() == middle)


def report(family: str, bare: Cost, ours: Cost) -> float:
    """Print one family's line; return how many times the bare machine our own time is."""
    parts = [ours.microseconds(part) for part in PARTS]
    rest = ours.microseconds() - sum(parts)
    own = ours.microseconds() - ours.microseconds("target")
    ratio = own / bare.microseconds()
    columns = [bare.microseconds(), ours.microseconds(), *parts, rest, own]
    print(f"{family:12}" + "".join(f"{column:12.0f}" for column in columns) + f"{ratio:8.2f}")
    return ratio


def print_machine(options: argparse.Namespace) -> None:
    """Print what this was measured on, and how."""
    packages = ("hypothesis", "msgspec", "torch")
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    print(f"machine: {_processor()}, {os.cpu_count()} cores, {platform.system()}")
    print(f"versions: Python {platform.python_version()}, {versions}")
    print(
        f"{options.callers} callers; {options.examples} examples of {options.steps} steps a run; "
        f"the median of {options.rounds} runs; microseconds a step"
    )


def _processor() -> str:
    description = Path("/proc/cpuinfo")
    if description.exists():
        for line in description.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of 1 or more")
    return int(text)


def main() -> None:
    """Measure each family and print the table."""
    parser = argparse.ArgumentParser(description="What a step costs, and where the time goes.")
    parser.add_argument("--examples", type=_at_least_one, default=100)
    parser.add_argument("--steps", type=_at_least_one, default=50)
    parser.add_argument("--rounds", type=_at_least_one, default=5)
    parser.add_argument("--callers", choices=CALLERS, default="legal")
    options = parser.parse_args()
    print_machine(options)
    titles = ("bare", "ours", *PARTS, "rest", "not target")
    print(f"{'family':12}" + "".join(f"{title:>12}" for title in titles) + f"{'ratio':>8}")
    ratios = [report(family, *measure(family, options)) for family in FAMILIES]
    verdict = "met" if max(ratios) <= MOST_TIMES_THE_BARE_MACHINE else "MISSED"
    print(
        f"ratio: all that is not the target / the bare machine; at most "
        f"{MOST_TIMES_THE_BARE_MACHINE:.0f} is wanted: {verdict} (largest {max(ratios):.2f})"
    )


if __name__ == "__main__":
    main()
