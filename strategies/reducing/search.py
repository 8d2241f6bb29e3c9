"""The state of a reduction: the simplest trace so far, and whether a simpler one still shows the same finding.

Guarantees that only traces with a finding of the same cause are accepted: a shorter trace of another fault never is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from oracle.errors import UsageError
from oracle.finding import Finding
from oracle.operations import Operation
from oracle.trace import Trace

Cause = tuple[str, str, str, str]
"""Family, kind, quantity and breach of a finding (``Finding.cause``)."""


class Search:
    """The best trace and its finding. Counts runs and the operations in them, and remembers every trace that was tried."""

    best: Trace
    finding: Finding

    def __init__(
        self,
        run: Callable[[Trace], Sequence[Finding]],
        cause: Cause,
        most_runs: int,
        most_operations: int,
    ) -> None:
        self._run = run
        self._cause = cause
        self._most_runs = most_runs
        self._most_operations = most_operations
        self._tried: set[bytes] = set()
        self.runs = 0
        self.operations_run = 0

    @property
    def is_spent(self) -> bool:
        """No run is left, or too many operations were run."""
        return self.runs >= self._most_runs or self.operations_run >= self._most_operations

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The operations of the best trace."""
        return self.best.operations

    def accepts(self, candidate: Trace) -> bool:
        """Run ``candidate``; where it shows the cause it becomes the best trace, without what comes after the finding."""
        key = _key_of(candidate)
        if self.is_spent or key in self._tried:
            return False
        self._tried.add(key)
        if not _can_be_built(candidate):
            return False
        self.runs += 1
        findings = self._run(candidate)
        ends = [finding.index + 1 for finding in findings if finding.kind != "hazard"]
        self.operations_run += min([len(candidate.operations), *ends])
        for finding in findings:
            if finding.cause == self._cause:
                self.start_from(candidate, finding)
                return True
        return False

    def start_from(self, trace: Trace, finding: Finding) -> None:
        """``trace``, which is known to show ``finding``, is the best one, without what comes after the finding."""
        self.finding = finding
        self.best = replace(trace, operations=trace.operations[: finding.index + 1])
        self._tried.add(_key_of(self.best))

    def accepts_operations(self, operations: Sequence[Operation]) -> bool:
        """The same for the best trace with other operations."""
        return self.accepts(replace(self.best, operations=tuple(operations)))


def _can_be_built(trace: Trace) -> bool:
    """Smaller pages or pools are not always an allocator of the same family."""
    try:
        trace.geometry.check()
    except UsageError:
        return False
    return True


def _key_of(trace: Trace) -> bytes:
    """A digest rather than the trace itself: hundreds of long traces are remembered.

    Of the representation, because JSON leaves a default out only where it is the very same object.
    """
    return hashlib.blake2b(repr(trace).encode(), digest_size=16).digest()
