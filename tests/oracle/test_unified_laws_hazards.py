"""What the known bug classes of unified allocators do to the laws: each is found at the operation that does the damage.

The reference follows the contract of the current release, which trusts callers (contract_unified §9, §11).
"""

from __future__ import annotations

from typing import Any

import pytest
from unified_driver import full_and_state, three_pools, two_pools
from unified_house import broken

from oracle import legality
from oracle import operations as op
from oracle.call import Call
from oracle.geometry import Geometry
from oracle.lockstep import Judging, Session
from oracle.observation import Outcome
from oracle.unified_observation import UnifiedSnapshot
from targets.reference import ReferenceTarget

ROW = op.Alloc(amount=2, unit="pages")
RATCHET = op.FreeSegment(method="free_swa_segment")
FULL_ONLY = op.FreeSegment(method="free_full_segment")
PEERED = [two_pools(), three_pools()]
EACH_PEERED = pytest.mark.parametrize("geometry", PEERED, ids=["two", "three"])


def _session(geometry: Geometry, *operations: op.Base, target: Any = None, **how: Any) -> Session:
    judging = Judging(prediction=False)
    session = Session([target or ReferenceTarget()], geometry, judging=judging, **how)
    for operation in operations:
        session.step(operation)
    return session


def _only(session: Session) -> tuple[str, str, str, int]:
    """Kind, quantity, breach and index of the one finding."""
    assert len(session.findings) == 1, session.findings
    found = session.findings[0]
    return found.kind, found.quantity, found.breach, found.index


@EACH_PEERED
def test_the_second_half_of_a_double_ratchet_is_found_at_once(geometry: Geometry) -> None:
    session = _session(geometry, ROW, RATCHET, RATCHET, op.Drain())
    breach = legality.UNMAPPED_REPRESENTATIVE
    assert _only(session) == ("hazard", "swa.span-partition", breach, 2)
    assert "-1" in session.findings[0].got


@EACH_PEERED
def test_a_double_ratchet_of_all_pages_is_found_at_once(geometry: Geometry) -> None:
    whole = op.FreeSegment(method="free_swa_segment", pages=2)
    kind, _, breach, index = _only(_session(geometry, ROW, whole, whole))
    assert (kind, breach, index) == ("hazard", legality.UNMAPPED_REPRESENTATIVE, 2)


@EACH_PEERED
def test_a_ratchet_of_what_waits_in_a_group_is_found_when_the_group_ends(
    geometry: Geometry,
) -> None:
    both = op.FreeSegment(method="free_segment")
    again = op.StaleFree(method="free_swa_segment")
    session = _session(geometry, ROW, op.GroupBegin(), both, again)
    assert session.findings == [], "the first of the two frees that acts is a right one"
    session.step(op.GroupEnd())
    assert _only(session) == ("hazard", "swa.span-partition", legality.STALE, 4)


@EACH_PEERED
def test_a_full_only_free_of_a_bound_page_is_found_at_once(geometry: Geometry) -> None:
    session = _session(geometry, ROW, FULL_ONLY, op.Drain())
    breach = legality.PEER_STILL_MAPPED
    assert _only(session) == ("hazard", "swa.swa-bound-full-unbound", breach, 1)


@EACH_PEERED
def test_a_full_only_free_of_a_bound_page_is_found_when_its_group_ends(geometry: Geometry) -> None:
    session = _session(geometry, ROW, op.GroupBegin(), FULL_ONLY, op.GroupEnd())
    breach = legality.PEER_STILL_MAPPED
    assert _only(session) == ("hazard", "swa.swa-bound-full-unbound", breach, 3)


@pytest.mark.parametrize("geometry", [*PEERED, full_and_state()])
def test_a_row_that_is_freed_twice_is_found_at_once(geometry: Geometry) -> None:
    session = _session(geometry, ROW, op.Release(), op.StaleFree(method="free_segment"))
    kind, quantity, breach, index = _only(session)
    assert (kind, breach, index) == ("hazard", legality.STALE, 2)
    law = quantity.rpartition(".")[2]
    assert law in ("id-partition", "span-partition")


