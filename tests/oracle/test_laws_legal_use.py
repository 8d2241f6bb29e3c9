"""Laws stay silent about a right allocator, however it is used and wherever its deferred frees
wait.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from plain_allocator import House

from oracle import operations as op

AMOUNTS = ("tokens", "pages", "edge", "left")
SETS = ("free", "free_swa", "free_full")
SEGMENTS = ("free_segment", "free_swa_segment", "free_full_segment")


def _draw(rng: random.Random) -> op.Base:
    small = lambda: rng.randrange(6)  # noqa: E731
    unit: Any = rng.choice(AMOUNTS)
    sets: Any = rng.choice(SETS)
    segments: Any = rng.choice(SEGMENTS)
    makers: tuple[Callable[[], op.Base], ...] = (
        lambda: op.Alloc(rng.randrange(20), unit),
        lambda: op.Extend(tuple(op.Part(small(), rng.randrange(20), unit) for _ in range(3))),
        lambda: op.Extend((op.Part(0, rng.randrange(20)),), count_pages=True),
        lambda: op.ExtendTail(small(), rng.randrange(20), "tokens", rng.randrange(20)),
        lambda: op.Decode(small(), small()),
        lambda: op.Fork(small(), small()),
        lambda: op.Load(small()),
        lambda: op.Recover(small(), small(), small()),
        lambda: op.TransferPeers(small(), small(), small(), small(), small()),
        lambda: op.ReturnPeers(small(), small(), small()),
        lambda: op.ClearMapping(small(), small(), small()),
        lambda: op.Translate(small(), small(), small(), sentinel=True),
        lambda: op.Evict(small(), small()),
        lambda: op.Free(sets, small(), small(), small()),
        lambda: op.FreeSegment(segments, small(), small(), small()),
        lambda: op.FreeSegments("free_segments", small(), small(), (small(), small())),
        lambda: op.FreePages(small(), small(), small()),
        lambda: op.Release(small()),
        lambda: op.GroupBegin(),
        lambda: op.GroupEnd(),
        lambda: op.GroupEnd(),
        lambda: op.Merge(rng.random() < 0.5),
        lambda: op.Clear() if small() == 0 else op.Backup(),
        lambda: op.Resize(small(), small()) if small() == 0 else op.Restore(),
    )
    return rng.choice(makers)()


@pytest.mark.parametrize("deferral", ["at-once", "at-call", "at-end"])
@pytest.mark.parametrize("need_sort", [False, True])
@pytest.mark.parametrize(
    ("family", "page_size", "size"),
    [
        ("token", 1, 40),
        ("paged", 1, 40),
        ("paged", 4, 66),
        ("hybrid-swa", 1, 40),
        ("hybrid-swa", 4, 66),
        ("hybrid-swa", 3, 63),
    ],
)
def test_no_law_fires_on_a_right_allocator(
    family: str, page_size: int, size: int, need_sort: bool, deferral: Any
) -> None:
    performed: Counter[str] = Counter()
    for seed in range(4):
        rng = random.Random(seed)
        house = House(family, size, page_size, need_sort=need_sort, deferral=deferral)
        for _ in range(150):
            operation = _draw(rng)
            if deferral == "at-end" and isinstance(operation, op.ClearMapping):
                # Clearing what was freed in this group strands a peer that is resolved at its end.
                continue
            found = house.does(operation)
            assert found is None, (seed, operation, found)
            performed[op.kind_of(operation)] += len(house.outcomes)
        assert house.does(op.Drain()) is None
        assert not house.books.requests
    expected = {"extend", "decode", "free", "free-segment", "release", "group-end", "restore"}
    if family == "hybrid-swa":
        expected |= {"recover", "return-peers", "evict", "load"}
    assert expected <= {kind for kind, calls in performed.items() if calls}, performed


def test_a_refused_allocation_may_merge_what_is_staged() -> None:
    house = House("paged", 16, 4, need_sort=True).prepare(op.Alloc(3, "pages"), op.Release())
    assert house.does(op.Alloc(4, "pages")) is None
    assert house.outcomes[-1].value is None
    assert house.allocator.free["full"] == [1, 2, 3, 4]
    assert house.allocator.staged["full"] == []


def test_a_page_freed_in_a_group_may_be_free_at_once_and_handed_out_again() -> None:
    house = House(size=16, deferral="at-once")
    house.prepare(op.Alloc(2, "pages"), op.GroupBegin(), op.Free("free_swa", count=7))
    house.prepare(op.Recover(pages=1), op.Free(count=7), op.Alloc(3, "pages"), op.GroupEnd())
    house.prepare(op.Drain())


@pytest.mark.parametrize("page_size", [1, 4])
@pytest.mark.parametrize("deferral", ["at-once", "at-call", "at-end"])
def test_peers_may_go_from_one_row_to_another_in_a_group(page_size: int, deferral: Any) -> None:
    house = House(page_size=page_size, deferral=deferral)
    house.prepare(op.Alloc(1, "pages"), op.Load(1), op.GroupBegin())
    house.prepare(op.TransferPeers(pages=1))
    assert len(house.outcomes) == 3
    assert house.books.peered == set(house.row())
    house.prepare(op.Release(1), op.GroupEnd(), op.Drain())


def test_peers_at_other_page_offsets_are_accepted_on_straddled_pages() -> None:
    house = House()
    tail = op.ExtendTail(amount=8, unit="tokens", tail=6, aligned=False)
    assert house.does(tail, illegal=True) is None
    assert house.books.straddled
    assert house.allocator.mapping[house.row()[2]] % 4 == 0
