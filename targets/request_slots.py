"""The caller's own pool of request slots, as far as an allocator looks at it (contract_paged_swa §6, ring mode).

Guarantees that the count is what was taken and returned, nothing else. Checks nothing: a caller may return too many.
"""

from __future__ import annotations


class RequestSlots:
    """``count`` request slots, all of them free."""

    def __init__(self, count: int) -> None:
        self._free = count

    def available_size(self) -> int:
        """How many are free."""
        return self._free

    def take(self, count: int) -> None:
        """Requests begin."""
        self._free -= count

    def give_back(self, count: int) -> None:
        """Requests end."""
        self._free += count
