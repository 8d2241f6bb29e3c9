"""The file of known findings (``--known``): what is accepted on which targets, why, where it is discussed, and until when.

Guarantees that an entry read from a file is whole: it has a reason, an expiry, a trace that shows the finding, and a look or a signature by
which the finding is told. Judges nothing (``campaigns.known_replay`` does).
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec
from msgspec import Struct

from campaigns.messages import KnownEntry
from campaigns.rediscovery import Baseline
from oracle.errors import UsageError
from oracle.finding import Finding
from oracle.finding_pattern import FindingPattern, matches_any
from oracle.trace import Trace, decode_trace, read_trace
from targets.sglang.release_range import releases_in


class KnownFinding(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One entry, a table ``[[known]]`` of the file.

    ``targets``: specifications, where ``sglang==A..B`` is a range of releases and ``*`` stands for anything (``sglang@*``).
    ``looks``: by which the finding is told as it is met, so that it is not reduced. ``signatures``: by which it is told once it is
    reduced, which is exact and slower. ``trace``: a file, relative to this one, or the JSON of a trace itself; it is replayed in every run, and an entry
    whose trace does not show the finding any more is stale. ``expires``: from that day on it counts as a finding again.
    """

    id: str
    targets: tuple[str, ...]
    reason: str
    link: str
    expires: datetime.date
    trace: str
    looks: tuple[FindingPattern, ...] = ()
    signatures: tuple[str, ...] = ()

    def is_for(self, target: str) -> bool:
        """Whether the entry speaks of ``target``."""
        return any(_names(pattern, target) for pattern in self.targets)

    def is_expired(self, today: datetime.date | None = None) -> bool:
        """Whether its day has come."""
        return (today or datetime.date.today()) >= self.expires

    def shows(self, finding: Finding, signature: str = "") -> bool:
        """Whether ``finding``, with that signature where it was reduced, is the one that this entry accepts."""
        return matches_any(finding, self.looks) or signature in self.signatures


class KnownFile(Struct, frozen=True):
    """The entries of a file, with the trace of each and the comment lines that the file begins with."""

    path: Path
    entries: tuple[KnownFinding, ...]
    traces: tuple[Trace, ...]
    comment: tuple[str, ...] = ()

    def entries_for(self, target: str) -> tuple[KnownEntry, ...]:
        """The entries that speak of ``target``, as its child needs them; expired ones say so."""
        return tuple(
            KnownEntry(
                id=entry.id,
                looks=entry.looks,
                signatures=entry.signatures,
                trace=trace,
                expired=entry.is_expired(),
            )
            for entry, trace in zip(self.entries, self.traces, strict=True)
            if entry.is_for(target)
        )


def known_on(file: KnownFile | None, target: str) -> tuple[KnownEntry, ...]:
    """The entries of ``file`` that speak of ``target``; none without a file."""
    return () if file is None else file.entries_for(target)


_PLACEHOLDERS = frozenset("*?[")


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    known: tuple[KnownFinding, ...] = ()


class KnownFindings(Baseline):
    """A file's entries as the baseline of something that runs no campaign: those that have not expired count."""

    def __init__(self, file: KnownFile) -> None:
        self._entries: Sequence[KnownFinding] = [
            entry for entry in file.entries if not entry.is_expired()
        ]

    def accounts_for(self, target: str, finding: Finding) -> bool:
        """Whether an entry for ``target`` accepts a finding that looks like this."""
        return any(entry.is_for(target) and entry.shows(finding) for entry in self._entries)


def known_file(path: Path | None, *, update: bool) -> KnownFile | None:
    """The file that the command line names; an absent one is empty where it is to be written. Raises ``UsageError``."""
    if path is None:
        if update:
            raise UsageError("--update-known has no file to write: name it with --known FILE")
        return None
    if update and not path.exists():
        return KnownFile(path, (), ())
    return read_known(path)


def read_known(path: Path) -> KnownFile:
    """Read the file. Raises ``UsageError`` that names the entry with which something is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
        entries = msgspec.toml.decode(text, type=_File).known
    except OSError as error:
        raise UsageError(
            f"cannot read the known findings {path}: {error.strerror or error}"
        ) from error
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} does not hold known findings: {error}") from error
    seen: set[str] = set()
    for entry in entries:
        _check(entry, f"{path}: {entry.id or 'an entry without an id'}")
        if entry.id in seen:
            raise UsageError(f"{path}: two entries are called {entry.id}")
        seen.add(entry.id)
    lines = text.splitlines()
    end = next((place for place, line in enumerate(lines) if not line.startswith("#")), len(lines))
    traces = tuple(trace_of(entry, path) for entry in entries)
    return KnownFile(path, entries, traces, tuple(lines[:end]))


def trace_of(entry: KnownFinding, path: Path) -> Trace:
    """The trace of an entry of the file ``path``. Raises ``UsageError`` when it cannot be read."""
    if entry.trace.lstrip().startswith("{"):
        return decode_trace(entry.trace.encode(), f"{path}: the trace of {entry.id}")
    if "\0" in entry.trace:
        raise UsageError(f"{path}: {entry.id}: its trace is neither a file nor JSON")
    return read_trace(path.parent / entry.trace)


def _check(entry: KnownFinding, where: str) -> None:
    for name in ("id", "reason", "link", "trace"):
        if not getattr(entry, name).strip():
            raise UsageError(f"{where}: its {name} is empty")
    if not entry.targets:
        raise UsageError(f"{where}: it names no target")
    if not entry.looks and not entry.signatures:
        raise UsageError(f"{where}: it needs looks or signatures, or nothing can match it")
    for look in entry.looks:
        look.check(where)
    for target in entry.targets:
        if target.startswith("sglang==") and not _PLACEHOLDERS.intersection(target):
            try:
                releases_in(target.removeprefix("sglang=="))
            except UsageError as error:
                raise UsageError(f"{where}: {error}") from error


def _names(pattern: str, target: str) -> bool:
    if pattern.startswith("sglang==") and ".." in pattern:
        releases = releases_in(pattern.removeprefix("sglang=="))
        return target.startswith("sglang==") and target.removeprefix("sglang==") in releases
    return fnmatchcase(target, pattern)
