"""Rewriting the file of known findings after a run (``--update-known``).

Guarantees that an entry which has not been judged in this run stays as it is, that a target on which an entry is stale is taken out of it
and nothing else is, and that the file is written whole or not at all. New entries say that nobody has explained them yet.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from campaigns.known_findings import KnownFile, KnownFinding
from campaigns.output_folder import write_whole
from campaigns.verdict import SavedFinding, TargetVerdict, Verdict
from oracle.errors import UsageError, reason_of
from oracle.finding_pattern import FindingPattern
from targets.sglang.release_range import releases_in, spell

DAYS_UNTIL_EXPIRY = 90
NOT_EXPLAINED = "not explained yet"
NO_LINK = "none yet"
_RELEASE = "sglang=="


def update_known(file: KnownFile, verdict: Verdict, today: datetime.date | None = None) -> str:
    """Write the file anew and say in one sentence what changed. Raises ``UsageError`` when it cannot be written."""
    today = today or datetime.date.today()
    kept: list[KnownFinding] = []
    for entry in file.entries:
        stale = [
            target.target
            for target in verdict.targets
            if any(known.id == entry.id and known.state == "stale" for known in target.known)
        ]
        names = _without(entry.targets, stale)
        if names:
            kept.append(msgspec.structs.replace(entry, targets=names))
    added = _new_entries(file.path, verdict, today, {entry.id for entry in kept})
    try:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file.path, as_toml([*kept, *added], file.comment).encode())
    except OSError as error:
        raise UsageError(
            f"the known findings {file.path} cannot be written: {reason_of(error)}"
        ) from error
    gone = len(file.entries) - len(kept)
    return f"{file.path}: {len(added)} entries added, {gone} dropped, {len(kept)} kept"


def as_toml(entries: Sequence[KnownFinding], comment: Iterable[str] = ()) -> str:
    """The text of a file with these entries."""
    parts = ["\n".join(comment) + "\n"] if comment else []
    parts += [_table(entry) for entry in entries]
    return "\n".join(parts)


def _table(entry: KnownFinding) -> str:
    lines = [
        "[[known]]",
        f"id = {_text(entry.id)}",
        f"targets = {_list(entry.targets)}",
        f"reason = {_text(entry.reason)}",
        f"link = {_text(entry.link)}",
        f"expires = {entry.expires.isoformat()}",
        f"trace = {_text(entry.trace)}",
    ]
    if entry.signatures:
        lines.append(f"signatures = {_list(entry.signatures)}")
    if entry.looks:
        lines += ["looks = [", *[f"    {_look(look)}," for look in entry.looks], "]"]
    return "\n".join(lines) + "\n"


def _look(look: FindingPattern) -> str:
    fields = [
        f"{name} = {_list(getattr(look, name))}"
        for name in look.__struct_fields__
        if getattr(look, name)
    ]
    return f"{{ {', '.join(fields)} }}"


def _list(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_text, values))}]"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _without(targets: Sequence[str], stale: Sequence[str]) -> tuple[str, ...]:
    left: list[str] = []
    for pattern in targets:
        if pattern.startswith(_RELEASE) and ".." in pattern:
            releases = releases_in(pattern.removeprefix(_RELEASE))
            kept = tuple(one for one in releases if f"{_RELEASE}{one}" not in stale)
            if kept == releases:
                left.append(pattern)
            elif kept:
                left += [f"{_RELEASE}{part}" for part in spell(kept).split(", ")]
        elif not stale or pattern not in stale:
            left.append(pattern)
    # A pattern with a star cannot be narrowed: it stays, and goes on to be told as stale.
    return tuple(left)


def _new_entries(
    path: Path, verdict: Verdict, today: datetime.date, taken: set[str]
) -> list[KnownFinding]:
    found: dict[str, KnownFinding] = {}
    for target in verdict.targets:
        for saved in target.findings():
            if not saved.trace_file or (saved.is_hazard and not verdict.fail_on_hazard):
                continue
            known = found.get(saved.signature)
            if known is not None:
                names = (*known.targets, target.target)
                found[saved.signature] = msgspec.structs.replace(known, targets=names)
            elif saved.signature not in taken:
                found[saved.signature] = _new_entry(path, target, saved, today)
    return list(found.values())


def _new_entry(
    path: Path, target: TargetVerdict, saved: SavedFinding, today: datetime.date
) -> KnownFinding:
    trace = path.parent / path.stem / f"{saved.signature}.json"
    try:
        trace.parent.mkdir(parents=True, exist_ok=True)
        write_whole(trace, Path(saved.trace_file).read_bytes())
    except OSError as error:
        raise UsageError(f"the trace {trace} cannot be written: {reason_of(error)}") from error
    finding = saved.finding
    # As wide as what a campaign reduces once: the same file must accept the same campaign.
    look = FindingPattern(
        family=(finding.family,),
        kind=(finding.kind,),
        quantity=(finding.quantity,),
        breach=(finding.breach,),
    )
    return KnownFinding(
        id=saved.signature,
        targets=(target.target,),
        reason=NOT_EXPLAINED,
        link=NO_LINK,
        expires=today + datetime.timedelta(days=DAYS_UNTIL_EXPIRY),
        trace=str(trace.relative_to(path.parent)),
        looks=(look,),
        signatures=(saved.signature,),
    )
