"""Faults of states that are taken out in advance, for whichever allocator has them (contract_paged_swa §8).

Each class is one fault of the methods it overrides; a class of an allocator behind it makes it whole.
"""

from __future__ import annotations

import torch

from targets.eager.prepared_states import PreparedStates


class RestDropped(PreparedStates):
    """What is left does not come back."""

    def alloc_group_end(self) -> None:
        """Forgets it."""
        self.prepared = None


class AllGivenBack(PreparedStates):
    """What was handed out comes back with what is left."""

    taken: torch.Tensor | None = None

    def alloc_group_begin(self, num_reqs: int) -> None:
        """As ours; remembers what was taken."""
        super().alloc_group_begin(num_reqs)
        self.taken = self.prepared

    def alloc_group_end(self) -> None:
        """As ours, of all that was taken."""
        if self.prepared is not None:
            self.prepared = self.taken
        super().alloc_group_end()


class RestGivenBackBackwards(PreparedStates):
    """What is left comes back with the last one first."""

    def alloc_group_end(self) -> None:
        """As ours, turned round."""
        if self.prepared is not None:
            self.prepared = self.prepared.flip(0)
        super().alloc_group_end()


class EarlierKept(PreparedStates):
    """A second begin goes on with what the first one took out."""

    def alloc_group_begin(self, num_reqs: int) -> None:
        """As ours, where nothing is taken out yet."""
        if self.prepared is None or not self.prepared.numel():
            super().alloc_group_begin(num_reqs)


class EarlierContinued(PreparedStates):
    """A second begin appends to what the first one took out."""

    def alloc_group_begin(self, num_reqs: int) -> None:
        """As ours, behind what is there."""
        earlier = self.prepared
        super().alloc_group_begin(num_reqs)
        if earlier is not None:
            batch = earlier if self.prepared is None else torch.cat((earlier, self.prepared))
            self.prepared = batch


class PassedOver(PreparedStates):
    """A single state does not come from what was taken out."""

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """Always from where states come from."""
        return self._take(need_size)


class HandedOutAgain(PreparedStates):
    """A single state is handed out and stays among those taken out."""

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """As ours, without removing it."""
        before = self.prepared
        states = super().alloc(need_size)
        self.prepared = before
        return states


class SeveralFromPrepared(PreparedStates):
    """Several states at once come from what was taken out."""

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """As ours, for any number that is there."""
        if self.prepared is not None and 1 < need_size <= self.prepared.numel():
            taken, self.prepared = self.prepared[:need_size], self.prepared[need_size:]
            return taken
        return super().alloc(need_size)


class PreparedCounted(PreparedStates):
    """What was taken out counts as available."""

    def available_size(self) -> int:
        """As ours, and what was taken out."""
        prepared = self.prepared
        return super().available_size() + (0 if prepared is None else prepared.numel())
