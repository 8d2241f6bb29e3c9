"""A reclaim plan of two pools gives up as little as will do, one side before the other (contract_unified §8, P13)."""

from __future__ import annotations

from oracle.call import Call
from oracle.laws.unified_names import PLAN_MINIMAL
from oracle.laws.unified_packed import PackedBands
from oracle.laws.unified_promises import wanted_pages, wanted_swa_pages
from oracle.laws.violation import Violation
from oracle.observation import Outcome
from oracle.ownership import Ownership
from oracle.unified_observation import UnifiedSnapshot


def judge_plan(
    call: Call,
    outcome: Outcome,
    before: UnifiedSnapshot,
    packed: PackedBands | None,
    books: Ownership,
) -> Violation | None:
    """The plan is enough, and less of either side would not be; none is made only where nothing helps.

    Judged where pages may move: a plan then counts on bands with every hole closed.
    """
    if packed is None or call.method != "reclaim_plan" or outcome.error:
        return None
    if call.empty_pool or not packed.may_move(books):
        return None
    if call.need < 0 or (call.need_swa or 0) < 0:
        return None
    size = packed.page_size
    demand = (wanted_pages(call, size), wanted_swa_pages(call, size))
    most = (
        min(before.bands["full"].live, call.evictable_full // size),
        min(before.bands["swa"].live, call.evictable_swa // size),
    )

    def fits(full: int, swa: int) -> bool:
        return packed.fits(before, *demand, reclaimed=(full, swa))

    if outcome.value is None:
        return _wrong(f"a plan, as {most} pages are enough", "none") if fits(*most) else None
    if len(outcome.value) != 2 or any(part % size or part < 0 for part in outcome.value):
        return _wrong("slots of whole pages of both sides", str(outcome.value))
    full, swa = (part // size for part in outcome.value)
    if (full, swa) == (0, 0) and fits(0, 0):
        return None
    if full > most[0] or swa > most[1] or not fits(full, swa):
        return _wrong(f"a plan within {most} pages that is enough for {demand}", f"{(full, swa)}")
    spared_swa = (full if call.prefer_swa else most[0], swa - 1)
    spared_full = (full - 1, most[1] if call.prefer_swa else swa)
    for fewer in (spared_swa, spared_full):
        if min(fewer) >= 0 and fits(*fewer):
            return _wrong(f"no more pages than {fewer}, which are enough", f"{(full, swa)}")
    return None


def _wrong(expected: str, got: str) -> Violation:
    return Violation(PLAN_MINIMAL, "", expected, got)
