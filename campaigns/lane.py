"""One target's way through a campaign: which families are still to do, what was found, and what its child's end means.

Guarantees that what a child told is kept however it ended: a death or a stall is a finding on the family that was running, which another
child then goes on with, and findings whose traces were not reduced yet are saved as they were met.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from campaigns.budget import Share
from campaigns.child import Gone
from campaigns.deaths import death_finding
from campaigns.journal import read_journal
from campaigns.known_replay import entry_for
from campaigns.messages import (
    Broken,
    DeathJob,
    Discovered,
    Event,
    FamilyEnded,
    Job,
    KnownEntry,
    KnownMet,
    KnownReplayed,
    Progressed,
    Reduced,
    Refused,
    Started,
    Tally,
    Where,
)
from campaigns.saving import Saver
from campaigns.shortening import trace_until
from campaigns.verdict import KnownVerdict, TargetVerdict
from oracle.finding import signature
from oracle.geometry import Family, Geometry
from oracle.trace import Trace

NOT_REDUCED = "its process ended before the trace was reduced"


class Lane:
    """The lane of one target, which has a share of the budget for each family.

    ``to_do`` are the families that have not been run, the running one included.
    """

    def __init__(
        self,
        verdict: TargetVerdict,
        shares: dict[Family, Share],
        saver: Saver,
        known: tuple[KnownEntry, ...] = (),
    ) -> None:
        self.verdict = verdict
        self.known = known
        """Findings that are accepted on this target."""
        self.to_do = tuple(shares)
        self.is_running = False
        """The target was made and its child is at work."""
        self.hangs = False
        """The child was ended because it said nothing for too long."""
        self.was_ended = False
        """The child was ended because the person asked for it."""
        self.deaths: list[Reduced] = []
        """Deaths whose traces another child should make short."""
        self.attempt = 0
        """How many children have died of the families to do."""
        self._shares = dict(shares)
        self._deaths_of: dict[Family, int] = {}
        self._again: list[Family] = []
        self._before: dict[Family, Tally] = {}
        self._known_deaths: set[tuple[str, ...]] = set()
        self._saver = saver
        self._met: list[Discovered] = []

    def hear(self, job: Job, event: Event) -> None:
        """Take in what the child says."""
        if isinstance(job, DeathJob) and not isinstance(event, Reduced):
            if isinstance(event, Broken):
                remark = f"{NOT_REDUCED}: {event.sentence}"
                self.deaths = [msgspec.structs.replace(one, remark=remark) for one in self.deaths]
            return
        if isinstance(event, Started):
            self.is_running = True
            self.verdict.versions = event.versions
            self.verdict.notes = event.notes
            self.to_do = event.families
            for family in event.families:
                self.verdict.family(family)
        elif isinstance(event, Progressed | FamilyEnded):
            before = self._before.get(event.family, Tally())
            self.verdict.family(event.family).tally = before.plus(event.tally)
            if isinstance(event, FamilyEnded):
                self.to_do = tuple(family for family in self.to_do if family != event.family)
                self._met.clear()
        elif isinstance(event, KnownReplayed):
            self.verdict.known.append(KnownVerdict(event.id, event.state))
        elif isinstance(event, KnownMet):
            self._count_known(event.id)
        elif isinstance(event, Discovered):
            self._met.append(event)
        elif isinstance(event, Reduced):
            self._met = [met for met in self._met if met.finding.cause != event.finding.cause]
            self.deaths = [] if isinstance(job, DeathJob) else self.deaths
            self._save(job.where, event)
        elif isinstance(event, Refused | Broken):
            self.verdict.problem = problem_of(event)

    def child_is_gone(self, job: Job, gone: Gone) -> None:
        """Take in the child's end; afterwards ``to_do`` and ``deaths`` hold what another child should do."""
        if isinstance(job, DeathJob):
            self.save_deaths(job.where)
            return
        for met in self._met:
            self._save(job.where, _as_met(met))
        self._met.clear()
        if self.verdict.problem or not gone.how or self.was_ended:
            self.to_do = ()
        elif not self.is_running:
            words = f": {gone.last_words}" if gone.last_words else ""
            self.verdict.problem = f"the process of {self.verdict.target} was ended by {gone.how} while the target was made{words}"
            self.to_do = ()
        else:
            self._keep_death(job, self._death(job, gone))
            self._run_again(self.to_do[0])
            self.to_do = self.to_do[1:]
        self.is_running = self.hangs = False

    def _run_again(self, family: Family) -> None:
        self._before[family] = tally = self.verdict.family(family).tally
        self._deaths_of[family] = deaths = self._deaths_of.get(family, 0) + 1
        if self._shares[family].left(deaths, tally.seconds) is not None:
            self._again.append(family)

    def take_up(self) -> Share:
        """What the families to do get together. When none is left, the next one whose child died is to do."""
        if not self.to_do and self._again:
            self.to_do = (self._again.pop(0),)
            self.attempt = self._deaths_of[self.to_do[0]]
        shares = [self._left_of(family) for family in self.to_do]
        return Share(
            seconds=_sum(share.seconds for share in shares),
            examples=_sum(share.examples for share in shares),
        )

    def _left_of(self, family: Family) -> Share:
        share, spent = self._shares[family], self._before.get(family, Tally()).seconds
        return share.left(self._deaths_of.get(family, 0), spent) or share

    def _keep_death(self, job: Job, death: Reduced) -> None:
        finding = death.finding
        look = (*finding.cause, finding.operation)
        if look in self._known_deaths:
            return
        self._known_deaths.add(look)
        # A stall would stall its reduction too, and on a GPU each candidate would need a process of its own.
        if finding.kind == "hang" or job.where.device != "cpu":
            self._save(job.where, death)
        else:
            self.deaths.append(death)

    def has_job(self) -> bool:
        """Whether another child has something to do."""
        return bool(self.to_do or self.deaths or self._again)

    def save_deaths(self, where: Where) -> None:
        """Save the deaths that are left as they were met."""
        for death in self.deaths:
            self._save(where, death)
        self.deaths.clear()

    def death_job(self, where: Where, *, laws_only: bool) -> DeathJob | None:
        """What a child should do about the next death; None when there is none."""
        if not self.deaths:
            return None
        death = self.deaths[0]
        return DeathJob(where=where, finding=death.finding, trace=death.trace, laws_only=laws_only)

    def _count_known(self, name: str) -> None:
        for entry in self.verdict.known:
            entry.met += entry.id == name

    def _save(self, where: Where, reduced: Reduced) -> None:
        entry = entry_for(self.known, reduced.finding, reduced.signature)
        if entry is not None:
            self._count_known(entry.id)
            return
        findings = self.verdict.family(reduced.finding.family).findings
        if all(known.signature != reduced.signature for known in findings):
            findings.append(self._saver.save(where, reduced))

    def _death(self, job: Job, gone: Gone) -> Reduced:
        family = self.to_do[0]
        trace = read_journal(Path(job.where.journal)) or _nothing(family)
        finding = death_finding(
            self.verdict.target,
            self.verdict.versions,
            family,
            trace,
            gone.how,
            last_words=gone.last_words,
            hangs=self.hangs,
        )
        return Reduced(
            finding=finding,
            trace=trace,
            signature=signature(finding, trace.operations),
            remark=NOT_REDUCED,
        )


Number = TypeVar("Number", int, float)


def _sum(numbers: Iterable[Number | None]) -> Number | None:
    """Their sum; None when they are none."""
    given = [number for number in numbers if number is not None]
    return sum(given[1:], given[0]) if given else None


def _as_met(met: Discovered) -> Reduced:
    trace = trace_until(met.trace, met.finding)
    return Reduced(
        finding=met.finding,
        trace=trace,
        signature=signature(met.finding, trace.operations),
        remark=NOT_REDUCED,
    )


def _nothing(family: Family) -> Trace:
    hybrid = family == "hybrid-swa"
    return Trace(geometry=Geometry(family=family, size=1, size_swa=1 if hybrid else 0))


def problem_of(event: Refused | Broken) -> str:
    """The sentence of a child that could not do its job; the details of a failure go into a file that the sentence names."""
    if isinstance(event, Refused):
        return event.sentence
    with tempfile.NamedTemporaryFile(
        "w", prefix="kvoracle-failure-", suffix=".txt", delete=False
    ) as file:
        file.write(event.details)
    fault = "this is a fault of kvoracle; " if event.ours else ""
    return f"{event.sentence} ({fault}the details are in {file.name})"
