"""Room for states beside tokens: the views of the allocator of states and what is asked before it allocates
(contract_unified §10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from targets.eager.unified.relief import relieve

if TYPE_CHECKING:
    from targets.eager.unified.band import Band
    from targets.eager.unified.end_band import EndBand


class StateRoom:
    """The part of an allocator that has a band of states."""

    bands: Any
    full: EndBand

    @property
    def state(self) -> Band:
        """The band of states; its slots are virtual states."""
        band: Band = self.bands["state"]
        return band

    def state_available_size(self) -> int:
        """States that nobody holds, whether or not there are bytes for them: it shows leaks."""
        return self.state.page_room - self.state.live

    def state_schedulable_size(self) -> int:
        """States for which there are bytes."""
        return self.state.schedulable_available_size()

    def flush_deferred(self) -> None:
        """Free what waits and leave the group open."""
        raise NotImplementedError

    def prepare_mamba_allocation(self, need: int) -> None:
        """Make room for ``need`` states where that is possible; may move pages."""
        self.flush_deferred()
        if not self._has_room_for_states(need):
            relieve(self.state, need)

    def full_tokens_before_mamba_recheck(self, need: int) -> int:
        """How many FULL slots have to go before ``need`` states can be hoped for."""
        missing = need - self.state_schedulable_size()
        if missing <= 0:
            return 0
        return -(-((missing - 1) * self.state.page_bytes + 1) // self.full.grid.entry_bytes)

    def _has_room_for_states(self, need: int) -> bool:
        raise NotImplementedError
