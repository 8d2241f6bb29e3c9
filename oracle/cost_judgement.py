"""What the judge says of a call's costs: waits of a call that is sync-free, and launches beyond the budget.

Guarantees silence where nobody looked (``Outcome.costs`` is None), where the call raised, and where nothing was promised.
"""

from __future__ import annotations

from collections.abc import Mapping

from oracle.call import Call
from oracle.caller import Planned
from oracle.comparison import Difference
from oracle.finding import FindingKind
from oracle.geometry import Geometry, Mode
from oracle.launch_budget import LaunchBudget
from oracle.observation import Outcome
from oracle.sync_free import SyncFree


class CostJudgement:
    """Follows the calls of one run. Say ``follow`` once before each call, then ``judge`` for each target that made it."""

    def __init__(self, geometry: Geometry, mode: Mode) -> None:
        self._sync_free = SyncFree(geometry, mode)
        self._budget = LaunchBudget(geometry, mode)
        self._promised = False

    def follow(self, planned: Planned, queries: Mapping[str, int] | None = None) -> None:
        """``planned`` is the next call of the run, ``queries`` are the capacities before it."""
        self._promised = self._sync_free.promised(planned.call, queries)
        self._budget.follow(planned.breaches)

    def judge(self, call: Call, got: Outcome) -> tuple[FindingKind, Difference] | None:
        """What is wrong with the costs, if anything is."""
        costs = got.costs
        if costs is None or got.error:
            return None
        if self._promised:
            for quantity, seen in (("host sync", costs.syncs), ("shape", costs.shapes)):
                if seen:
                    expected = "none: the call is sync-free"
                    return "sync", Difference(quantity, expected, "; ".join(seen))
        budget = self._budget.of(call, got)
        if not costs.budgeted or costs.launches is None or budget is None:
            return None
        if len(costs.launches) <= budget:
            return None
        refused = ": the call was refused" if budget == 0 else ""
        names = ", ".join(costs.launches)
        return "launches", Difference(
            "launches", f"at most {budget}{refused}", f"{len(costs.launches)} ({names})"
        )
