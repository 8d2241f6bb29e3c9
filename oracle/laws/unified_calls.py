"""What a call on a unified allocator leaves alone: refused ones, ones that only move pages, deferred frees (P9, P11, P12)."""

from __future__ import annotations

from oracle.byte_buffer import BandName
from oracle.call import Call
from oracle.laws import call_laws
from oracle.laws.unified_bands import bands_of
from oracle.laws.unified_names import DEFERRAL, MOVE_CHANGES_NO_OWNER, TRANSLATE_TOTAL
from oracle.laws.unified_prepared import prepares_nothing
from oracle.laws.violation import FAILED_CALL_CHANGES_NOTHING, PoolName, Violation
from oracle.laws.wording import near
from oracle.observation import Outcome
from oracle.unified_observation import BandState, UnifiedSnapshot

PILES = ("token_pile", "representative_pile", "full_token_pile", "full_representative_pile")

DEFERRED = frozenset(
    {
        "free", "free_segment", "free_segments", "free_full", "free_full_segment",
        "free_full_segments",
    }
)  # fmt: skip
"""The frees of the composite that an open group defers."""

OWNERLESS = frozenset(
    {
        "flush", "ensure_capacity", "can_reserve", "reclaim_plan", "full_tokens_before_mamba_recheck",
        "translate", "set_move_gate", "begin_forward", "fire_event", "finish_load", "make_room",
        "compact_holes",
    }
)  # fmt: skip
"""Calls after which everybody owns what they owned: they answer, or move pages."""


def failed(call: Call, outcome: Outcome) -> bool:
    """Whether the call must have changed nothing but what a flush may change."""
    if call.method == "alloc_physical":
        return outcome.value is None and outcome.error in call_laws.REFUSALS
    return call_laws.failed(call, outcome)


def judge_unowned(
    call: Call, outcome: Outcome, before: UnifiedSnapshot, after: UnifiedSnapshot
) -> Violation | None:
    """After a failed call, a begin that prepares nothing, and a call that owns nothing, ids, live counts, who is bound, and the
    KV behind every bound page are as before, and so is what waits in the group.
    """
    if failed(call, outcome) or prepares_nothing(call, outcome, after):
        law = FAILED_CALL_CHANGES_NOTHING
    elif call.method in OWNERLESS and not outcome.error:
        law = MOVE_CHANGES_NO_OWNER
    else:
        return None
    if _waiting(before) != _waiting(after):
        return _changed(law, call, "", "the group and its piles", "they differ")
    for name, old in bands_of(before):
        new = after.bands[name]
        if old.free_ids != new.free_ids:
            return _changed(
                law, call, name, "the free ids", _difference(old.free_ids, new.free_ids)
            )
        if old.live != new.live:
            return _changed(law, call, name, f"live {old.live}", f"live {new.live}")
        if old.pending_load != new.pending_load and call.method != "finish_load":
            got = f"{old.pending_load}, then {new.pending_load}"
            return _changed(law, call, name, "how many pages wait for a load", got)
        found = _moved_wrongly(law, call, name, old, new)
        if found is not None:
            return found
    return None


def judge_deferral(
    call: Call, outcome: Outcome, before: UnifiedSnapshot, after: UnifiedSnapshot
) -> Violation | None:
    """A free that an open group defers changes no table, id, count or view: only a pile grows."""
    if call.pool != "composite" or outcome.error:
        return None
    opening = call.method == "free_group_begin"
    if not opening and not (call.method in DEFERRED and before.group_open):
        return None
    if not after.group_open:
        return Violation(DEFERRAL, "", f"the group is open after {call.method}", "it is closed")
    for name, old in bands_of(before):
        if old != after.bands[name]:
            field = _first_field(old, after.bands[name])
            expected = f"{field} is as before {call.method}, which waits for the end of the group"
            return Violation(
                DEFERRAL, name, expected, _field_difference(field, old, after.bands[name])
            )
    for query, slots in before.queries.items():
        if after.queries.get(query) != slots:
            got = f"{query} {after.queries.get(query)}"
            return Violation(DEFERRAL, "", f"{query} {slots}, as before {call.method}", got)
    return None


def judge_translation(
    call: Call, outcome: Outcome, before: UnifiedSnapshot, page_size: int, pages: int
) -> Violation | None:
    """Every virtual slot has a place among the band's ``pages``: the one that the table names, padding where it names none.

    States are looked up as the table has them (P16).
    """
    if call.method != "translate" or call.pool == "composite" or outcome.value is None:
        return None
    band, name = before.bands[call.pool], call.pool
    if len(outcome.value) != len(call.slots):
        got = f"{len(outcome.value)} places"
        return Violation(TRANSLATE_TOTAL, name, f"{len(call.slots)} places", got)
    for at, (slot, place) in enumerate(zip(call.slots, outcome.value, strict=True)):
        inside = 0 <= slot < len(band.v2p) * page_size
        page = band.v2p[slot // page_size] if inside else -1
        wanted = page * page_size + slot % page_size
        if name != "state":
            wanted = max(0, wanted)
        if place != wanted or place >= pages * page_size:
            expected = f"{name.upper()} slot {slot} is at place {wanted}"
            return Violation(TRANSLATE_TOTAL, name, expected, near(outcome.value, at))
    return None


def _moved_wrongly(
    law: str, call: Call, name: BandName, old: BandState, new: BandState
) -> Violation | None:
    if old.v2p == new.v2p and old.content == new.content:
        return None
    size = len(old.content) // len(old.p2v)
    for page, (was, now) in enumerate(zip(old.v2p, new.v2p, strict=False)):
        if (was > 0) != (now > 0):
            expected = (
                f"virtual page {page} is bound" if was > 0 else f"virtual page {page} is unbound"
            )
            return _changed(law, call, name, expected, f"to page {was} before, to page {now} now")
        if was <= 0:
            continue
        left = old.content[was * size : (was + 1) * size]
        right = new.content[now * size : (now + 1) * size]
        if left != right:
            got = f"{left} on page {was} before, {right} on page {now} now"
            return _changed(law, call, name, f"the KV of virtual page {page}", got)
    return None


def _waiting(state: UnifiedSnapshot) -> tuple[bool, list[list[list[int]]]]:
    return state.group_open, [getattr(state, pile) for pile in PILES]


def _first_field(old: BandState, new: BandState) -> str:
    fields = BandState.__struct_fields__
    return next(field for field in fields if getattr(old, field) != getattr(new, field))


def _field_difference(field: str, old: BandState, new: BandState) -> str:
    return _difference(getattr(old, field), getattr(new, field))


def _difference(old: object, new: object) -> str:
    if isinstance(old, list) and isinstance(new, list) and new:
        pairs = enumerate(zip(old, new, strict=False))
        at = next((at for at, (was, now) in pairs if was != now), min(len(old), len(new) - 1))
        return near(new, min(at, len(new) - 1))
    return f"{old}, then {new}"


def _changed(law: str, call: Call, pool: PoolName, what: str, got: str) -> Violation:
    return Violation(law, pool, f"{what}, as before {call.method}", got)
