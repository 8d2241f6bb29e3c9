"""The known bug classes as operations of a trace: what a caller does, not which slots it names (contract_unified §11)."""

from __future__ import annotations

from typing import Any

import pytest
from unified_driver import three_pools, two_pools

from oracle import legality
from oracle import operations as op
from oracle.contract import SEGMENT_BOUND, SEGMENT_RELEASED
from oracle.geometry import Geometry
from oracle.lockstep import CallRecord, Session
from targets.reference import ReferenceTarget


def _run(geometry: Geometry, *operations: op.Base, callers: Any = "hostile") -> list[CallRecord]:
    session = Session([ReferenceTarget()], geometry, callers=callers, keep_records=True)
    for operation in operations:
        session.step(operation)
    assert session.undefined == ""
    assert not [finding for finding in session.findings if finding.kind != "hazard"]
    return session.records or []


def test_b1_a_group_of_full_only_segments_and_an_eviction_that_must_size_itself():
    records = _run(
        two_pools(),
        op.Alloc(amount=7, unit="pages"),
        op.Alloc(amount=1, unit="pages"),
        op.Evict(request=1, pages=3),
        op.GroupBegin(),
        op.FreeSegment(method="free_full_segment", request=1, pages=3),
        op.EvictForAlloc(amount=3, rows=2),
        callers="legal",
    )
    assert (records[-1].got.value, records[-1].got.evicted) == ((1,), ())


@pytest.mark.parametrize("geometry", [two_pools(), three_pools()], ids=["two", "three"])
def test_b2_a_double_ratchet_in_three_operations(geometry):
    ratchet = op.FreeSegment(method="free_swa_segment")
    records = _run(geometry, op.Alloc(amount=2, unit="pages"), ratchet, ratchet)
    last = records[-1]
    assert last.breaches == (legality.UNMAPPED_REPRESENTATIVE,)
    assert [hit.name for hit in last.got.hits] == [SEGMENT_BOUND]


def test_b3_a_full_only_free_of_a_bound_page():
    records = _run(two_pools(), op.Alloc(unit="pages"), op.FreeSegment(method="free_full_segment"))
    assert records[-1].breaches == (legality.PEER_STILL_MAPPED,)
    assert [hit.name for hit in records[-1].got.hits] == [SEGMENT_RELEASED]


def test_b8_and_b9_shared_pages_and_starts_inside_a_page():
    row = op.Alloc(amount=3, unit="pages")
    sharing = op.FreeSegments(runs=(1, 1), arrangement="sharing")
    records = _run(two_pools(), row, sharing)
    assert legality.SEGMENTS_OUT_OF_ORDER in records[-1].breaches
    assert records[-1].got.error == "AssertionError"
    records = _run(two_pools(), row, op.FreeSegment(shift=1))
    assert (records[-1].breaches, records[-1].got.error) == (
        (legality.UNALIGNED_START,),
        "AssertionError",
    )


def test_b10_an_eager_free_behind_a_gate_or_under_a_load():
    geometry = two_pools(lazy=False)
    row = op.Alloc(amount=1, unit="pages")
    for guard in (op.Gate(), op.Reserve()):
        last = _run(geometry, row, guard, op.Free(method="free_swa"))[-1]
        assert last.breaches == (legality.GUARDED_MOVE,)
        guarded_band = isinstance(guard, op.Reserve)
        assert (last.got.error == "AssertionError") == guarded_band
    gated_swa = _run(geometry, row, op.Gate(band=1), op.Free(method="free_swa"))
    assert gated_swa[-1].got.error == "AssertionError"


def test_a_release_is_split_at_the_eviction_floor_and_frees_the_dead_part_first():
    records = _run(
        two_pools(),
        op.Alloc(amount=3, unit="pages"),
        op.Evict(pages=1),
        op.Release(),
        callers="legal",
    )
    assert [record.call.method for record in records[-2:]] == [
        "free_full_segments",
        "free_segments",
    ]


def test_an_event_that_fires_late_and_a_gate_that_opens_and_closes():
    records = _run(
        two_pools(),
        op.Alloc(amount=3, unit="pages"),
        op.BeginForward(),
        op.Evict(),
        op.Gate(band=1),
        op.Flush(band=1),
        op.Gate(band=1, state="open"),
        op.Flush(band=1),
        op.FireEvent(),
        op.Flush(band=1),
        op.Flush(band=1),
        callers="legal",
    )
    flushed = [record.got.value for record in records if record.call.method == "flush"]
    assert flushed == [(0,), (0,), (1,), (0,)], "gated, about to be written, moved, absorbed"


def test_a_tree_row_that_was_evicted_is_no_longer_the_callers():
    session = Session([ReferenceTarget()], two_pools(), callers="legal", keep_records=True)
    for operation in (
        op.Alloc(amount=4, unit="pages"),
        op.Alloc(amount=4, unit="pages"),
        op.EvictForAlloc(amount=4, rows=1),
    ):
        session.step(operation)
    assert [one.part for one in (session.records or [])[-1].got.evicted] == ["swa", "full"]
    assert len(session.caller.books.requests) == 1


def test_a_drain_gives_states_and_reservations_back_too():
    session = Session([ReferenceTarget()], three_pools(), callers="legal", keep_records=True)
    for operation in (
        op.StateAlloc(count=2),
        op.Alloc(amount=2, unit="pages"),
        op.Evict(pages=0),
        op.Reserve(pages=1),
        op.BindReserved(),
        op.Gate(band=2),
        op.GroupBegin(),
        op.Drain(),
    ):
        session.step(operation)
    snapshot: Any = session._lanes[0].last
    assert {name: band.live for name, band in snapshot.bands.items()} == {
        "full": 0,
        "swa": 0,
        "state": 0,
    }
    assert snapshot.bands["swa"].pending_load == 0
