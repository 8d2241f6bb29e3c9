"""The laws that only allocators over one shared buffer have (contract_unified §15).

Guarantees that the names are stable kebab-case ones, as ``oracle.laws.violation`` does; what both kinds of allocator have
keeps the name that it has there.
"""

from __future__ import annotations

from oracle.laws.violation import (
    CAPACITY_WITHIN_SIZE,
    EVERYTHING_RETURNED,
    FAILED_CALL_CHANGES_NOTHING,
    LEGAL_CALL_RAISED,
    RETURNED_SLOTS,
)

SENTINELS = "sentinels"
SPANS_ORDERED = "spans-ordered"
ID_PARTITION = "id-partition"
SWA_BOUND_FULL_UNBOUND = "swa-bound-full-unbound"
PHYSICAL_PAGE_SHARED = "physical-page-shared"
TABLE_INVERSE = "table-inverse"
SPAN_PARTITION = "span-partition"
LIVE_COUNT = "live-count"
TRANSLATE_TOTAL = "translate-total"
PROMISE_KEPT = "promise-kept"
REFUSED_THOUGH_IT_FITS = "refused-though-it-fits"
PLAN_MINIMAL = "plan-minimal"
EVICTION_SEES_DEFERRED_FREES = "eviction-sees-deferred-frees"
DEFERRAL = "deferral"
MOVE_CHANGES_NO_OWNER = "move-changes-no-owner"
PREPARED_STATES = "prepared-states"
BOUND_AGREES_WITH_BOOKS = "bound-agrees-with-books"
BYTE_ACCOUNTING = "byte-accounting"
CONTENT = "content"

UNIFIED_LAW_NAMES = (
    LEGAL_CALL_RAISED,
    FAILED_CALL_CHANGES_NOTHING,
    MOVE_CHANGES_NO_OWNER,
    DEFERRAL,
    RETURNED_SLOTS,
    PREPARED_STATES,
    TRANSLATE_TOTAL,
    PROMISE_KEPT,
    REFUSED_THOUGH_IT_FITS,
    PLAN_MINIMAL,
    EVICTION_SEES_DEFERRED_FREES,
    SENTINELS,
    SPANS_ORDERED,
    SWA_BOUND_FULL_UNBOUND,
    ID_PARTITION,
    PHYSICAL_PAGE_SHARED,
    TABLE_INVERSE,
    SPAN_PARTITION,
    LIVE_COUNT,
    CAPACITY_WITHIN_SIZE,
    EVERYTHING_RETURNED,
    BOUND_AGREES_WITH_BOOKS,
    BYTE_ACCOUNTING,
    CONTENT,
)
"""Every law over a unified allocator, in the order in which they are judged: of a call, then of a state."""
