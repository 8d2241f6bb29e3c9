"""What the judge reports: a finding, its signature, and one exception class for each kind of finding."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal, NoReturn

from msgspec import Struct

from oracle.errors import KvoracleError
from oracle.operations import Base, kind_of

FindingKind = Literal[
    "divergence", "law", "metamorphic", "signal", "hazard", "sync", "launches", "memory", "crash", "hang"
]  # fmt: skip
FINDING_KINDS: tuple[FindingKind, ...] = (
    "divergence", "law", "metamorphic", "signal", "hazard", "sync", "launches", "memory", "crash", "hang",
)  # fmt: skip
LONGEST_NAME = 100


class Finding(Struct, frozen=True, kw_only=True):
    """One difference between what a target did and what it must do.

    ``quantity`` names what is wrong (``swa.free``, ``returned``, a law, an invariant), ``breach`` the precondition that the
    caller broke before ("" when it kept the contract). ``index`` is the operation in the trace, ``method`` the call.
    ``expected`` and ``got`` show the first difference with its neighbours.
    """

    family: str
    kind: FindingKind
    quantity: str
    breach: str = ""
    index: int
    operation: str
    method: str
    expected: str
    got: str
    target: str
    versions: dict[str, str] = {}

    @property
    def cause(self) -> tuple[str, str, str, str]:
        """What a reduced trace must keep: family, kind, quantity and breach."""
        return (self.family, self.kind, self.quantity, self.breach)

    def sentence(self) -> str:
        """One line for people."""
        because = f" after the caller broke '{self.breach}'" if self.breach else ""
        return (
            f"{self.kind}: {self.quantity}{because} at operation {self.index} ({self.operation}, "
            f"{self.method}) on {self.target}: expected {self.expected}, got {self.got}"
        )


def signature(finding: Finding, operations: Sequence[Base]) -> str:
    """What deduplicates a finding: family, kind, quantity, breach and the kinds of the (reduced) operations.

    A name that is fit for a file: at most 100 bytes, a digest instead of the tail of a longer one.
    """
    parts = [finding.family, finding.kind, finding.breach, finding.quantity]
    kinds = [kind_of(operation) for operation in operations]
    name = ".".join([part for part in parts if part] + ["+".join(kinds)])
    name = "".join(letter if letter.isalnum() or letter in "-.+_" else "-" for letter in name)
    # A quantity can hold what a target says, so not only letters of one byte.
    data = name.encode()
    if len(data) <= LONGEST_NAME:
        return name
    head = data[: LONGEST_NAME - 9].decode(errors="ignore")
    return f"{head}-{hashlib.sha256(data).hexdigest()[:8]}"


class FindingError(KvoracleError):
    """Raised where a finding has to stop a test. The subclass is its kind, so that Hypothesis tells kinds apart."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.sentence())
        self.finding = finding


class Divergence(FindingError):
    """Returned slots or state differ from the prediction."""


class LawBroken(FindingError):
    """A safety property is broken."""


class RelationBroken(FindingError):
    """Two runs that the contract relates do not come to the same."""


class SignalWrong(FindingError):
    """An invariant fired that should not have, did not fire, or fired at the wrong level or count."""


class Hazard(FindingError):
    """The caller broke the contract and the target was silently corrupted."""


class SyncFound(FindingError):
    """A path that is sync-free by contract synchronised the host or ran a data-dependent shape."""


class LaunchesExceeded(FindingError):
    """More kernel launches than the contract's budget."""


class MemoryDamaged(FindingError):
    """Something was written or read outside the buffers of an allocator, or by two threads at once."""


class TargetCrashed(FindingError):
    """An exception that the contract does not name, or a child process that died."""


class TargetHung(FindingError):
    """A child process that stalled."""


_ERRORS: dict[FindingKind, type[FindingError]] = {
    "divergence": Divergence,
    "law": LawBroken,
    "metamorphic": RelationBroken,
    "signal": SignalWrong,
    "hazard": Hazard,
    "sync": SyncFound,
    "launches": LaunchesExceeded,
    "memory": MemoryDamaged,
    "crash": TargetCrashed,
    "hang": TargetHung,
}


def raise_finding(finding: Finding) -> NoReturn:
    """The one place from which findings are raised (Hypothesis tells failures apart by class and line)."""
    raise _ERRORS[finding.kind](finding)
