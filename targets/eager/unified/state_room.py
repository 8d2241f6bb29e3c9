"""Room for states beside tokens: the views of the allocator of states and what is asked before it allocates
(contract_unified §10)."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, cast

from targets.eager.unified.end_band import EndBand
from targets.eager.unified.relief import relieve
from targets.eager.unified.state_slots import StateSlots
from targets.eager.unified.token_pool import TokenPool


class StateRoom(TokenPool):
    """The part of an allocator that has a band of states."""

    state_slots_class: ClassVar[type[StateSlots]] = StateSlots

    @property
    def state(self) -> EndBand:
        """The band of states; its slots are virtual states."""
        return cast("EndBand", self.bands["state"])

    @cached_property
    def state_slots(self) -> StateSlots:
        """The allocator of states above that band."""
        return self.state_slots_class(self.state)

    def clear(self) -> None:
        """As the base form; states that were taken out in advance are free too."""
        super().clear()
        self.state_slots.clear()

    @property
    def state_size(self) -> int:
        """States that there can ever be."""
        return self.state_slots.size

    @property
    def state_free_slots(self) -> int:
        """Physical pages of states that were never reached."""
        return self.state_slots.free_slots

    def state_available_size(self) -> int:
        """States that nobody holds, whether or not there are bytes for them: it shows leaks."""
        return self.state_slots.available_size()

    def state_schedulable_size(self) -> int:
        """States for which there are bytes."""
        return self.state_slots.schedulable_size()

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
