"""The caller's stream, as far as allocators look at it: events that fire (contract_unified §3)."""

from __future__ import annotations

import torch


class Event:
    """The end of a forward pass. ``fired``: nothing before it reads the old places of pages any more."""

    def __init__(self) -> None:
        self.fired = False


class InFlight:
    """A forward pass that was launched: its ``event``, and the FULL slots int64 ``[n]`` that it writes."""

    def __init__(self, event: Event, slots: torch.Tensor) -> None:
        self.event = event
        self.slots = slots
