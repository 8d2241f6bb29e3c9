"""The list of known bugs (``known_bugs.toml``): public bugs of real releases that kvoracle must find again.

Guarantees that what ``known_bugs`` gives is consistent: releases that exist, none both bad and good, patterns that can match, and
a trace of the row's own family.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from oracle.errors import UsageError
from oracle.finding import Finding
from oracle.finding_pattern import FindingPattern, matches_any
from oracle.geometry import Family, Geometry, Level, Mode
from oracle.legality import BREACHES
from oracle.operations import Operation
from oracle.trace import Trace
from targets.sglang.release_range import releases_in

KNOWN_BUGS = Path(__file__).parent / "known_bugs.toml"
FINDS_BY = ("legal", "hostile")


class KnownBug(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row. ``bad`` and ``good`` are releases of 0.5.9 or newer, ``callers`` who meets it: legal or hostile ones.

    ``upstream``: where it was reported or repaired. ``looks``: what its finding may look like, and ``breaks`` the preconditions
    that the caller must have broken somewhere before, because a hostile caller may meet another bug of the same look. ``wrong`` says what
    goes wrong, ``geometry`` and ``operations`` are the shortest sequence that a person wrote. ``skipped``: why it cannot be looked for
    yet; such a row has nothing else.
    """

    id: str
    upstream: str
    wrong: str
    skipped: str = ""
    family: str = ""
    bad: str = ""
    good: str = ""
    callers: str = ""
    level: Level = "off"
    looks: tuple[FindingPattern, ...] = ()
    breaks: tuple[str, ...] = ()
    geometry: dict[str, Any] = {}
    operations: tuple[Operation, ...] = ()

    @property
    def bad_releases(self) -> tuple[str, ...]:
        """The releases that have the bug."""
        return releases_in(self.bad)

    @property
    def good_releases(self) -> tuple[str, ...]:
        """The releases that do not."""
        return releases_in(self.good)

    @property
    def trace(self) -> Trace:
        """The shortest sequence, as a person wrote it."""
        return Trace(
            geometry=msgspec.convert({"family": self.family, **self.geometry}, Geometry),
            mode=Mode(level=self.level),
            callers="legal" if self.callers == "legal" else "hostile",
            operations=self.operations,
            note=self.wrong,
        )

    def explains(self, finding: Finding, broken: frozenset[str] | set[str]) -> bool:
        """Whether this bug may be what ``finding`` shows, in a run in which the caller broke ``broken``."""
        return matches_any(finding, self.looks) and broken.issuperset(self.breaks)


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    bug: tuple[KnownBug, ...] = ()


def known_bugs(file: Path = KNOWN_BUGS) -> tuple[KnownBug, ...]:
    """The rows of ``file``, in its order. Raises ``UsageError`` that names the row with which something is wrong."""
    try:
        bugs = msgspec.toml.decode(file.read_bytes(), type=_File).bug
    except (OSError, msgspec.MsgspecError, ValueError) as error:
        raise UsageError(f"{file} does not hold known bugs: {error}") from error
    seen: set[str] = set()
    for bug in bugs:
        if bug.id in seen:
            raise UsageError(f"{file}: two bugs are called {bug.id}")
        seen.add(bug.id)
        if not bug.skipped:
            _check(bug, f"{file}: {bug.id}")
    return bugs


def _check(bug: KnownBug, where: str) -> None:
    both = set(bug.bad_releases) & set(bug.good_releases)
    if both:
        raise UsageError(f"{where}: {min(both)} is both bad and good")
    if bug.callers not in FINDS_BY:
        raise UsageError(f"{where}: callers must be one of {', '.join(FINDS_BY)}")
    strange = set(bug.breaks) - set(BREACHES)
    if strange or not bug.looks:
        raise UsageError(f"{where}: it needs a look, and no precondition is called {strange or ''}")
    for look in bug.looks:
        look.check(where)
    try:
        bug.trace.geometry.check()
    except msgspec.MsgspecError as error:
        raise UsageError(f"{where}: {error}") from error


def family_of(bug: KnownBug) -> Family:
    """The family of a row that is not skipped."""
    return bug.trace.geometry.family
