"""Which error a call of a hybrid caller is, where two are close to each other (contract_paged_swa §6.2, §6.4)."""

from __future__ import annotations

from oracle import legality
from oracle import operations as op
from oracle.geometry import Geometry
from oracle.lockstep import Session
from targets.reference import ReferenceTarget

GEOMETRY = Geometry(family="hybrid-swa", size=16, size_swa=16, page_size=2)
TAIL = op.ExtendTail(amount=1, unit="pages", tail=3, aligned=False)
"""A row of two pages whose three peers begin inside the first one."""


def errors_of(*operations: op.Base) -> list[tuple[str, tuple[str, ...]]]:
    """The methods that were called and what each broke. The findings of the run are hazards, each after an error."""
    session = Session([ReferenceTarget()], GEOMETRY, callers="hostile", keep_records=True)
    for operation in operations:
        session.step(operation)
    assert {finding.kind for finding in session.findings} <= {"hazard"}
    return [(record.call.method, record.breaches) for record in session.records or []]


def test_a_representative_without_a_peer_is_an_unaligned_tail() -> None:
    assert errors_of(TAIL, op.FreeSegment(pages=1))[-1] == (
        "free_segment",
        (legality.UNALIGNED_TAIL,),
    )


def test_a_part_of_a_straddled_row_is_a_straddled_page() -> None:
    straddled = (legality.STRADDLED_PAGE,)
    assert errors_of(TAIL, op.FreeSegment(page=1))[-1] == ("free_segment", straddled)
    assert errors_of(TAIL, op.Free(first=0, count=0))[-1] == ("free", straddled)


def test_a_straddled_row_may_go_whole_but_not_while_another_holds_its_first_page() -> None:
    assert errors_of(TAIL, op.Release())[-1] == ("free", ())
    forked = errors_of(TAIL, op.Fork(), op.Release(request=1))
    assert forked[-1] == ("free", (legality.STRADDLED_PAGE,))


def test_new_peers_of_a_row_that_is_held_are_no_new_peers_of_a_freed_row() -> None:
    row, begin = op.Alloc(amount=1, unit="pages"), op.GroupBegin()
    let_go = op.FreeSegment(method="free_swa_segment")
    assert errors_of(row, begin, let_go, op.Recover(freed=True))[-1][0] == "free_swa_segment"
    recovered = errors_of(row, begin, let_go, op.Recover(), op.FreeSegment())
    assert [broken for _, broken in recovered] == [()] * 6
    freed = errors_of(row, begin, op.Release(), op.Recover(freed=True))
    assert freed[-1] == ("set_full_to_swa_mapping", (legality.FREED_ROW_MAPPED,))
