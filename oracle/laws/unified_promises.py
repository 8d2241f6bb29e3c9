"""What a unified allocator said of its capacity binds it: P11, P14 and P15 of contract_unified §15.

A law here compares what one call said with what the next one did, or with the bytes that are left; it never works out
which pages move.
"""

from __future__ import annotations

from oracle.call import Call
from oracle.laws.unified_names import (
    EVICTION_SEES_DEFERRED_FREES,
    PROMISE_KEPT,
    REFUSED_THOUGH_IT_FITS,
)
from oracle.laws.unified_packed import PackedBands
from oracle.laws.violation import Violation
from oracle.observation import Outcome
from oracle.ownership import Ownership
from oracle.unified_observation import UnifiedSnapshot

PILES = ("token_pile", "representative_pile", "full_token_pile", "full_representative_pile")
GROWING = frozenset({"alloc", "alloc_extend", "alloc_decode"})
"""The calls that take as many pages of each side."""
ENSURING = frozenset({"ensure_capacity", "evict_to_free_tokens", "check_decode_capacity"})
"""The calls whose yes is a promise about the next allocation."""


def wanted_pages(call: Call, page_size: int) -> int:
    """How many pages an allocation wants on each side, or any other call on the FULL side."""
    if call.method not in GROWING or call.method == "alloc":
        return -(-call.need // page_size)
    prefixes = call.prefix_lens
    if call.method == "alloc_decode":
        prefixes = tuple(length - 1 for length in call.seq_lens)
    lengths = zip(prefixes, call.seq_lens, strict=True)
    return sum(-(-length // page_size) - -(-prefix // page_size) for prefix, length in lengths)


def wanted_swa_pages(call: Call, page_size: int) -> int:
    """How many pages the call wants on the SWA side."""
    if call.need_swa is None:
        return wanted_pages(call, page_size)
    return -(-call.need_swa // page_size)


def promised_slots(call: Call) -> int:
    """How many slots of both sides at once a yes to the call promises. An eviction takes no 0 for the SWA side (§10)."""
    swa = call.need_swa
    if swa is None or (swa == 0 and call.method != "ensure_capacity"):
        return call.need
    return min(call.need, swa)


def judge_promise(
    call: Call,
    outcome: Outcome,
    before: UnifiedSnapshot,
    after: UnifiedSnapshot,
    books: Ownership,
) -> Violation | None:
    """What was available is allocated, and for that no page moves on two sides; what a call ensured is available.

    Not while pages are reserved for a load: the gate of an allocation keeps ids back for them, the joint view does not (§8).
    """
    if books.reservations:
        return None
    page_size = books.page_size
    if call.pool == "state" and call.method in ("alloc", "alloc_group_begin"):
        return _judge_states(call, outcome, before, after)
    if call.pool != "composite" or outcome.error:
        return None
    if call.method in GROWING:
        return _judge_available(call, outcome, before, after, page_size)
    if call.method in ENSURING and outcome.value == (1,):
        wanted = promised_slots(call)
        available = after.queries["available_size"]
        if available < wanted:
            expected = f"at least {wanted} slots are available after {call.method} said yes"
            return Violation(PROMISE_KEPT, "", expected, f"{available} are")
    return None


def _judge_states(
    call: Call, outcome: Outcome, before: UnifiedSnapshot, after: UnifiedSnapshot
) -> Violation | None:
    """States that are available, or prepared and wanted one by one, are not refused; a begin answers by what it prepared."""
    begins = call.method == "alloc_group_begin"
    refused = after.prepared is None if begins else outcome.value is None
    if outcome.error or not refused:
        return None
    available = before.bands["state"].available
    if 0 < call.need <= available:
        return _broken("state", f"{call.need} of {available} available states", "a refusal")
    if before.prepared and call.need == 1 and not begins:
        return _broken("state", f"one of {len(before.prepared)} prepared states", "a refusal")
    return None


def _judge_available(
    call: Call, outcome: Outcome, before: UnifiedSnapshot, after: UnifiedSnapshot, page_size: int
) -> Violation | None:
    slots, available = wanted_pages(call, page_size) * page_size, before.queries["available_size"]
    if slots > available:
        return None
    if outcome.value is None and call.need >= 0:
        return _broken("", f"{slots} of {available} available slots", "a refusal")
    if "swa" in before.bands and after.copies:
        got = f"{len(after.copies)} pages moved, such as {after.copies[0]}"
        return _broken("", f"{slots} of {available} available slots without moving a page", got)
    return None


def judge_refusal(
    call: Call,
    outcome: Outcome,
    before: UnifiedSnapshot,
    packed: PackedBands | None,
    books: Ownership,
) -> Violation | None:
    """Two lazy pools say no only to what would not fit with every hole closed, unless pages must not move (P14)."""
    if packed is None or call.pool != "composite" or outcome.error or not packed.may_move(books):
        return None
    refused = outcome.value is None if call.method in GROWING else outcome.value == (0,)
    if not refused or call.method not in (*GROWING, "ensure_capacity"):
        return None
    if call.need < 0 or (call.need_swa or 0) < 0:
        return None
    full = wanted_pages(call, packed.page_size)
    swa = wanted_swa_pages(call, packed.page_size)
    if not packed.fits(before, full, swa):
        return None
    expected = f"{full} FULL and {swa} SWA pages, which fit once all holes are closed"
    return Violation(REFUSED_THOUGH_IT_FITS, "", expected, f"{call.method} refuses them")


def judge_eviction(
    call: Call, outcome: Outcome, before: UnifiedSnapshot, after: UnifiedSnapshot
) -> Violation | None:
    """Nothing is evicted, and nothing refused, while what the group held before still waits (P15)."""
    if call.method not in ("evict_to_free_tokens", "check_decode_capacity") or outcome.error:
        return None
    if not before.group_open or (not outcome.evicted and outcome.value != (0,)):
        return None
    if call.tree is None:
        return None
    for name in PILES:
        waiting = getattr(before, name)
        if waiting and getattr(after, name)[: len(waiting)] == waiting:
            expected = f"the {len(waiting)} deferred frees of the {name} are made first"
            got = "they wait still, and " + (
                f"{len(outcome.evicted)} things are evicted" if outcome.evicted else "it says no"
            )
            return Violation(EVICTION_SEES_DEFERRED_FREES, "", expected, got)
    return None


def _broken(pool: str, expected: str, got: str) -> Violation:
    return Violation(PROMISE_KEPT, "state" if pool == "state" else "", expected, got)
