"""The scheduler's state: who waits, runs and is cached, and what the caller's books say about them.

Guarantees that everything it says about the allocator comes from the caller's books and the public available sizes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from oracle import legality
from oracle.caller import Caller
from oracle.operations import Base
from oracle.ownership import Ownership, Request
from strategies.serving.draw import Draw
from strategies.serving.job import Cached, Job
from strategies.serving.workload import Lengths, Workload

Steps = Iterator[Base]
"""Operations, each of which must have been performed before the next one is asked for."""


class State:
    """The state of one simulated server in front of the allocator of ``caller``."""

    def __init__(self, caller: Caller, workload: Workload, draw: Draw) -> None:
        self.caller = caller
        self.workload = workload
        self.draw = draw
        self.lengths = Lengths(caller.page_size)
        self.page_size = caller.page_size
        self.hybrid = caller.hybrid
        self.to_come = workload.requests
        self.waiting: deque[Job] = deque()
        self.running: list[Job] = []
        self.finished: list[Job] = []
        """Done, but their rows are not given back yet."""
        self.cached: list[Cached] = []
        """The prefix cache, the oldest entry first."""

    @property
    def books(self) -> Ownership:
        """The caller's books."""
        return self.caller.books

    @property
    def is_idle(self) -> bool:
        """Nobody waits, runs or has to be cleaned up after."""
        return not (self.waiting or self.running or self.finished)

    def index(self, row: Request) -> int:
        """The number by which operations name a live row: 0 is the newest."""
        requests = self.books.requests
        return len(requests) - 1 - requests.index(row)

    def is_live(self, row: Request | None) -> bool:
        """Whether the books still have the row."""
        return row is not None and row in self.books.requests

    def pages(self, slots: int) -> int:
        """How many pages ``slots`` slots span."""
        return -(-slots // self.page_size)

    def new_pages(self, length: int, growth: int) -> int:
        """How many pages a row of ``length`` needs to grow by ``growth``."""
        return self.pages(length + growth) - self.pages(length)

    def fits(self, pages: int, pages_swa: int | None = None) -> bool:
        """Whether that many pages are free now; as many of either side where one number is given."""
        size = self.page_size
        if pages * size > self.caller.available_full:
            return False
        wanted = pages if pages_swa is None else pages_swa
        return not self.hybrid or wanted * size <= self.caller.available_swa

    def cached_pages(self) -> int:
        """How many pages the prefix cache could give up."""
        return sum(len(self.own_pages(entry.row)) for entry in self.cached)

    def own_pages(self, row: Request) -> list[int]:
        """The pages of the row that it holds alone."""
        books = self.books
        return [
            page
            for page in range(books.page_count(row))
            if page not in row.gone and books.holders[books.page_of(row, page)] == 1
        ]

    def evictable(self, row: Request, below: int) -> int:
        """How many pages one eviction can take the peers of, from the first that has one on; only pages below page ``below``."""
        books, count = self.books, 0
        for page in range(min(below, books.page_count(row))):
            free = page not in row.gone and not legality.holding(books, row, [page])
            if free and not legality.mapped(books, row, [page]):
                count += 1
            elif count:
                break
        return count

    def tombstoned(self, row: Request, pages: range) -> bool:
        """Whether none of these pages has peers."""
        return row.gone.isdisjoint(pages) and not legality.unmapped(self.books, row, pages)
