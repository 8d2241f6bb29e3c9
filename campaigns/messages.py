"""What a campaign's main process and its children tell each other, one JSON line each.

Guarantees that every message survives the way through a pipe. A job goes to a child, events come back.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct

from oracle.finding import Finding
from oracle.finding_pattern import FindingPattern, matches_any
from oracle.geometry import Family, Geometry, Level
from oracle.quoting import encodable
from oracle.trace import Callers, Trace
from strategies.serving.workload import Workload


class Where(Struct, frozen=True, kw_only=True):
    """What a child puts under test: a target's specification, its device, and the cache of fetched releases.

    ``journal`` is the file into which the child writes each operation before it runs it.
    """

    target: str
    device: str = "cpu"
    cache: str | None = None
    journal: str


KnownState = Literal["known", "expired", "stale"]
"""A known finding still holds; it does and its day has come; it does not hold any more."""


class KnownEntry(Struct, frozen=True, kw_only=True):
    """An entry of the file of known findings as a child needs it: by which findings it is told, and a trace that shows one."""

    id: str
    looks: tuple[FindingPattern, ...]
    signatures: tuple[str, ...]
    trace: Trace
    expired: bool = False

    @property
    def ends_process(self) -> bool:
        """Whether it is about a process that ends, so that its trace must not be run beside anything else."""
        quantities = [quantity for look in self.looks for quantity in look.quantity]
        return any(quantity.startswith("process") for quantity in quantities)

    def accepts(self, finding: Finding, name: str = "") -> bool:
        """Whether ``finding``, with the signature ``name`` where it was reduced, is the one that is known."""
        return matches_any(finding, self.looks) or name in self.signatures


class FuzzJob(Struct, frozen=True, kw_only=True, tag="fuzz"):
    """Fuzz one target on ``families``, for ``seconds`` or ``examples`` in all, shared evenly (exactly one is given).

    ``asked``: the person named the families, so that one which the target does not have is an error. ``debug`` None: the
    memory-pool debug mode is drawn for each example. ``known``: accepted findings, which are counted and not reduced;
    ``replays_known``: their traces are run first. ``attempt``: how many children have died of these families before, so that
    other traces are drawn. ``metamorphic``: relations between two runs are judged too. ``costs``: probes look at
    what each call costs.
    """

    where: Where
    families: tuple[Family, ...]
    asked: bool
    callers: Callers
    level: Level
    debug: bool | None
    laws_only: bool
    seed: int
    seconds: float | None = None
    examples: int | None = None
    known: tuple[KnownEntry, ...] = ()
    replays_known: bool = False
    attempt: int = 0
    metamorphic: bool = False
    costs: bool = False


class Day(Struct, frozen=True, kw_only=True):
    """A day of simulated traffic: what it is served from, what it is like, and where its randomness starts."""

    geometry: Geometry
    workload: Workload
    seed: int


class SimulateJob(Struct, frozen=True, kw_only=True, tag="simulate"):
    """Serve ``days`` from one target, each from a new allocator. ``known`` and ``replays_known``: as in ``FuzzJob``."""

    where: Where
    days: tuple[Day, ...]
    level: Level
    laws_only: bool
    known: tuple[KnownEntry, ...] = ()
    replays_known: bool = False


class ReplayJob(Struct, frozen=True, kw_only=True, tag="replay"):
    """Run one trace on one target. ``sanitized``: something outside watches the memory, so no guards of ours hide it.

    ``costs``: probes look at what each call costs.
    """

    where: Where
    trace: Trace
    laws_only: bool
    sanitized: bool = False
    costs: bool = False


ExportFormat = Literal["script", "pytest", "markdown"]
"""A program, a test, or a bug report with the program in it."""

EXPORT_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)


class ExportJob(Struct, frozen=True, kw_only=True, tag="export"):
    """Make a program of one trace on one target; ``file_name`` is what the text tells people to run, "" for its own choice."""

    where: Where
    trace: Trace
    form: ExportFormat
    file_name: str


class DeathJob(Struct, frozen=True, kw_only=True, tag="death"):
    """Make the trace short that ended a process; ``finding`` is its death."""

    where: Where
    finding: Finding
    trace: Trace
    laws_only: bool


class SearchGroup(Struct, frozen=True, kw_only=True):
    """The known ``bugs`` (their names) that are looked for among the same random traces; there may be none."""

    family: Family
    callers: Callers
    level: Level
    bugs: tuple[str, ...]


class SearchJob(Struct, frozen=True, kw_only=True, tag="search"):
    """Look for known bugs, group by group, among up to ``examples`` random traces of each of the ``seeds``.

    At least ``least`` traces of each seed are looked at, also when every bug was met before.
    """

    where: Where
    groups: tuple[SearchGroup, ...]
    seeds: tuple[int, ...]
    examples: int
    least: int


Job = FuzzJob | SimulateJob | ReplayJob | ExportJob | DeathJob | SearchJob


class Tally(Struct, kw_only=True):
    """How much a family's campaign did so far. Times are in seconds, of exploring only (not of reducing).

    ``steps`` counts judged calls, ``target_seconds`` is the time inside the target, ``seconds`` all of it.
    """

    traces: int = 0
    steps: int = 0
    target_seconds: float = 0.0
    seconds: float = 0.0

    def plus(self, later: Tally) -> Tally:
        """Both together."""
        return Tally(
            traces=self.traces + later.traces,
            steps=self.steps + later.steps,
            target_seconds=self.target_seconds + later.target_seconds,
            seconds=self.seconds + later.seconds,
        )


class Started(Struct, frozen=True, tag="started"):
    """The target was made; ``families`` are those that will run, ``notes`` what it assumes, for a person to read."""

    versions: dict[str, str]
    families: tuple[Family, ...]
    notes: tuple[str, ...] = ()


class Progressed(Struct, frozen=True, tag="progressed"):
    """A sign of life, and how far the family is."""

    family: Family
    tally: Tally


class Discovered(Struct, frozen=True, tag="discovered"):
    """A finding as it was met, before anything else is done with its trace."""

    finding: Finding
    trace: Trace


class Reduced(Struct, frozen=True, kw_only=True, tag="reduced"):
    """A finding whose trace was made short; it takes the place of the discovered ones with the same cause.

    ``signature`` deduplicates it; ``calls`` are the reduced trace's calls in the allocator's own terms, ``script`` is the source of
    the program that shows it ("" when none could be made). ``remark`` says why the
    trace was not reduced, "" when it was.
    """

    finding: Finding
    trace: Trace
    signature: str
    calls: tuple[str, ...] = ()
    script: str = ""
    remark: str = ""


class KnownReplayed(Struct, frozen=True, tag="known-replayed"):
    """Whether the trace of a known finding still shows it."""

    id: str
    state: KnownState


class KnownMet(Struct, frozen=True, tag="known-met"):
    """A random trace showed a known finding."""

    id: str


class FamilyEnded(Struct, frozen=True, tag="family-ended"):
    """The family's campaign is over."""

    family: Family
    tally: Tally


