"""Bisection of a trace over releases: what it shows on each, and between which releases that changes.

Guarantees that a release which lacks a call of the trace counts neither as good nor as bad, unless the trace shows a finding there all the same.
Judges nothing itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from oracle.contract import Contract
from oracle.finding import Finding, signature
from oracle.operations import Base, FreeSegment, kind_of
from oracle.trace import Trace
from targets.sglang.contracts import contract_for_version
from targets.sglang.release_range import spell

Status = Literal["pass", "fail", "unsupported", "problem"]


class ReleaseResult(Struct, frozen=True, kw_only=True):
    """What a trace shows on one release.

    ``signatures`` of its findings, hazards too; ``sentence`` is the first finding, or says what the release lacks or why it could not run.
    """

    release: str
    status: Status
    signatures: tuple[str, ...] = ()
    sentence: str = ""


class Change(Struct, frozen=True, kw_only=True):
    """The first release after which a trace goes on to fail (``bad``) or to pass, and the last one before that was judged, None if none was."""

    bad: bool
    release: str
    before: str | None


def result_of(
    release: str, trace: Trace, findings: Sequence[Finding], refusal: str = ""
) -> ReleaseResult:
    """The result from the findings of a replay; ``refusal`` is the sentence of a target that cannot run the trace at all."""
    if findings:
        names = [signature(finding, trace.operations[: finding.index + 1]) for finding in findings]
        return ReleaseResult(
            release=release,
            status="fail",
            signatures=tuple(dict.fromkeys(names)),
            sentence=findings[0].sentence(),
        )
    missing = refusal or lacking(release, trace)
    status: Status = "unsupported" if missing else "pass"
    return ReleaseResult(release=release, status=status, sentence=missing)


def lacking(release: str, trace: Trace) -> str:
    """What ``release`` lacks for the operations of ``trace``, "" when it has everything."""
    family = trace.geometry.family
    contract = contract_for_version(release, family, power_of_two_pages=False)
    if contract is None:
        return f"it has no {family} allocator"
    absent = {name for one in trace.operations for name in _absent(one, contract)}
    return f"it has no {', '.join(sorted(absent))}" if absent else ""


def _absent(operation: Base, contract: Contract) -> set[str]:
    # Hypothesis takes its time to import, and a remembered bisection needs none of it.
    from strategies.rules import NEEDED_METHODS

    wanted = set(NEEDED_METHODS.get(type(operation), frozenset()))
    method = getattr(operation, "method", None)
    direct = isinstance(operation, FreeSegment) and operation.direct
    if isinstance(method, str):
        wanted.add(method)
    return wanted - (contract.pool_methods if direct else contract.methods)


def changes(results: Sequence[ReleaseResult]) -> list[Change]:
    """Where a trace begins to fail and where it begins to pass, oldest first.

    The oldest judged release is a change only when it fails: what it passes, it may always have passed.
    """
    found: list[Change] = []
    before: ReleaseResult | None = None
    for result in results:
        if result.status not in ("pass", "fail"):
            continue
        bad = result.status == "fail"
        if (before is None and bad) or (before is not None and before.status != result.status):
            found.append(
                Change(bad=bad, release=result.release, before=before.release if before else None)
            )
        before = result
    return found


def table(results: Sequence[ReleaseResult]) -> list[str]:
    """A line for each release: pass, fail with the signatures, or what it lacks."""
    width = max((len(result.release) for result in results), default=0)
    return [
        f"{result.release:{width}}  {result.status:11}  "
        f"{', '.join(result.signatures) or result.sentence}".rstrip()
        for result in results
    ]


def conclusions(results: Sequence[ReleaseResult]) -> list[str]:
    """First bad and first good as sentences, in the order of the releases; one sentence where none could be judged."""
    if not any(result.status in ("pass", "fail") for result in results):
        why = "can run the trace" if _none_can_run_it(results) else "could be judged"
        return [f"first bad: not known, no release {why}"]
    lines = []
    for change in changes(results):
        word = "first bad" if change.bad else "first good"
        lines.append(f"{word}: {change.release} ({_because(change, results)})")
    if not lines:
        judged = tuple(result.release for result in results if result.status == "pass")
        lines.append(f"first bad: none, it passes on {spell(judged)}")
    elif results and results[-1].status == "fail":
        lines.append(f"first good: none, it still fails on {results[-1].release}")
    return lines + _signatures(results)


def _none_can_run_it(results: Sequence[ReleaseResult]) -> bool:
    return all(result.status == "unsupported" for result in results)


def _signatures(results: Sequence[ReleaseResult]) -> list[str]:
    """Which releases show which signature, where there are several: a later one may be another fault."""
    shown: dict[str, list[str]] = {}
    for result in results:
        for name in result.signatures:
            shown.setdefault(name, []).append(result.release)
    if len(shown) < 2:
        return []
    return [f"{name}: {spell(tuple(releases))}" for name, releases in shown.items()]


def _because(change: Change, results: Sequence[ReleaseResult]) -> str:
    if change.before is not None:
        return f"{change.before} {'passes' if change.bad else 'fails'}"
    lacking_too = [result for result in results if result.status == "unsupported"]
    names = [result.release for result in results]
    older = tuple(
        result.release
        for result in lacking_too
        if names.index(result.release) < names.index(change.release)
    )
    if older:
        return f"{spell(older)} cannot run it"
    return "the oldest release that was run"


def document(trace: Trace, results: Sequence[ReleaseResult], *, interrupted: bool = False) -> bytes:
    """The result as JSON with a final newline; ``interrupted``: releases are missing, so that no change can be named."""
    found = [] if interrupted else changes(results)
    content: dict[str, object] = {
        "family": trace.geometry.family,
        "operations": [kind_of(operation) for operation in trace.operations],
        "releases": list(results),
        "first_bad": next((change.release for change in found if change.bad), None),
        "first_good": next((change.release for change in found if not change.bad), None),
    }
    if interrupted:
        content["interrupted"] = True
    return msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n"
