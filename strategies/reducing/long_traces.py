"""The pass that makes a long trace short enough for the others.

A run of a hundred thousand operations takes minutes, so every run has to tell much: first the end of the trace alone is tried, a
short end first, because what fails late in a day of traffic mostly fails in any traffic; then smaller pages, which make every further
run cheaper; then large chunks are deleted as long as that helps. A trace that is not quite so long is put over a smaller allocator
before its operations are deleted one by one: what it takes to fill one goes with its size. Guarantees at most some
``MOST_SWEEPS * 2 * FINEST`` runs for either, and does nothing with a trace of ``MIDDLING`` operations or less.
"""

from __future__ import annotations

from strategies.reducing.deletion import sweep
from strategies.reducing.geometry import scale_pages, shrink_geometry
from strategies.reducing.search import Search

LONG = 400
MIDDLING = 50
SHORTEST_END = 25
PLAIN_PAGE_SIZE = 4
FINEST = 16
"""The smallest chunk is the trace divided by this."""
MOST_SWEEPS = 8


def shorten_long(search: Search) -> None:
    """Shorten a long trace by its ends, its pages and its chunks."""
    if len(search.operations) <= LONG:
        return
    _keep_the_end(search)
    if len(search.operations) > LONG and search.best.geometry.page_size > PLAIN_PAGE_SIZE:
        scale_pages(search, PLAIN_PAGE_SIZE)
    for _ in range(MOST_SWEEPS):
        before = len(search.operations)
        if before <= LONG or not _delete_chunks(search, LONG):
            return


def shorten_middling(search: Search) -> None:
    """Shorten a trace by its chunks, its allocator and its ends, as long as a quarter of it goes."""
    for _ in range(MOST_SWEEPS):
        before = len(search.operations)
        if before <= MIDDLING:
            return
        _delete_chunks(search, MIDDLING)
        shrink_geometry(search)
        _keep_the_end(search)
        if len(search.operations) * 4 > before * 3:
            return


def _keep_the_end(search: Search) -> None:
    """The shortest end that shows the finding by itself; together the ends that are tried are no longer than the trace twice."""
    operations = search.operations
    length = SHORTEST_END
    while length < len(operations):
        if search.accepts_operations(operations[-length:]):
            return
        length *= 2


def _delete_chunks(search: Search, enough: int) -> bool:
    """Half of the trace, a quarter, down to a sixteenth, until ``enough`` operations are left; whether a quarter or more went."""
    before = len(search.operations)
    length = before // 2
    while length >= before // FINEST and len(search.operations) > enough:
        sweep(search, length)
        length //= 2
    return len(search.operations) * 4 <= before * 3
