"""The laws of the page-interleave allocator: pages keep to their classes, and rows go through the classes in turn
(contract_paged_swa §9, §15.17).
"""

from __future__ import annotations

from itertools import chain

from msgspec import structs

from oracle.call import Call
from oracle.geometry import Geometry
from oracle.laws import call_laws
from oracle.laws.family_laws import FamilyLaws
from oracle.laws.made_call import MadeCall
from oracle.laws.violation import (
    CAPACITY_WITHIN_SIZE,
    FAILED_CALL_CHANGES_NOTHING,
    PAGE_CLASS,
    ROTATION,
    Violation,
)
from oracle.laws.wording import near
from oracle.observation import Outcome, Snapshot
from oracle.ownership import Ownership, Request


class InterleaveLaws(FamilyLaws):
    """The laws of one paged pool whose free list is split into classes."""

    def __init__(self, geometry: Geometry) -> None:
        super().__init__(geometry)
        self._ranks = geometry.family_sizes.ranks
        self._page_size = geometry.page_size

    def judge_call(self, made: MadeCall[Snapshot], books: Ownership) -> Violation | None:
        """Judge one call: a failed one leaves classes and the caller's bases alone, others keep to the rotation."""
        call, outcome = made.call, made.outcome
        if call_laws.failed(call, outcome):
            found = self._judge_unchanged(made)
            if found is not None:
                return found
            # Merged class by class, so the list of all classes is not sorted as a whole.
            made = structs.replace(made, before=made.after)
        return super().judge_call(made, books) or self._judge_draws(call, outcome)

    def judge_state(self, after: Snapshot, books: Ownership) -> Violation | None:
        """Judge the state, the classes and the rows."""
        return (
            super().judge_state(after, books)
            or self._judge_classes(after)
            or self._judge_queries(after)
            or self._judge_rows(books)
        )

    def view(self, state: Snapshot) -> Snapshot:
        """One paged pool: the classes one after the other, and all there is as available."""
        staged = [pages for pages in state.class_staged if pages]
        available = state.queries.get("aggregate_free_size", 0)
        full = structs.replace(
            state.full,
            free=list(chain.from_iterable(state.classes or [])),
            staged=staged,
            staged_count=sum(map(len, staged)),
            available=available,
        )
        return structs.replace(state, full=full)

    def _judge_unchanged(self, made: MadeCall[Snapshot]) -> Violation | None:
        call, outcome, before, after = made.call, made.outcome, made.before, made.after
        given = tuple(-1 if base is None else base for base in call.rotation_bases)
        if outcome.resolved not in ((), given):
            return Violation(
                law=FAILED_CALL_CHANGES_NOTHING,
                pool="",
                expected=f"the caller's rotation bases are as before the failed {call.method}: {near(given, 0)}",
                got=near(outcome.resolved, 0),
            )
        if before.full.group != after.full.group or before.queries != after.queries:
            return Violation(
                law=FAILED_CALL_CHANGES_NOTHING,
                pool="",
                expected=f"the pile and the sizes are as before the failed {call.method}",
                got="they differ",
            )
        changed = zip(_lists(before), _lists(after), strict=False)
        for rank, ((free, staged), (free_now, staged_now)) in enumerate(changed):
            same = free == free_now and staged == staged_now
            if not same and (staged_now or free_now != sorted(free + staged)):
                return Violation(
                    law=FAILED_CALL_CHANGES_NOTHING,
                    pool="full",
                    expected=f"class {rank} is as before the failed {call.method}, or merged: {near(free, 0)}",
                    got=near(free_now, 0) or "nothing",
                )
        return None

    def _judge_draws(self, call: Call, outcome: Outcome) -> Violation | None:
        """Each request's new pages come from the class of their place in the row and the classes after it."""
        if outcome.value is None or outcome.error:
            return None
        if call.method == "alloc_cyclic":
            return self._judge_draw(outcome.value, 0, call.need, 0, call.start_class)
        if call.method != "alloc_extend":
            return None
        found = _judge_bases(call, outcome, self._ranks)
        first = 0
        for prefix, seq, base in zip(
            call.prefix_lens, call.seq_lens, outcome.resolved, strict=False
        ):
            found = found or self._judge_draw(outcome.value, first, seq - prefix, prefix, base)
            first += seq - prefix
        return found

    def _judge_draw(
        self, value: tuple[int, ...], first: int, count: int, prefix: int, base: int
    ) -> Violation | None:
        for at in range(first, min(first + count, len(value)), self._page_size):
            place = (prefix + at - first) // self._page_size
            expected = (base + place) % self._ranks
            page = value[at] // self._page_size
            if page % self._ranks != expected:
                return _rotated(place, expected, page % self._ranks, near(value, at))
        return None

    def _judge_classes(self, after: Snapshot) -> Violation | None:
        lists = _lists(after)
        if len(lists) != self._ranks:
            return Violation(PAGE_CLASS, "full", f"{self._ranks} classes", f"{len(lists)}")
        for rank, (free, staged) in enumerate(lists):
            for pages in (free, staged):
                for at, page in enumerate(pages):
                    if page % self._ranks != rank:
                        return Violation(
                            law=PAGE_CLASS,
                            pool="full",
                            expected=f"class {rank} has pages that are {rank} modulo {self._ranks}",
                            got=near(pages, at),
                        )
        return None

    def _judge_queries(self, after: Snapshot) -> Violation | None:
        counts = [len(free) + len(staged) for free, staged in _lists(after)]
        expected = {
            "available_size": self._ranks * self._page_size * min(counts),
            "least_full_class": counts.index(max(counts)),
        }
        for query, value in expected.items():
            if after.queries.get(query) != value:
                return Violation(
                    law=CAPACITY_WITHIN_SIZE,
                    pool="",
                    expected=f"{query} {value}: the classes have {near(counts, 0)} pages",
                    got=f"{query} {after.queries.get(query)}",
                )
        return None

    def _judge_rows(self, books: Ownership) -> Violation | None:
        for request in books.requests:
            found = self._judge_row(request, books)
            if found is not None:
                return found
        return None

    def _judge_row(self, request: Request, books: Ownership) -> Violation | None:
        slots = request.slots[:: self._page_size]
        if not slots:
            return None
        start = books.first_class.get(request.identity, slots[0] // self._page_size)
        for page, slot in enumerate(slots):
            rank = slot // self._page_size % self._ranks
            expected = (start + page) % self._ranks
            if rank != expected and page not in request.gone:
                where = f"request {request.identity}, slot {slot}"
                return _rotated(page, expected, rank, where)
        return None


def _judge_bases(call: Call, outcome: Outcome, ranks: int) -> Violation | None:
    """A base that was given stays, one that was open is a class now."""
    resolved = outcome.resolved
    given = call.rotation_bases
    right = len(resolved) == len(given) and all(
        0 <= now < ranks if base is None else now == base
        for base, now in zip(given, resolved, strict=False)
    )
    if right:
        return None
    return Violation(
        law=ROTATION,
        pool="",
        expected=f"the bases {given}, with a class of 0 to {ranks - 1} where one was open",
        got=str(resolved),
    )


def _rotated(page: int, expected: int, rank: int, where: str) -> Violation:
    return Violation(
        law=ROTATION,
        pool="full",
        expected=f"page {page} of a row comes from class {expected}, in turn",
        got=f"class {rank}: {where}",
    )


def _lists(state: Snapshot) -> list[tuple[list[int], list[int]]]:
    """The free and the staged pages of each class."""
    classes = state.classes or []
    staged = [*state.class_staged, *([] for _ in classes)]
    return list(zip(classes, staged, strict=False))
