"""What a person asked of ``kvoracle simulate``, checked."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from campaigns.budget import Share, seed_of
from campaigns.fuzz_options import where_of, workers_for
from campaigns.known_findings import KnownFile, known_on
from campaigns.messages import Day, KnownEntry, SimulateJob, Where
from oracle.geometry import Family, Level
from strategies.serving.workload import Workload, serving_geometry

PAGE_SIZES = (1, 64, 256)


class SimulateOptions(Struct, frozen=True, kw_only=True):
    """One campaign of simulated days: one for each family, page size and way of caching.

    ``page_sizes`` None: the usual ones, of the token family 1 alone. ``sharing`` None: with and without it. ``size`` and
    ``size_swa`` None: what keeps the day's allocator short.
    """

    targets: list[str]
    families: tuple[Family, ...]
    page_sizes: tuple[int, ...] | None
    sharing: bool | None
    requests: int
    size: int | None
    size_swa: int | None
    need_sort: bool
    optimistic: bool
    level: Level
    laws_only: bool
    seed: int
    device: str
    out: Path
    cache: Path | None
    fail_on_hazard: bool = False
    known: KnownFile | None = None

    @property
    def workers(self) -> int:
        """How many targets run at once."""
        return workers_for(self.targets, self.device)

    @property
    def switches(self) -> list[str]:
        """What the first line of the run says of these options."""
        parts = [f"seed {self.seed}", f"requests {self.requests}", f"level {self.level}"]
        if self.need_sort:
            parts.append("need_sort")
        if self.optimistic:
            parts.append("optimistic")
        return [*parts, "laws only"] if self.laws_only else parts

    def days(self, attempt: int = 0) -> Iterator[Day]:
        """Every day that is to be served, another one for each ``attempt``. Raises ``UsageError`` when no allocator of these sizes can exist."""
        for family in self.families:
            usual = (1,) if family == "token" else PAGE_SIZES
            for page_size in usual if self.page_sizes is None else self.page_sizes:
                geometry = serving_geometry(
                    family,
                    page_size,
                    size=self.size,
                    size_swa=self.size_swa,
                    need_sort=self.need_sort,
                )
                for sharing in (True, False) if self.sharing is None else (self.sharing,):
                    yield Day(
                        geometry=geometry,
                        workload=Workload(
                            requests=self.requests, sharing=sharing, optimistic=self.optimistic
                        ),
                        seed=seed_of(
                            self.seed,
                            (family, page_size, sharing, *([attempt] if attempt else [])),
                        ),
                    )

    def where(self, target: str, journal: Path) -> Where:
        """Where a child runs ``target``."""
        return where_of(target, self.device, self.cache, journal)

    def known_on(self, target: str) -> tuple[KnownEntry, ...]:
        """The known findings that are accepted, or were, on ``target``."""
        return known_on(self.known, target)

    def origin(self, target: str) -> str:
        """What a saved trace says of where it comes from."""
        switches = f"--requests {self.requests} --level {self.level}"
        if self.need_sort:
            switches += " --need-sort"
        if self.optimistic:
            switches += " --optimistic"
        if self.laws_only:
            switches += " --laws-only"
        return f"found by kvoracle simulate {shlex.quote(target)} {switches} --seed {self.seed}"

    def shares(self) -> list[dict[Family, Share]]:
        """All days of a family for every target."""
        days = [day.geometry.family for day in self.days()]
        return [
            {family: Share(examples=days.count(family)) for family in self.families}
            for _ in self.targets
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
    ) -> SimulateJob:
        """What a child does about ``families``: all of their days, fewer and other ones after one was its death."""
        days = [day for day in self.days(attempt) if day.geometry.family in families]
        return SimulateJob(
            where=where,
            days=tuple(days[: share.examples]),
            level=self.level,
            laws_only=self.laws_only,
            known=known,
            replays_known=replays_known,
        )
