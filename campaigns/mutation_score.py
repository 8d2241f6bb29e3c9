"""The mutation score: which faults put into our own allocators are found, by what, and after how many random traces.

Guarantees that equal options give equal scores. A mutant counts as killed by any finding, hazards left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from hypothesis.errors import Flaky
from msgspec import Struct

from campaigns.budget import STEPS_AN_EXAMPLE, seed_of
from oracle.finding import Finding
from oracle.geometry import Level
from oracle.lockstep import Judging, Session
from oracle.trace import Trace
from strategies.explore import explore
from targets.mutants.mutant import Mutant
from targets.mutants.registry import make_mutant

ROUND = 20
LEVELS_IN_TURN: tuple[Level, ...] = ("off", "warn", "off", "strict")
"""Each round of examples has one level: what an invariant says is told at warn and strict, what it hides at off."""


class Kill(Struct, frozen=True, kw_only=True):
    """One mutant: its first finding and the number of the trace that showed it, or None after ``examples`` traces."""

    mutant: str
    examples: int
    finding: Finding | None = None
    equivalent: str = ""

    @property
    def survives(self) -> bool:
        """Whether it should have been found and was not."""
        return self.finding is None and not self.equivalent


def attack(mutant: Mutant, *, examples: int, seed: int, laws_only: bool = False) -> Kill:
    """Look at up to ``examples`` random traces of the mutant's family until one has a finding.

    Callers are mixed, debug mode is on now and then, and the levels take turns.
    """
    target = make_mutant(mutant.name)
    found: list[Finding] = []
    count = 0

    def look_at(_trace: Trace, session: Session) -> None:
        nonlocal count
        count += 1
        found.extend(one for one in session.findings if one.kind != "hazard")

    turn = 0
    # A target that answers differently the second time ends its round without an example.
    while count < examples and not found and turn < examples:
        with suppress(Flaky):
            explore(
                [target],
                mutant.family,
                examples=min(ROUND, examples - count),
                steps=STEPS_AN_EXAMPLE,
                seed=seed_of(seed, (mutant.name, turn)),
                level=LEVELS_IN_TURN[turn % len(LEVELS_IN_TURN)],
                judging=Judging(prediction=not laws_only),
                on_example=look_at,
                stop=lambda: bool(found),
            )
        turn += 1
    return Kill(
        mutant=mutant.name,
        examples=count,
        finding=found[0] if found else None,
        equivalent=mutant.equivalent,
    )


def score_table(kills: Sequence[Kill]) -> list[str]:
    """A line for each mutant, and the score in one sentence."""
    width = max((len(kill.mutant) for kill in kills), default=0)
    lines = [f"{kill.mutant:{width}}  {_fate(kill)}" for kill in kills]
    counted = [kill for kill in kills if not kill.equivalent]
    killed = sum(kill.finding is not None for kill in counted)
    share = f"{killed / len(counted):.0%}" if counted else "none to kill"
    equivalent = len(kills) - len(counted)
    also = f"; {equivalent} more are equivalent" if equivalent else ""
    return [*lines, "", f"{killed} of {len(counted)} mutants were killed ({share}){also}."]


def _fate(kill: Kill) -> str:
    if kill.finding is not None:
        what = f"{kill.finding.kind} {kill.finding.quantity}"
        word = "killed" if not kill.equivalent else "KILLED, though it is called equivalent,"
        after = f"{kill.examples} example" + ("s" if kill.examples > 1 else "")
        return f"{word} by {what} after {after}"
    if kill.equivalent:
        return f"equivalent: {kill.equivalent}"
    return f"SURVIVES {kill.examples} examples"
