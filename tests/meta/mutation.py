"""How a mutant is killed: traces that an exploration of `eager` gave, replayed on the mutant until a finding says so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from written_family_traces import CLASSES, PAIRS, RING, SLIDING, STATES, TIER
from written_traces import WRITTEN
from written_unified_traces import PAIR, SMALL_THREE, TWO

from oracle.finding import Finding
from oracle.geometry import Family, Geometry, Level
from oracle.lockstep import Judging, run_trace
from oracle.trace import Callers, Trace
from strategies.explore import explore
from targets.eager.target import EagerTarget
from targets.mutants.mutant import Mutant
from targets.mutants.registry import make_mutant

STEPS = 40
LAWS_ONLY = Judging(prediction=False)
_PREDICTION_ONLY = Judging(laws=False)
_NOTHING = Judging(prediction=False, laws=False)

Way = tuple[Callers, Level, bool]
UNIFIED_WAYS: tuple[Way, ...] = (
    ("legal", "off", False),
    ("hostile", "off", False),
    ("hostile", "warn", False),
)
PLAIN_WAYS = UNIFIED_WAYS[:2]
TIER_WAYS: tuple[Way, ...] = (*PLAIN_WAYS, ("legal", "off", True))
WAYS: dict[Family, tuple[Way, ...]] = {
    "token": (("legal", "off", False), ("hostile", "off", False)),
    "paged": (("legal", "off", False), ("hostile", "off", False), ("hostile", "off", True)),
    "hybrid-swa": (
        ("legal", "off", False),
        ("hostile", "off", False),
        ("hostile", "warn", False),
        ("hostile", "strict", False),
        ("hostile", "off", True),
    ),
    "unified-swa": UNIFIED_WAYS,
    "unified-mamba-swa": UNIFIED_WAYS,
    "unified-mamba": UNIFIED_WAYS[:2],
    "mamba-slots": PLAIN_WAYS,
    "pure-swa": PLAIN_WAYS,
    "swa-ring": PLAIN_WAYS,
    "page-interleave": PLAIN_WAYS,
    "hisparse": TIER_WAYS,
    "hisparse-dsv4": TIER_WAYS,
}
"""Callers, level and debug mode of the explorations of each family."""

SMALL = {
    "token": Geometry(family="token", size=8),
    "paged": Geometry(family="paged", size=32, page_size=4),
    "hybrid-swa": Geometry(family="hybrid-swa", size=32, size_swa=32, page_size=4),
    "unified-swa": TWO,
    "unified-mamba-swa": SMALL_THREE,
    "unified-mamba": PAIR,
    "mamba-slots": STATES,
    "pure-swa": SLIDING,
    "swa-ring": RING,
    "page-interleave": CLASSES,
    "hisparse": TIER,
    "hisparse-dsv4": PAIRS,
}
"""The first half of the examples has this geometry: a pool that is used up, and refilled, soon."""

EXAMPLES_A_WAY: dict[Family, int] = {
    "token": 24,
    "paged": 36,
    "hybrid-swa": 12,
    "unified-swa": 36,
    "unified-mamba-swa": 24,
    "unified-mamba": 24,
    "mamba-slots": 24,
    "pure-swa": 48,
    "swa-ring": 24,
    "page-interleave": 24,
    "hisparse": 48,
    "hisparse-dsv4": 60,
}
"""More where an example is cheap."""


class Kill(NamedTuple):
    """The finding that told a mutant from `eager`, and after how many examples (0: in a trace written by hand)."""

    finding: Finding
    examples: int


def explored_traces() -> dict[Family, list[Trace]]:
    """The same traces in every run, the ways taking turns."""
    return {family: _explored(family) for family in WAYS}


def _explored(family: Family) -> list[Trace]:
    columns = []
    for index, (callers, level, debug) in enumerate(WAYS[family]):
        column: list[Trace] = []
        for geometry in (SMALL[family], None):
            explore(
                EagerTarget(),
                family,
                examples=EXAMPLES_A_WAY[family] // 2,
                seed=index,
                callers=callers,
                level=level,
                debug=debug,
                steps=STEPS,
                judging=_NOTHING,
                geometry=geometry,
                on_example=lambda trace, session: column.append(trace),  # noqa: B023
            )
        columns.append(column)
    return [trace for row in zip(*columns, strict=True) for trace in row]


def kill(mutant: Mutant, traces: Iterable[Trace], judging: Judging | None = None) -> Kill | None:
    """The first finding of a kind that the mutant does not share with `eager`."""
    for examples, trace in enumerate(traces, 1):
        finding = _told_apart(mutant, trace, judging)
        if finding is not None:
            return Kill(finding, examples)
    return None


def kill_by_hand(mutant: Mutant, judging: Judging | None = None) -> Kill | None:
    """As `kill`, over the written traces of the mutant's family."""
    written = [trace for trace in WRITTEN.values() if trace.family == mutant.family]
    killed = kill(mutant, written, judging)
    return None if killed is None else killed._replace(examples=0)


def _told_apart(mutant: Mutant, trace: Trace, judging: Judging | None) -> Finding | None:
    # What differs from the prediction is reported before a law is asked; only for a hazard the laws are needed.
    judging = judging or (Judging() if "hazard" in mutant.kinds else _PREDICTION_ONLY)
    found = run_trace(trace, [make_mutant(mutant.name)], judging).findings
    hazards = [finding for finding in found if finding.kind == "hazard"]
    for finding in found:
        if finding.kind != "hazard":
            return finding
    if hazards and "hazard" in mutant.kinds:
        # At level off eager is silently corrupted too: only a hazard that it does not have counts.
        known = {one.cause for one in run_trace(trace, [EagerTarget()], judging).findings}
        return next((finding for finding in hazards if finding.cause not in known), None)
    return None
