"""How many kernels a call may launch on a target that promises the budget: one, and none when it refuses.

Covers the families of fixed pools, at level off and without the debug mode, as long as the caller keeps the contract: what is freed twice
may need larger lists. Says nothing of allocations that may have to merge staged pages (``need_sort``), of set-shaped frees, whose piles
have no bound known before, nor of the forms with several segments, which launch for each.
"""

from __future__ import annotations

from oracle.call import Call
from oracle.geometry import FAMILIES, Geometry, Mode
from oracle.observation import Outcome

_ALLOCATIONS = frozenset({"alloc", "alloc_extend", "alloc_extend_swa_tail", "alloc_decode"})
_FREES = frozenset(
    {
        "free_segment",
        "free_swa_segment",
        "free_full_segment",
        "free_page_ids",
        "free_group_end",
    }
)


class LaunchBudget:
    """The budget of one run's calls."""

    def __init__(self, geometry: Geometry, mode: Mode) -> None:
        self._promises = mode.level == "off" and not mode.debug and geometry.family in FAMILIES
        self._merges = geometry.need_sort

    def follow(self, breaches: tuple[str, ...]) -> None:
        """The next call of the run breaks these preconditions."""
        if breaches:
            self._promises = False

    def of(self, call: Call, outcome: Outcome) -> int | None:
        """The most launches of ``call`` with this outcome; None where there is no budget."""
        if not self._promises or outcome.error:
            return None
        if call.method in _ALLOCATIONS and not self._merges:
            return 0 if outcome.value is None else 1
        return 1 if call.method in _FREES else None
