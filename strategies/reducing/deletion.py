"""Passes that delete operations: long runs first, then single ones, then pairs.

From the back, because later operations depend on earlier ones and so go more easily. Pairs, because some operations
only go together (an allocation and its release): no deletion of one of them leads there.
"""

from __future__ import annotations

from itertools import combinations

from strategies.reducing.search import Search

MOST_FOR_PAIRS = 14


def delete_runs(search: Search) -> None:
    """Delete runs of operations of half the trace, a quarter, and so on down to single ones."""
    length = max(len(search.operations) // 2, 1)
    while True:
        sweep(search, length)
        if length == 1:
            return
        length //= 2


def sweep(search: Search, length: int) -> None:
    """Try to delete each run of ``length`` operations once, the last one first."""
    stop = len(search.operations)
    while stop > 0 and not search.is_spent:
        start = max(stop - length, 0)
        operations = search.operations
        if search.accepts_operations(operations[:start] + operations[stop:]):
            stop = min(start, len(search.operations))
        else:
            stop = start


def delete_pairs(search: Search) -> None:
    """Delete two operations at once, until no pair can be deleted. Does nothing with a long trace."""
    while len(search.operations) <= MOST_FOR_PAIRS:
        if not _delete_a_pair(search):
            return


def _delete_a_pair(search: Search) -> bool:
    operations = search.operations
    # The operation that shows the finding is the last one: it has to stay, or another has to show it.
    for first, second in combinations(reversed(range(len(operations) - 1)), 2):
        kept = [one for index, one in enumerate(operations) if index not in (first, second)]
        if search.accepts_operations(kept):
            return True
    return False
