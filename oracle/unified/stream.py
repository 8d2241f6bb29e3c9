"""The forward passes of a run and the gates on page moves, as the reference sees them (contract_unified §3).

Guarantees nothing about time: an event fires when the caller says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(eq=False)
class Event:
    """The end of a forward pass. ``number`` is the caller's name for it."""

    number: int
    fired: bool = False


@dataclass(eq=False)
class Stream:
    """The events by number. They outlive ``clear``: they are the caller's."""

    events: dict[int, Event] = field(default_factory=dict)

    def event(self, number: int) -> Event:
        """The event of that number, not fired when it is new."""
        return self.events.setdefault(number, Event(number))


@dataclass(frozen=True)
class Forward:
    """A forward pass that may still run: its event and the FULL slots that it writes."""

    event: Event
    slots: tuple[int, ...]
