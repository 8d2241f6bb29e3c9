"""The events of a run, as objects that a release may ask whether they have fired.

Guarantees that an event fires when the caller says so and at no other time.
"""

from __future__ import annotations


class Event:
    """The end of a forward pass or of a copy."""

    def __init__(self, *, fired: bool = False) -> None:
        self.fired = fired

    def query(self) -> bool:
        """Whether it has fired."""
        return self.fired


class Stream:
    """The events by the caller's numbers."""

    def __init__(self) -> None:
        self._events: dict[int, Event] = {}

    def event(self, number: int) -> Event:
        """The event of that number, not fired when it is new."""
        return self._events.setdefault(number, Event())

    def completed(self) -> Event:
        """An event of nobody's that has fired."""
        return Event(fired=True)
