"""States that are taken out in advance and handed out one by one (contract_paged_swa §8).

Guarantees that those are out of whatever they came from until they go back, and that they stay tensors: nothing is read from the
device. Where states come from and go to is the subclass's.
"""

from __future__ import annotations

import torch


class PreparedStates:
    """``prepared`` holds what is left of the states that were taken out in advance, None where none were."""

    prepared: torch.Tensor | None = None

    def available_size(self) -> int:
        """States that nobody holds; those taken out in advance are held."""
        raise NotImplementedError

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """States int64 ``[need_size]``, or None; a single one comes from those taken out in advance while there are any."""
        if need_size == 1 and self.prepared is not None and self.prepared.numel():
            taken, self.prepared = self.prepared[:1], self.prepared[1:]
            return taken
        return self._take(need_size)

    def alloc_group_begin(self, num_reqs: int) -> None:
        """Take ``num_reqs`` states out in advance, none of them when there are too few.

        What is left of an earlier group stays taken, and nothing knows of it any more (§8).
        """
        self.prepared = self._take(num_reqs) if num_reqs > 0 else None

    def alloc_group_end(self) -> None:
        """Give back what is left of the states that were taken out in advance, in one piece."""
        # A call that raises changes nothing, so they are forgotten after they went back.
        if self.prepared is not None and self.prepared.numel():
            self._give_back(self.prepared)
        self.prepared = None

    def _take(self, count: int) -> torch.Tensor | None:
        """``count`` states int64, or None."""
        raise NotImplementedError

    def _give_back(self, states: torch.Tensor) -> None:
        """Make ``states`` int64 ``[n]`` free, in that order."""
        raise NotImplementedError
