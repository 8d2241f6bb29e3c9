"""The pass that replaces an operation by one that does the work of two, and deletes the other.

Accepts only what makes the trace shorter, so the kinds of a reduced trace stay those that were found.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from oracle import operations as op
from oracle.operations import Operation
from strategies.reducing.search import Search

MOST_OPERATIONS = 7
MORE_PAGES = (1, 2, 3)
WHOLE_ROW = 839
"""A number of pages beyond the first that means all of them for rows of up to eight pages: one less than 840."""


def shorten_by_replacing(search: Search) -> None:
    """Replace one operation and delete another, until no such pair is left. Does nothing with a long trace."""
    while len(search.operations) <= MOST_OPERATIONS:
        if not _shorten_once(search):
            return


def replacements(operation: Operation) -> Iterator[Operation]:
    """What may do more than ``operation`` at once, or the same without another one before it."""
    if isinstance(operation, op.Alloc | op.Load | op.ExtendTail):
        for more in MORE_PAGES:
            yield replace(operation, amount=operation.amount + more)
    if isinstance(operation, op.Alloc | op.Extend):
        yield op.Load()
        yield op.Load(amount=1)
    if isinstance(operation, op.Extend):
        part = operation.parts[0]
        for more in (0, *MORE_PAGES):
            yield op.Alloc(amount=part.amount + more, unit=part.unit)
    if isinstance(operation, op.Release | op.Drain):
        request = operation.request if isinstance(operation, op.Release) else 0
        yield op.FreeSegment(request=request, pages=WHOLE_ROW)
        yield op.Release(request=request)
    if isinstance(operation, op.FreeSegments):
        yield op.FreeSegment(request=operation.request, page=operation.page, pages=WHOLE_ROW)
    if isinstance(operation, op.Evict):
        yield op.FreeSegment(method="free_swa_segment", request=operation.request)


def _shorten_once(search: Search) -> bool:
    operations = search.operations
    for index in reversed(range(len(operations))):
        for replaced in replacements(operations[index]):
            changed = (*operations[:index], replaced, *operations[index + 1 :])
            for other in reversed(range(len(operations))):
                if other == index:
                    continue
                if search.accepts_operations(changed[:other] + changed[other + 1 :]):
                    return True
    return False
