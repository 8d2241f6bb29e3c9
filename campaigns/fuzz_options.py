"""What a person asked of ``kvoracle fuzz``, checked.

Guarantees that a ``FuzzOptions`` from ``checked_options`` makes sense as far as that can be known without making a target.
"""

from __future__ import annotations

import math
import os
import shlex
from pathlib import Path

from msgspec import Struct

from campaigns.budget import SECONDS_BY_DEFAULT, Share, share_examples, share_seconds
from campaigns.known_findings import KnownFile, known_on
from campaigns.messages import FuzzJob, KnownEntry, Where
from oracle.errors import UsageError
from oracle.geometry import Family, Level
from oracle.trace import Callers


class FuzzOptions(Struct, frozen=True, kw_only=True):
    """One campaign. Exactly one of ``seconds`` and ``examples`` is given; ``asked`` says that the person named the families.

    ``debug`` None: the memory-pool debug mode is drawn for each example.
    """

    targets: list[str]
    families: tuple[Family, ...]
    asked: bool
    callers: Callers
    level: Level
    debug: bool | None
    laws_only: bool
    seconds: float | None
    examples: int | None
    seed: int
    device: str
    out: Path
    cache: Path | None
    fail_on_hazard: bool
    known: KnownFile | None = None
    metamorphic: bool = False
    costs: bool = False

    @property
    def workers(self) -> int:
        """How many targets run at once: as many as there are cores, one at a time on a GPU."""
        return workers_for(self.targets, self.device)

    @property
    def switches(self) -> list[str]:
        """What the first line of the run says of these options."""
        parts = [f"seed {self.seed}", f"callers {self.callers}", f"level {self.level}"]
        if self.debug is not None:
            parts.append("debug on" if self.debug else "debug off")
        parts += ["laws only"] if self.laws_only else []
        parts += ["metamorphic"] if self.metamorphic else []
        return [*parts, "costs"] if self.costs else parts

    def shares(self) -> list[dict[Family, Share]]:
        """For each target, what each family gets of the budget."""
        targets, families = len(self.targets), len(self.families)
        if self.seconds is not None:
            seconds = share_seconds(self.seconds, targets, self.workers) / families
            return [dict.fromkeys(self.families, Share(seconds=seconds))] * targets
        shares = iter(share_examples(self.examples or 1, targets * families))
        return [
            {family: Share(examples=next(shares)) for family in self.families} for _ in self.targets
        ]

    def job(
        self,
        families: tuple[Family, ...],
        where: Where,
        share: Share,
        *,
        known: tuple[KnownEntry, ...],
        replays_known: bool,
        attempt: int,
    ) -> FuzzJob:
        """What a child does about ``families`` with its share of the budget."""
        return FuzzJob(
            where=where,
            families=families,
            asked=self.asked,
            callers=self.callers,
            level=self.level,
            debug=self.debug,
            laws_only=self.laws_only,
            seed=self.seed,
            known=known,
            replays_known=replays_known,
            attempt=attempt,
            metamorphic=self.metamorphic,
            costs=self.costs,
            seconds=share.seconds,
            examples=share.examples,
        )

    def where(self, target: str, journal: Path) -> Where:
        """Where a child runs ``target``."""
        return where_of(target, self.device, self.cache, journal)

    def known_on(self, target: str) -> tuple[KnownEntry, ...]:
        """The known findings that are accepted, or were, on ``target``."""
        return known_on(self.known, target)

    def origin(self, target: str) -> str:
        """What a saved trace says of where it comes from."""
        switches = f"--callers {self.callers} --level {self.level}"
        if self.debug is not None:
            switches += " --debug" if self.debug else " --no-debug"
        if self.laws_only:
            switches += " --laws-only"
        if self.metamorphic:
            switches += " --metamorphic"
        if self.costs:
            switches += " --costs"
        return f"found by kvoracle fuzz {shlex.quote(target)} {switches} --seed {self.seed}"


def workers_for(targets: list[str], device: str) -> int:
    """How many of ``targets`` run at once: as many as there are cores, one at a time on a GPU."""
    if device != "cpu":
        return 1
    if hasattr(os, "sched_getaffinity"):
        return min(len(targets), len(os.sched_getaffinity(0)))
    return min(len(targets), os.cpu_count() or 1)


def where_of(target: str, device: str, cache: Path | None, journal: Path) -> Where:
    """Where a child runs ``target``."""
    return Where(
        target=target,
        device=device,
        cache=None if cache is None else str(cache),
        journal=str(journal),
    )


def check_budget(seconds: float | None, examples: int | None) -> tuple[float | None, int | None]:
    """The budget, with the default when none is given. Raises ``UsageError`` on one that makes no sense."""
    if seconds is not None and examples is not None:
        raise UsageError("give either --seconds or --examples, not both")
    if seconds is not None and not (seconds > 0 and math.isfinite(seconds)):
        raise UsageError(f"--seconds must be more than 0, not {seconds:g}")
    if examples is not None and examples < 1:
        raise UsageError(f"--examples must be 1 or more, not {examples}")
    if seconds is None and examples is None:
        return SECONDS_BY_DEFAULT, None
    return seconds, examples
