"""Rediscovery: which searches show that known bugs are found again, and what their results come to.

Guarantees that every bug is looked for on each of its bad releases with every seed, by the ordinary generator, and that each trace that
was looked at on one of its good releases is checked for false alarms. Runs nothing itself (``campaigns.child_pool`` does).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct, field

from campaigns.messages import Met, Searched, SearchGroup, SearchJob, Where
from oracle.finding import Finding
from oracle.geometry import Family, Level
from targets.sglang.known_bugs import KnownBug, family_of
from targets.sglang.releases import RELEASES


class Plan(Struct, frozen=True, kw_only=True):
    """What is to be done: these bugs on these releases, with so many seeds of so many examples.

    ``least``: how many traces of each seed are looked at where nothing is to be found, for false alarms. ``cache``: of fetched releases.
    """

    bugs: tuple[KnownBug, ...]
    releases: tuple[str, ...]
    seeds: int
    examples: int
    least: int
    cache: str | None = None


class Search(Struct, frozen=True, kw_only=True):
    """What one child does: everything on one release. A group holds the bugs that are bad there, of one family and kind of caller."""

    release: str
    groups: tuple[SearchGroup, ...]
    plan: Plan

    @property
    def bugs(self) -> tuple[str, ...]:
        """The names of the bugs that are to be found there."""
        return tuple(name for group in self.groups for name in group.bugs)

    def job(self, journal: Path) -> SearchJob:
        """What the child is told."""
        return SearchJob(
            where=Where(
                target=f"sglang=={self.release}", cache=self.plan.cache, journal=str(journal)
            ),
            groups=self.groups,
            seeds=tuple(range(self.plan.seeds)),
            examples=self.plan.examples,
            least=self.plan.least,
        )


class Score(Struct, kw_only=True):
    """One bug on one bad release: how often it was met."""

    bug: str
    release: str
    seeds: int = 0
    met: list[Met] = field(default_factory=list)


class Watch(Struct, kw_only=True):
    """One bug on one good release: how many traces were looked at, and findings that look like it all the same."""

    bug: str
    release: str
    traces: int = 0
    alarms: list[Finding] = field(default_factory=list)


class Unexplained(Struct, frozen=True, kw_only=True):
    """A finding, no hazard, that neither a known bug of its release nor the baseline accounts for.

    ``legal``: it was met by callers who keep the contract, so the release is at fault.
    """

    release: str
    legal: bool
    seed: int
    met: Met


class Scoreboard(Struct, kw_only=True):
    """Everything that a rediscovery came to; ``problems`` are sentences on releases that could not be searched."""

    scores: list[Score] = field(default_factory=list)
    watches: list[Watch] = field(default_factory=list)
    unexplained: list[Unexplained] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def is_whole(self) -> bool:
        """Every bug was met with every seed, nothing was a false alarm, and legal callers met nothing that is not explained."""
        return (
            all(len(score.met) == score.seeds for score in self.scores)
            and not any(watch.alarms for watch in self.watches)
            and not any(one.legal for one in self.unexplained)
        )


def searches(plan: Plan) -> list[Search]:
    """The searches of a plan, the releases with most to find first."""
    found = []
    for release in plan.releases:
        groups: dict[tuple[Family, str, Level], list[str]] = {}
        for bug in plan.bugs:
            if release in (*bug.bad_releases, *bug.good_releases):
                names = groups.setdefault((family_of(bug), bug.callers, bug.level), [])
                names += [bug.id] if release in bug.bad_releases else []
        if groups:
            listed = tuple(
                SearchGroup(
                    family=family,
                    callers="legal" if callers == "legal" else "hostile",
                    level=level,
                    bugs=tuple(names),
                )
                for (family, callers, level), names in groups.items()
            )
            found.append(Search(release=release, groups=listed, plan=plan))
    return sorted(found, key=lambda one: (-len(one.bugs), RELEASES.index(one.release)))


class Bookkeeper:
    """Turns what the children say into a scoreboard.

    ``accepted`` says whether the baseline accounts for a finding, and so does any of ``rows`` that is bad on its release.
    """

    def __init__(self, plan: Plan, accepted: Baseline, rows: Sequence[KnownBug]) -> None:
        self._plan = plan
        self._rows = [bug for bug in rows if not bug.skipped]
        self._accepted = accepted
        self.board = Scoreboard()
        self._scores: dict[tuple[str, str], Score] = {}
        self._watches: dict[tuple[str, str], Watch] = {}
        for bug in plan.bugs:
            for release in plan.releases:
                if release in bug.bad_releases:
                    score = Score(bug=bug.id, release=release)
                    self._scores[bug.id, release] = score
                    self.board.scores.append(score)
                elif release in bug.good_releases:
                    watch = Watch(bug=bug.id, release=release)
                    self._watches[bug.id, release] = watch
                    self.board.watches.append(watch)

    def take(self, release: str, done: Searched) -> None:
        """Take in one seed of a group on ``release``."""
        for name in done.group.bugs:
            score = self._scores[name, release]
            score.seeds += 1
            score.met += [met for met in done.findings if met.bug == name]
        raw = [met for met in done.findings if not met.bug]
        for bug in self._plan.bugs:
            watch = self._watches.get((bug.id, release))
            if watch is not None and _drives(done.group, bug):
                watch.traces += done.examples
                watch.alarms += [
                    met.finding for met in raw if bug.explains(met.finding, set(met.broken))
                ]
        for met in raw:
            if met.finding.kind != "hazard" and not self._is_explained(release, met):
                legal = done.group.callers == "legal"
                self.board.unexplained.append(
                    Unexplained(release=release, legal=legal, seed=done.seed, met=met)
                )

    def _is_explained(self, release: str, met: Met) -> bool:
        known = any(
            bug.explains(met.finding, set(met.broken))
            for bug in self._rows
            if release in bug.bad_releases
        )
        return known or self._accepted.accounts_for(f"sglang=={release}", met.finding)


class Baseline:
    """A baseline that accounts for nothing; ``campaigns.known_findings`` has a real one."""

    def accounts_for(self, target: str, finding: Finding) -> bool:
        """Whether ``finding`` on ``target`` is accepted."""
        del target, finding
        return False


def _drives(group: SearchGroup, bug: KnownBug) -> bool:
    return (group.family, group.callers, group.level) == (family_of(bug), bug.callers, bug.level)


def median(values: Iterable[float]) -> float:
    """The middle value, the lower one of two; 0 of none."""
    ordered: Sequence[float] = sorted(values)
    return ordered[(len(ordered) - 1) // 2] if ordered else 0.0