class Replayed(Struct, frozen=True, tag="replayed"):
    """One operation of a replayed trace: its place, its kind, and one line for each call that it made."""

    index: int
    operation: str
    status: str
    lines: tuple[str, ...] = ()


class Exported(Struct, frozen=True, tag="exported"):
    """The text of the program that was asked for."""

    text: str


class Met(Struct, frozen=True, kw_only=True):
    """A finding of a search: the reduced one of a known ``bug``, or ("") any, as it was met, after the caller broke ``broken``.

    ``example``: the number of the trace in which it was met, ``seconds`` how long that took, reductions left out, and
    ``reducing_seconds`` what its own reduction took.
    """

    bug: str
    finding: Finding
    trace: Trace
    broken: tuple[str, ...] = ()
    example: int = 0
    seconds: float = 0.0
    reducing_seconds: float = 0.0


class Searched(Struct, kw_only=True, tag="searched"):
    """One seed of a group is done: how many traces it took, in how many processor seconds, and what they showed."""

    group: SearchGroup
    seed: int
    examples: int = 0
    seconds: float = 0.0
    findings: list[Met] = msgspec.field(default_factory=list)


class Refused(Struct, frozen=True, tag="refused"):
    """What was asked for cannot be had: one sentence."""

    sentence: str


class Broken(Struct, frozen=True, tag="broken"):
    """kvoracle itself failed in the child, or (not ``ours``) a target of another package did: one sentence, and the traceback for whoever mends it."""

    sentence: str
    details: str
    ours: bool = True


class Ended(Struct, frozen=True, tag="ended"):
    """The child did everything that it was asked to do."""


Event = (
    Started
    | Progressed
    | Discovered
    | Reduced
    | KnownReplayed
    | KnownMet
    | FamilyEnded
    | Replayed
    | Exported
    | Searched
    | Refused
    | Broken
    | Ended
)

# Versions come as subclasses of str, which only this hook encodes.
_ENCODER = msgspec.json.Encoder(enc_hook=str)
_JOBS: msgspec.json.Decoder[Job] = msgspec.json.Decoder(Job)
_EVENTS: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def encode_line(message: Job | Event) -> bytes:
    """The message as one line, with its newline. Text that no encoding has is spelt out, whoever said it."""
    try:
        return _ENCODER.encode(message) + b"\n"
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(message, enc_hook=str)
        return _ENCODER.encode(_encodable(plain)) + b"\n"


def _encodable(plain: Any) -> Any:
    """Values of lists, dictionaries and scalars, with every text in them fit to be encoded."""
    if isinstance(plain, str):
        return encodable(plain)
    if isinstance(plain, dict):
        return {_encodable(key): _encodable(value) for key, value in plain.items()}
    if isinstance(plain, list | tuple):
        return [_encodable(value) for value in plain]
    return plain


def decode_job(line: bytes) -> Job:
    """Read a job. Raises ``msgspec.MsgspecError`` when it is none."""
    return _JOBS.decode(line)


def decode_event(line: bytes) -> Event:
    """Read an event. Raises ``msgspec.MsgspecError`` when it is none."""
    return _EVENTS.decode(line)
