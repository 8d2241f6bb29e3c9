"""All laws over one unified allocator, in the order in which they are judged: the narrower diagnosis first.

Guarantees the same as ``oracle.laws.judgement`` does for the other families: it knows what the target returned, what the
caller freed, and the target's own snapshot; no prediction and no contract. A law that comes later may count on those
before it.
"""

from __future__ import annotations

from oracle.geometry import Geometry
from oracle.laws import (
    call_laws,
    unified_books,
    unified_calls,
    unified_prepared,
    unified_promises,
    unified_spans,
    unified_tables,
)
from oracle.laws.made_call import MadeCall
from oracle.laws.unified_books import HeldPages
from oracle.laws.unified_content import WrittenNumbers
from oracle.laws.unified_names import BYTE_ACCOUNTING
from oracle.laws.unified_packed import PackedBands
from oracle.laws.unified_plans import judge_plan
from oracle.laws.unified_returned import judge_handed_out
from oracle.laws.violation import Violation
from oracle.ownership import Ownership
from oracle.unified_observation import UnifiedSnapshot


class UnifiedLaws:
    """The laws for one allocator of ``geometry``, from construction on. Traces share none."""

    def __init__(self, geometry: Geometry) -> None:
        self._spans = unified_spans.Spans(geometry)
        self._held = HeldPages()
        self._numbers = WrittenNumbers()
        two_pools = geometry.family == "unified-swa"
        self._packed = PackedBands(geometry) if two_pools else None

    def judge_call(self, made: MadeCall[UnifiedSnapshot], books: Ownership) -> Violation | None:
        """Judge one call right after it was made. ``books`` do not contain its outcome yet."""
        call, outcome, before, after = made.call, made.outcome, made.before, made.after
        self._numbers.note_call(call, outcome)
        found = call_laws.judge_error(call, made.breaches, outcome)
        if found is None:
            found = unified_calls.judge_unowned(call, outcome, before, after)
        if found is None:
            found = unified_calls.judge_deferral(call, outcome, before, after)
        if found is None and call.method == "translate" and call.pool != "composite":
            grid = self._spans.grids[call.pool]
            found = unified_calls.judge_translation(
                call, outcome, before, grid.page_size, grid.pages
            )
        if found is None and outcome.value is not None and not outcome.error:
            found = judge_handed_out(call, outcome.value, before, after, books)
        if found is None:
            found = unified_prepared.judge_prepared_call(call, outcome, before, after, books)
        if found is None and not made.breaches:
            found = self._judge_capacity(made, books)
        return found

    def _judge_capacity(
        self, made: MadeCall[UnifiedSnapshot], books: Ownership
    ) -> Violation | None:
        """What the call said of capacity, and what it did of what was said before (P11, P13 to P15)."""
        call, outcome, before, after = made.call, made.outcome, made.before, made.after
        return (
            unified_promises.judge_promise(call, outcome, before, after, books)
            or unified_promises.judge_refusal(call, outcome, before, self._packed, books)
            or judge_plan(call, outcome, before, self._packed, books)
            or unified_promises.judge_eviction(call, outcome, before, after)
        )

    def judge_state(self, after: UnifiedSnapshot, books: Ownership) -> Violation | None:
        """Judge the state after a whole operation, all of whose calls are booked."""
        self._held.follow(books)
        return (
            self._judge_sentinels(after)
            or self._spans.judge_order(after)
            or unified_tables.judge_bound_on_both(after)
            or self._judge_bands(after, books)
            or unified_books.judge_capacity(after)
            or unified_prepared.judge_prepared_state(after, books)
            or unified_books.judge_everything_returned(after, books)
            or self._held.judge_bound(after)
            or _judge_accounting(after, books)
            or self._numbers.judge(after, books)
        )

    def _judge_sentinels(self, after: UnifiedSnapshot) -> Violation | None:
        for name, grid in self._spans.grids.items():
            found = unified_tables.judge_sentinels(name, after.bands[name], grid)
            if found is not None:
                return found
        return None

    def _judge_bands(self, after: UnifiedSnapshot, books: Ownership) -> Violation | None:
        reserved = unified_books.reserved_pages(books)
        for name, grid in self._spans.grids.items():
            band = after.bands[name]
            span = self._spans.span_of(name, band)
            waiting = reserved if name == "swa" else frozenset[int]()
            found = (
                unified_tables.judge_ids(name, band, grid)
                or unified_tables.judge_shared(name, band)
                or unified_spans.judge_partition(name, band, span, waiting)
                or unified_tables.judge_inverse(name, band, span)
                or unified_spans.judge_live(name, band, span, grid)
            )
            if found is not None:
                return found
        return None


def _judge_accounting(after: UnifiedSnapshot, books: Ownership) -> Violation | None:
    """The allocator's own verifier has no complaint. A page that is reserved for a load has no owner yet, which the
    verifier of a floating band does not know.
    """
    if books.loading or books.reservations or not after.byte_accounting:
        return None
    expected = "the allocator's own byte accounting has no complaint"
    return Violation(BYTE_ACCOUNTING, "", expected, after.byte_accounting[0])
