"""What a campaign found, by target and family: the one structure behind the text report, the JSON document and the exit code.

Guarantees the shape of the JSON document, and that equal campaigns give equal documents (it holds no times).
"""

from __future__ import annotations

import msgspec
from msgspec import Struct, field

from campaigns.messages import KnownState, Tally
from oracle.finding import Finding

CLEAN, FINDINGS, USAGE, INTERRUPTED = 0, 1, 2, 130


class SavedFinding(Struct, kw_only=True):
    """A finding with its files. ``reproduced``: its script was run and showed the fault; ``remark`` says why not, if not.

    ``calls`` are the calls of the trace in the allocator's terms, ``operations`` how many operations the trace has.
    """

    finding: Finding
    signature: str
    operations: int
    calls: tuple[str, ...] = ()
    trace_file: str = ""
    script_file: str = ""
    reproduced: bool = False
    remark: str = ""

    @property
    def is_hazard(self) -> bool:
        """Whether the caller broke the contract first."""
        return self.finding.kind == "hazard"


class FamilyVerdict(Struct):
    """One family of one target."""

    family: str
    tally: Tally
    findings: list[SavedFinding]


class KnownVerdict(Struct):
    """One entry of the file of known findings on one target. ``met``: how many findings of the campaign it accounts for."""

    id: str
    state: KnownState
    met: int = 0


class TargetVerdict(Struct):
    """One target; ``problem`` is the sentence that says why it could not be judged (to the end), "" if it could.

    ``notes``: what the target assumes, for a person to read.
    """

    target: str
    versions: dict[str, str]
    families: list[FamilyVerdict]
    problem: str = ""
    known: list[KnownVerdict] = field(default_factory=list)
    notes: tuple[str, ...] = ()

    def family(self, name: str) -> FamilyVerdict:
        """The verdict on the family ``name``, made when it is new."""
        for verdict in self.families:
            if verdict.family == name:
                return verdict
        self.families.append(FamilyVerdict(name, Tally(), []))
        return self.families[-1]

    def findings(self) -> list[SavedFinding]:
        """The findings on all families."""
        return [finding for verdict in self.families for finding in verdict.findings]


class Verdict(Struct):
    """The whole campaign. ``fail_on_hazard``: hazards alone are findings too."""

    targets: list[TargetVerdict]
    fail_on_hazard: bool = False
    interrupted: bool = False

    def findings(self) -> list[SavedFinding]:
        """The findings on all targets."""
        return [finding for target in self.targets for finding in target.findings()]

    def problems(self) -> list[str]:
        """Why targets could not be judged, each sentence once."""
        return list(dict.fromkeys(target.problem for target in self.targets if target.problem))

    def has_expired(self) -> bool:
        """Whether an accepted finding's day has come."""
        return any(known.state == "expired" for target in self.targets for known in target.known)

    def exit_code(self) -> int:
        """0 clean, 1 findings or known ones that are stale or expired, 2 a target could not be judged, 130 interrupted with nothing found."""
        if self.problems():
            return USAGE
        if any(self.fail_on_hazard or not found.is_hazard for found in self.findings()):
            return FINDINGS
        if any(known.state != "known" for target in self.targets for known in target.known):
            return FINDINGS
        return INTERRUPTED if self.interrupted else CLEAN

    def document(self) -> bytes:
        """The JSON document, with a final newline."""
        document = {
            "targets": [_target(target) for target in self.targets],
            "exit": self.exit_code(),
        }
        return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def _target(target: TargetVerdict) -> dict[str, object]:
    known = {"known": target.known} if target.known else {}
    notes = {"notes": target.notes} if target.notes else {}
    return {
        "target": target.target,
        "families": [
            {
                "family": verdict.family,
                "traces": verdict.tally.traces,
                "steps": verdict.tally.steps,
                "findings": [_finding(found) for found in verdict.findings],
            }
            for verdict in target.families
        ],
        **known,
        **notes,
    }


def _finding(found: SavedFinding) -> dict[str, object]:
    return {
        "kind": found.finding.kind,
        "signature": found.signature,
        "operations": found.operations,
        "trace": found.trace_file,
        "script": found.script_file,
        "reproduced": found.reproduced,
    }
