"""Exploration: run a family's machine on targets for a number of examples, and hand over each example as a trace.

Guarantees that the same seed, targets and version give the same operations, whatever the targets answer as long as they
answer the same. Never raises for a finding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import seed as with_seed
from hypothesis.stateful import run_state_machine_as_test

from oracle.geometry import Family, Geometry, Level
from oracle.lockstep import Judging, Session
from oracle.target import Target
from oracle.trace import Callers, Trace
from strategies.machines import AllocatorMachine, OnExample, make_machine, targets_of
from strategies.profiles import generation_settings
from strategies.setting import MachineSetting
from strategies.statistics import ExplorationStatistics

EXAMPLES_A_RUN = 9
"""From the eleventh example of a run on, Hypothesis makes six variants of every example that it draws, all of the same
geometry. Many short runs, each with a seed of its own, give seven times as many geometries and bounded memory. Runs of ten
or more also spend a tenth of their examples on nearly the simplest choices, which differ little from run to run."""


class _StopExploring(BaseException):
    """Leaves Hypothesis in the middle of a run. Not an ``Exception``, which Hypothesis would take for a failure."""


def explore(
    targets: Target | Sequence[Target],
    family: Family,
    *,
    examples: int,
    seed: int,
    callers: Callers = "mixed",
    level: Level = "off",
    debug: bool | None = None,
    steps: int = 50,
    judging: Judging | None = None,
    geometry: Geometry | None = None,
    on_example: OnExample | None = None,
    stop: Callable[[], bool] | None = None,
    statistics: ExplorationStatistics | None = None,
) -> ExplorationStatistics:
    """Run up to ``examples`` examples of up to ``steps`` operations and a drain each.

    ``on_example`` gets every finished example; ``stop`` is asked after each one. ``statistics`` is filled as the exploration
    goes (for whoever wants it when this is interrupted) and returned. Raises ``UsageError`` when a target does not
    have the family or cannot have the geometry.
    """
    statistics = statistics if statistics is not None else ExplorationStatistics()

    def finish(trace: Trace, session: Session) -> None:
        statistics.examples += 1
        if on_example is not None:
            on_example(trace, session)
        if stop is not None and stop():
            raise _StopExploring
        if statistics.examples >= last:
            raise _StopExploring

    last = statistics.examples + examples
    run = 0
    setting = MachineSetting(
        targets=targets_of(targets),
        family=family,
        callers=callers,
        level=level,
        debug=debug,
        judging=judging or Judging(),
        geometry=geometry,
    )
    machine = make_machine(setting, on_example=finish, statistics=statistics)
    try:
        while statistics.examples < last:
            # The first example of every run is the simplest one: once is enough.
            machine.idle_examples = 1 if run else 0
            _run(machine, seed, run, steps)
            run += 1
    except _StopExploring:
        pass
    return statistics


def _run(machine: type[AllocatorMachine], seed: int, run: int, steps: int) -> None:
    # The odd factor keeps the runs of neighbouring seeds apart.
    seeded = with_seed(seed * 0x9E3779B97F4A7C15 + run)(machine)
    run_state_machine_as_test(seeded, settings=generation_settings(EXAMPLES_A_RUN, steps))
