"""What an exploration did, by kind of operation: a kind that is hardly ever executed is a fault of the suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from oracle.lockstep import CallRecord, Status
from oracle.operations import Base, kind_of


@dataclass
class ExplorationStatistics:
    """How many operations of each kind were done, were skipped (no call was made), and were refused.

    ``refused`` is that part of ``done`` in which a call raised a contract error or an allocation gave None.
    ``steps`` counts operations, ``calls`` the calls on the first target.
    """

    examples: int = 0
    calls: int = 0
    done: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    @property
    def steps(self) -> int:
        """All operations that were stepped."""
        return sum(self.done.values()) + sum(self.skipped.values())

    def count(self, operation: Base, status: Status, records: Sequence[CallRecord]) -> None:
        """Add one operation."""
        kind = kind_of(operation)
        self.calls += len(records)
        if status == "skipped":
            self.skipped[kind] += 1
            return
        self.done[kind] += 1
        self.refused[kind] += any(_is_refused(record) for record in records)

    def share(self, kind: str) -> float:
        """The part of all executed operations that were of this kind, 0 when none was."""
        total = sum(self.done.values())
        return self.done[kind] / total if total else 0.0

    def table(self) -> list[str]:
        """One line for each kind, the most executed first."""
        kinds = sorted(set(self.done) | set(self.skipped), key=lambda kind: -self.done[kind])
        return [
            f"{kind:15} {self.done[kind]:7} done {self.share(kind):6.1%} "
            f"{self.skipped[kind]:7} skipped {self.refused[kind]:7} refused"
            for kind in kinds
        ]


def _is_refused(record: CallRecord) -> bool:
    method = record.call.method
    # A begin answers None, whatever it took.
    allocates = method.startswith("alloc") and not method.startswith("alloc_group")
    return bool(record.got.error) or (allocates and record.got.value is None)
