"""What is legal on an older release, and that a legal caller of its reference breaks no law (contract_paged_swa §13)."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Literal

import pytest

from oracle import legality
from oracle import operations as op
from oracle.contract import Contract
from oracle.geometry import Geometry, Mode
from oracle.lockstep import Session
from oracle.reference import make_reference
from targets.reference import ReferenceTarget
from targets.sglang.contracts import contract_for_version

OLDER = [f"0.5.{number}" for number in range(9, 22)]


class OlderReference(ReferenceTarget):
    """The reference of an older release."""

    def __init__(self, release: str) -> None:
        super().__init__()
        self.name = f"oracle of {release}"
        self.release = release

    def contract(self, family: str) -> Contract | None:
        return contract_for_version(self.release, family, power_of_two_pages=False)

    def reset(self, geometry: Geometry, mode: Mode) -> None:
        contract = self.contract(geometry.family)
        assert contract is not None
        self._reference = make_reference(geometry, mode, contract)


def session_of(
    release: str,
    family: Any,
    page_size: int,
    *operations: op.Base,
    callers: Literal["legal", "mixed"] = "legal",
    **options: Any,
) -> Session:
    geometry = Geometry(
        family=family,
        size=10 * page_size,
        page_size=page_size,
        size_swa=10 * page_size if family == "hybrid-swa" else 0,
        **options,
    )
    session = Session([OlderReference(release)], geometry, callers=callers, keep_records=True)
    for operation in operations:
        session.step(operation)
    return session


def made(session: Session) -> list[tuple[str, tuple[str, ...]]]:
    """Each call that was made, with its breaches."""
    assert session.records is not None
    return [(record.call.method, record.breaches) for record in session.records]


def test_freeing_a_row_after_its_window_is_legal_where_unmapped_slots_are_skipped() -> None:
    operations = (op.Alloc(4), op.Free("free_swa", count=1), op.Free("free", count=3))
    assert made(session_of("0.5.19", "hybrid-swa", 1, *operations))[-1] == ("free", ())
    newer = session_of("0.5.20", "hybrid-swa", 1, *operations, callers="mixed")
    assert made(newer)[-1] == ("free", (legality.UNMAPPED_SLOT,))


def test_a_segment_without_peers_is_legal_where_it_is_a_set() -> None:
    operations = (op.Load(1), op.FreeSegment())
    assert made(session_of("0.5.19", "hybrid-swa", 4, *operations))[-1] == ("free_segment", ())
    newer = session_of("0.5.20", "hybrid-swa", 4, *operations, callers="mixed")
    assert made(newer)[-1] == ("free_segment", (legality.UNMAPPED_REPRESENTATIVE,))


@pytest.mark.parametrize("operation", [op.FreeSegment(shift=1), op.EmptyFree("free_segment", 1)])
def test_a_start_inside_a_page_is_legal_where_it_is_accepted(operation: op.Base) -> None:
    older = session_of("0.5.17", "paged", 4, op.Alloc(1, "pages"), operation)
    assert made(older)[-1] == ("free_segment", ())
    newer = session_of("0.5.20", "paged", 4, op.Alloc(1, "pages"), operation, callers="mixed")
    assert made(newer)[-1] == ("free_segment", (legality.UNALIGNED_START,))


@pytest.mark.parametrize("arrangement", ["descending", "sharing"])
def test_segments_in_any_order_are_legal_where_overlaps_are_trimmed(arrangement: Any) -> None:
    operations = (op.Alloc(5, "pages"), op.FreeSegments(runs=(1, 1), arrangement=arrangement))
    older = session_of("0.5.19", "paged", 4, *operations, op.Drain())
    assert made(older)[1] == ("free_segments", ())
    assert older.findings == []
    newer = session_of("0.5.20", "paged", 4, *operations, callers="mixed")
    assert made(newer)[1] == ("free_segments", (legality.SEGMENTS_OUT_OF_ORDER,))


def test_the_rest_of_a_page_that_a_segment_ended_on_follows_in_the_same_group() -> None:
    operations = (op.Alloc(1, "pages"), op.GroupBegin(), op.FreeSegment(cut=2), op.GroupEnd())
    older = session_of("0.5.17", "paged", 4, *operations, callers="mixed")
    assert older.records is not None
    segments = [record.call for record in older.records if record.call.method == "free_segment"]
    assert [(len(call.slots), call.start_pos) for call in segments] == [(2, 0), (2, 2)]
    assert older.findings == [], "the shared page is released once"
    for release in ("0.5.16", "0.5.20"):
        calls = made(session_of(release, "paged", 4, *operations, callers="mixed"))
        assert [method for method, _ in calls].count("free_segment") <= 1, release


@pytest.mark.parametrize("count_pages", [False, True])
def test_a_page_count_is_passed_only_where_it_is_taken(count_pages: bool) -> None:
    extend = op.Extend((op.Part(0, 5),), count_pages=count_pages)
    for release, taken in (("0.5.11", False), ("0.5.12", True)):
        records = session_of(release, "paged", 4, extend).records
        assert records is not None
        assert (records[0].call.num_new_pages is not None) == (taken and count_pages)


@pytest.mark.parametrize(
    ("operation", "since"), [(op.Recover(), 12), (op.TransferPeers(), 19), (op.ReturnPeers(), 19)]
)
def test_peers_are_moved_only_where_the_whole_move_exists(operation: op.Base, since: int) -> None:
    for number in (since - 1, since):
        prepared = (op.Alloc(2, "pages"), op.Load(1))
        if isinstance(operation, op.ReturnPeers):
            prepared = (op.Load(1), op.Alloc(2, "pages"))
        session = session_of(f"0.5.{number}", "hybrid-swa", 4, *prepared)
        assert (session.step(operation) == "done") == (number == since), number


AMOUNTS: tuple[op.Unit, ...] = ("tokens", "pages", "edge", "left")


def drawn(rng: random.Random) -> op.Base:
    """An operation of a legal caller, or one that the session will find illegal and skip."""

    def small() -> int:
        return rng.randrange(6)

    unit = rng.choice(AMOUNTS)
    sets: Any = rng.choice(("free", "free", "free_swa", "free_full"))
    arrangement: Any = rng.choice(("ascending", "descending", "sharing"))
    makers: tuple[Callable[[], op.Base], ...] = (
        lambda: op.Alloc(small(), unit),
        lambda: op.Extend(tuple(op.Part(small(), small(), unit) for _ in range(2)), True),
        lambda: op.ExtendTail(small(), rng.randrange(20), "tokens", rng.randrange(20)),
        lambda: op.Decode(small(), small()),
        lambda: op.Load(small() % 3),
        lambda: op.Recover(small(), small(), small()),
        lambda: op.TransferPeers(small(), small(), small(), small(), small()),
        lambda: op.ReturnPeers(small(), small(), small()),
        lambda: op.Evict(small(), small()),
        lambda: op.Free(sets, small(), rng.randrange(20), rng.randrange(20)),
        lambda: op.FreeSegment("free_segment", small(), small(), small(), small(), small() % 2),
        lambda: op.FreeSegments("free_segments", small(), small(), (1, 0, 1), arrangement),
        lambda: op.Release(small()),
        op.GroupBegin,
        op.GroupEnd,
        lambda: op.Merge(swa=small() > 2),
        op.Backup,
        op.Restore,
    )
    return rng.choice(makers)()


@pytest.mark.parametrize("release", OLDER)
@pytest.mark.parametrize(
    ("family", "page_size", "need_sort"),
    [
        ("token", 1, True),
        ("paged", 4, False),
        ("hybrid-swa", 1, False),
        ("hybrid-swa", 4, False),
        ("hybrid-swa", 4, True),
    ],
)
def test_a_legal_caller_of_the_reference_breaks_no_law(
    release: str, family: str, page_size: int, need_sort: bool
) -> None:
    performed = 0
    for seed in range(6):
        rng = random.Random(seed)
        session = session_of(release, family, page_size, need_sort=need_sort)
        for _ in range(60):
            performed += session.step(drawn(rng)) == "done"
        session.step(op.Drain())
        assert session.undefined == "", (seed, session.undefined)
        assert session.findings == [], (seed, session.findings[0].sentence())
    assert performed > 100, "too few operations applied to say anything"
