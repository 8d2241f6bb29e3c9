"""The state of a reduction: the simplest trace so far, and whether a simpler one still shows the same finding.

Guarantees that only traces with a finding of the same cause are accepted: a shorter trace of another fault never is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from oracle.finding import Finding
from oracle.operations import Operation
from oracle.trace import Trace

Cause = tuple[str, str, str, str]
"""Family, kind, quantity and breach of a finding (``Finding.cause``)."""


class Search:
    """The best trace and its finding. Counts runs, and remembers every trace that was tried."""

    best: Trace
    finding: Finding

    def __init__(
        self, run: Callable[[Trace], Sequence[Finding]], cause: Cause, most_runs: int
    ) -> None:
        self._run = run
        self._cause = cause
        self._most_runs = most_runs
        self._tried: set[bytes] = set()
        self.runs = 0

    @property
    def is_spent(self) -> bool:
        """No run is left."""
        return self.runs >= self._most_runs

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The operations of the best trace."""
        return self.best.operations

    def accepts(self, candidate: Trace) -> bool:
        """Run ``candidate``; where it shows the cause it becomes the best trace, without what comes after the finding."""
        key = msgspec.json.encode(candidate)
        if self.is_spent or key in self._tried:
            return False
        self._tried.add(key)
        self.runs += 1
        for finding in self._run(candidate):
            if finding.cause == self._cause:
                self.finding = finding
                self.best = replace(candidate, operations=candidate.operations[: finding.index + 1])
                self._tried.add(msgspec.json.encode(self.best))
                return True
        return False

    def accepts_operations(self, operations: Sequence[Operation]) -> bool:
        """The same for the best trace with other operations."""
        return self.accepts(replace(self.best, operations=tuple(operations)))