def test_a_pair_of_ratchets_on_one_page_ends_in_a_row_without_peers_and_lost_kv() -> None:
    """What follows when nobody stops at the hazard: -1 is handed out, and its KV is written nowhere."""
    session = _session(two_pools(), ROW, RATCHET, RATCHET)
    lane = session._lanes[0]
    lost = op.Alloc(amount=1, unit="pages")
    session.step(lost)
    state: Any = lane.last
    unbound = [page for page, place in enumerate(state.bands["swa"].v2p[:-1]) if place == -1]
    held = {slot // 4 for slot in session.caller.books.peered}
    assert held & set(unbound), "a page that the caller believes to have peers has none"


class _LosesFrees(ReferenceTarget):
    """Forgets what one method is given while a group is open."""

    name = "loses-frees"

    def __init__(self, method: str) -> None:
        super().__init__()
        self._method = method

    def apply(self, call: Call) -> Outcome:
        state = self.snapshot()
        assert isinstance(state, UnifiedSnapshot)
        if state.group_open and call.method == self._method:
            return Outcome()
        return super().apply(call)


@EACH_PEERED
@pytest.mark.parametrize(
    "free",
    [
        op.Free(method="free"),
        op.FreeSegment(method="free_segment"),
        op.Free(method="free_full"),
        op.FreeSegment(method="free_full_segment"),
    ],
    ids=lambda free: free.method,
)
def test_a_deferred_free_that_is_lost_is_found_when_the_group_ends(
    geometry: Geometry, free: Any
) -> None:
    target = _LosesFrees(free.method)
    ratchet = [RATCHET] if "full" in free.method else []
    session = _session(
        geometry, ROW, *ratchet, op.GroupBegin(), free, target=target, callers="legal"
    )
    assert session.findings == []
    session.step(op.GroupEnd())
    assert _only(session)[:3] == ("law", "full.bound-agrees-with-books", "")


class _LosesKv(ReferenceTarget):
    """Moves pages of one band in the tables, but not their KV."""

    name = "loses-kv"

    def __init__(self, band: str) -> None:
        super().__init__()
        self._band = band
        self._stays: list[int] = []
        self._moved = False

    def reset(self, geometry: Any, mode: Any) -> None:
        super().reset(geometry, mode)
        self._moved, self._stays = False, []

    def apply(self, call: Call) -> Outcome:
        before = super().snapshot()
        assert isinstance(before, UnifiedSnapshot)
        outcome = super().apply(call)
        after = super().snapshot()
        assert isinstance(after, UnifiedSnapshot)
        if any(copy.band == self._band for copy in after.copies):
            self._moved, self._stays = True, before.bands[self._band].content
        return outcome

    def snapshot(self) -> UnifiedSnapshot:
        state = super().snapshot()
        assert isinstance(state, UnifiedSnapshot)
        if self._moved:
            state.bands[self._band].content = list(self._stays)
        return state


@pytest.mark.parametrize(("band", "number"), [("full", 0), ("swa", 1)])
def test_a_flush_that_loses_kv_is_found_by_what_a_row_would_read(band: str, number: int) -> None:
    row = op.Alloc(amount=0, unit="pages")
    target = _LosesKv(band)
    session = _session(two_pools(), row, row, op.Release(request=1), target=target)
    session.step(op.Flush(band=number))
    kind, quantity, _, index = _only(session)
    assert (kind, quantity, index) == ("law", f"{band}.move-changes-no-owner", 3)
    lane = session._lanes[0]
    state: Any = lane.last
    found = broken(lane.laws.judge_state(state, session.caller.books), "content", band)
    assert "reads KV number" in found.expected


def test_an_allocation_that_moves_pages_without_their_kv_is_found_by_content() -> None:
    full = [op.Alloc(amount=0, unit="pages")] * 10
    target = _LosesKv("swa")
    session = _session(two_pools(), *full, target=target, callers="legal")
    session.step(op.Evict(request=9))
    session.step(op.Evict(request=8))
    assert session.findings == []
    session.step(op.ExtendTail(amount=4, unit="tokens", tail=0))
    assert _only(session) == ("law", "swa.content", "", 12)
    assert "reads KV number" in session.findings[0].expected
