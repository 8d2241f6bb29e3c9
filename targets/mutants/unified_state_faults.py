"""Faults of the allocator of states above their band. Each class of an allocator is one fault (contract_unified §10)."""

from __future__ import annotations

from targets.eager.prepared_states import PreparedStates
from targets.eager.unified.full_and_state import FullAndStateAllocator
from targets.eager.unified.state_slots import StateSlots
from targets.eager.unified.three_pools import ThreePoolAllocator
from targets.mutants.mutant import FaultList
from targets.mutants.prepared_states import (
    AllGivenBack,
    EarlierContinued,
    EarlierKept,
    HandedOutAgain,
    PassedOver,
    PreparedCounted,
    RestDropped,
    RestGivenBackBackwards,
    SeveralFromPrepared,
)

FAULTS = FaultList()


def _over_band(fault: type[PreparedStates]) -> type[StateSlots]:
    return type(fault.__name__, (fault, StateSlots), {})


@FAULTS.add("law", "divergence")
class RestOfVirtualStatesDropped(FullAndStateAllocator):
    """The end of a group of states frees nothing on the band."""

    state_slots_class = _over_band(RestDropped)


@FAULTS.add("law", "divergence")
class HandedOutStatesGivenBack(FullAndStateAllocator):
    """The end of a group of states frees the handed out ones with the rest."""

    state_slots_class = _over_band(AllGivenBack)


@FAULTS.add("divergence")
class RestOfStatesBackwards(ThreePoolAllocator):
    """The end of a group of states frees the last one first."""

    state_slots_class = _over_band(RestGivenBackBackwards)


@FAULTS.add("divergence")
class SecondStateGroupIgnored(ThreePoolAllocator):
    """A second begin goes on with the states of the first one."""

    state_slots_class = _over_band(EarlierKept)


@FAULTS.add("divergence")
class SecondStateGroupAppended(FullAndStateAllocator):
    """A second begin appends its states to those of the first one."""

    state_slots_class = _over_band(EarlierContinued)


@FAULTS.add("law", "divergence")
class PreparedStateHandedOutTwice(FullAndStateAllocator):
    """A state that was taken out in advance is handed out and stays the next one."""

    state_slots_class = _over_band(HandedOutAgain)


@FAULTS.add("law", "divergence")
class PreparedStatesPassedOver(ThreePoolAllocator):
    """A single state comes from the band although states were taken out in advance."""

    state_slots_class = _over_band(PassedOver)


@FAULTS.add("law", "divergence")
class SeveralVirtualStatesFromPrepared(FullAndStateAllocator):
    """Several states at once come from those that were taken out in advance."""

    state_slots_class = _over_band(SeveralFromPrepared)


@FAULTS.add("law", "divergence")
class PreparedStatesCalledAvailable(ThreePoolAllocator):
    """The view that shows leaks counts states that were taken out in advance as available."""

    state_slots_class = _over_band(PreparedCounted)


class _PreparedKept(StateSlots):
    def clear(self) -> None:
        pass


@FAULTS.add("law", "divergence")
class ClearKeepsPreparedStates(ThreePoolAllocator):
    """States that were taken out in advance are handed out after a clear, though their ids are free again."""

    state_slots_class = _PreparedKept


class _RestTaken(StateSlots):
    def alloc_group_begin(self, num_reqs: int) -> None:
        super().alloc_group_begin(num_reqs)
        if self.prepared is None and num_reqs > 0:
            super().alloc_group_begin(self.band.available_size())


@FAULTS.add("law", "divergence")
class ShortStateGroupTakesRest(FullAndStateAllocator):
    """A group of states that does not fit takes out what there is."""

    state_slots_class = _RestTaken


class _NotRelieved(StateSlots):
    def alloc_group_begin(self, num_reqs: int) -> None:
        super().alloc_group_begin(num_reqs if num_reqs <= self.band.available_size() else 0)


@FAULTS.add("divergence")
class StateGroupNotRelieved(ThreePoolAllocator):
    """A group of states that fits after pages moved is refused."""

    state_slots_class = _NotRelieved


class _HolesCalledFree(StateSlots):
    @property
    def free_slots(self) -> int:
        return super().free_slots + self.band.hole_count


@FAULTS.add("divergence")
class StateHolesCalledUnreached(FullAndStateAllocator):
    """Holes of states count among the pages that were never reached."""

    state_slots_class = _HolesCalledFree


class _ReservedCounted(StateSlots):
    @property
    def size(self) -> int:
        return self.band.pages


@FAULTS.add("divergence")
class ReservedStatesCounted(ThreePoolAllocator):
    """The size of the pool of states includes the reserved pages."""

    state_slots_class = _ReservedCounted
