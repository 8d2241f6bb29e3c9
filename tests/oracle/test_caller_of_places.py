"""A caller gives places back by itself where the target leaves them (contract_paged_swa §13.2, "DSV4 HiSparse `free`")."""

from __future__ import annotations

from typing import Literal

import pytest
from msgspec import structs

from oracle import legality
from oracle import operations as op
from oracle.contract import Contract, current_contract
from oracle.family_sizes import FamilySizes
from oracle.geometry import Geometry, Mode
from oracle.lockstep import Session
from oracle.reference import make_reference
from targets.reference import ReferenceTarget

PAIRS = Geometry(
    family="hisparse-dsv4",
    size=32,
    page_size=8,
    size_swa=32,
    sizes=FamilySizes(device_size=8),
)


class LeavingReference(ReferenceTarget):
    """The reference of a release whose free releases the logical side only."""

    def contract(self, family: str) -> Contract | None:
        newest = current_contract(PAIRS.family)
        return structs.replace(newest, device_free="by-caller")

    def reset(self, geometry: Geometry, mode: Mode) -> None:
        contract = self.contract(geometry.family)
        assert contract is not None
        self._reference = make_reference(geometry, mode, contract)


def calls_of(
    target: ReferenceTarget,
    *operations: op.Base,
    callers: Literal["legal", "mixed"] = "legal",
) -> tuple[Session, list[tuple[str, tuple[str, ...]]]]:
    session = Session([target], PAIRS, callers=callers, keep_records=True)
    for operation in (*operations, op.Drain()):
        session.step(operation)
    assert session.records is not None
    return session, [(record.call.method, record.breaches) for record in session.records]


FREES = (
    op.Release(),
    op.Free(count=15),
    op.FreeSegment(pages=1),
    op.FreeSegments(runs=(0, 0)),
)


@pytest.mark.parametrize("free", FREES, ids=op.kind_of)
@pytest.mark.parametrize("grouped", [False, True])
def test_places_go_back_before_a_free_that_leaves_them(free: op.Base, grouped: bool) -> None:
    around = ((op.GroupBegin(),), (op.GroupEnd(),)) if grouped else ((), ())
    session, calls = calls_of(LeavingReference(), op.Alloc(24), *around[0], free, *around[1])
    methods = [method for method, _ in calls]
    assert methods.index("free_hisparse") < min(
        methods.index(method)
        for method in methods
        if method in ("free", "free_segment", "free_segments")
    )
    assert session.findings == []


def test_elsewhere_a_free_does_it_all() -> None:
    session, calls = calls_of(ReferenceTarget(), op.Alloc(24), op.Release())
    assert [method for method, _ in calls] == ["alloc_extend", "free_segments"]
    assert session.findings == []


def test_a_slot_without_its_page_leaves_places_behind() -> None:
    operations = (op.Alloc(8), op.Free())
    _, legal = calls_of(LeavingReference(), *operations)
    assert [method for method, _ in legal] == ["alloc_extend", "free_hisparse", "free_segments"]
    session, calls = calls_of(LeavingReference(), *operations, callers="mixed")
    assert ("free", (legality.INCOMPLETE_BACKING,)) in calls
    assert {finding.kind for finding in session.findings} == {"hazard"}
