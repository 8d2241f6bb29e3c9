"""What the invariants say during one call (contract_paged_swa §2).

Records a hit at every level. When a hit raises depends on the contract: at once, or at the end of a call whose host
never waits for the device (§12, "either invariant on CUDA").
"""

from __future__ import annotations

from oracle.contract import Contract
from oracle.geometry import Level
from oracle.invariants import ALLOCATOR_INVARIANTS
from oracle.observation import Hit
from oracle.reference.raised import PredictedError


class Signals:
    """The hits of the call in progress, and which of them moved the counter."""

    def __init__(self, level: Level, contract: Contract) -> None:
        self._level = level
        self._contract = contract
        self.begin_call()

    def begin_call(self) -> None:
        """Forget the call before."""
        self.hits: list[Hit] = []
        self._counted: list[Hit] = []
        self._late: PredictedError | None = None

    def evaluate(self, name: str, false_count: int) -> None:
        """Report ``false_count`` elements for which the predicate of ``name`` is false."""
        if not false_count or name not in self._contract.invariants:
            return
        hit = Hit(name, false_count)
        self.hits.append(hit)
        reaction = ALLOCATOR_INVARIANTS[name].reaction(self._level)
        if reaction == "counted":
            self._counted.append(hit)
        elif reaction == "raised":
            error = PredictedError(f"invariant:{name}", f"{name} is false for {false_count}")
            if not self._contract.checks_after_clearing:
                raise error
            self._late = self._late or error

    def end_call(self) -> None:
        """Raise what a device reported while the host went on."""
        if self._late is not None:
            raise self._late

    def counted(self) -> tuple[Hit, ...] | None:
        """The hits that moved the counter; None when there is no counter."""
        return tuple(self._counted) if self._contract.has_counter else None
