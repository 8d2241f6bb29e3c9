"""Where a target writes down which invariants were hit during one call.

Guarantees that hits are kept in order of evaluation and that an evaluation with no false element leaves no trace. Does not
find the hits: a target's own signals, or a probe put into a release, report here.
"""

from __future__ import annotations

from oracle.observation import Hit


class HitRecorder:
    """The invariants hit since ``restart``, and those of them for which the target's own counter moved.

    ``has_counter`` says whether the target has a counter that can be read (``Outcome.counted`` is None without one).
    """

    def __init__(self, *, has_counter: bool) -> None:
        self.has_counter = has_counter
        self._hits: list[Hit] = []
        self._counted: list[Hit] = []

    def restart(self) -> None:
        """Forget everything: a new call begins."""
        if self._hits:
            self._hits = []
        if self._counted:
            self._counted = []

    def evaluated(self, name: str, false_elements: int) -> None:
        """Report that the invariant ``name`` was evaluated and found ``false_elements`` of them."""
        if false_elements:
            self._hits.append(Hit(name, false_elements))

    def counted(self, name: str, false_elements: int) -> None:
        """Report that the target's counter of ``name`` moved by ``false_elements``."""
        if false_elements:
            self._counted.append(Hit(name, false_elements))

    @property
    def hits(self) -> tuple[Hit, ...]:
        """What ``Outcome.hits`` holds."""
        return tuple(self._hits)

    @property
    def counts(self) -> tuple[Hit, ...] | None:
        """What ``Outcome.counted`` holds: None when there is no counter to read."""
        return tuple(self._counted) if self.has_counter else None
