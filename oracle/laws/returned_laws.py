"""What an allocation hands out: as many slots as were asked for, nobody else's, each at the page
offset of its position.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from oracle.call import Call
from oracle.laws.census import Census
from oracle.laws.violation import PADDING_PAGE, RETURNED_SLOTS, PoolName, Violation
from oracle.laws.wording import holder_of, near
from oracle.observation import Snapshot
from oracle.ownership import Ownership


class Growth(Struct, frozen=True):
    """One row's share of the returned slots: from which position on, how many, and the row's last
    slot before (or -1).
    """

    prefix: int
    count: int
    last: int


def growths_of(call: Call, page_size: int) -> list[Growth]:
    """The rows that grow by an allocating call, in the order in which they get their slots."""
    if call.method == "alloc":
        return [Growth(0, call.need // page_size * page_size, -1)]
    if call.method == "alloc_cyclic":
        return [Growth(0, call.need, -1)]
    if call.method == "alloc_decode":
        return [
            Growth(length - 1, 1, last)
            for length, last in zip(call.seq_lens, call.last_loc, strict=False)
        ]
    lengths = zip(call.prefix_lens, call.seq_lens, call.last_loc, strict=False)
    return [Growth(prefix, length - prefix, last) for prefix, length, last in lengths]


def judge_returned(
    call: Call, value: tuple[int, ...], census: Census, books: Ownership
) -> Violation | None:
    """Judge the slots of ``value``. ``census`` is the pool that they come from, before the call."""
    size = books.page_size
    growths = growths_of(call, size)
    count = sum(growth.count for growth in growths)
    if len(value) != count:
        shown = near(value, 0) or "none"
        return _returned(census.pool, f"{count} slots", f"{len(value)} slots: {shown}")
    outside = _outside(value, census, size)
    if outside is not None:
        return outside
    if len(set(value)) < count:
        at = next(at for at in range(count) if value[at] in value[:at])
        return _returned(census.pool, "no slot is handed out twice", near(value, at))
    for at, run in _runs(growths, size):
        found = _judge_run(value, at, run, census, books)
        if found is not None:
            return found
    return None


def judge_new_peers(
    call: Call,
    value: tuple[int, ...],
    before: Snapshot,
    after: Snapshot,
    census: Census,
    page_size: int,
) -> Violation | None:
    """The SWA pages that new FULL slots map to were free, or are the ones that the rows' partial
    pages map to already.
    """
    old, new = before.mapping or [], after.mapping or []
    size = len(new)
    pages = {new[slot] // page_size for slot in value if 0 <= slot < size}
    pages -= {old[last] // page_size for last in call.last_loc if 0 <= last < len(old)}
    pages -= census.pages
    pages.discard(0)
    if not pages:
        return None
    page = min(pages)
    at = next(
        at for at, slot in enumerate(value) if 0 <= slot < size and new[slot] // page_size == page
    )
    return _returned(
        "swa",
        "new peers come from SWA pages that were free",
        f"SWA page {page} was not: FULL slot {value[at]} maps to SWA slot {new[value[at]]}",
    )


def judge_lookup(call: Call, value: tuple[int, ...], mapping: list[int]) -> Violation | None:
    """Looking peers up answers what stands in the mapping."""
    length = len(mapping)
    inside = [slot for slot in call.slots if -length <= slot < length]
    if len(inside) < len(call.slots):
        return None
    expected = tuple(map(mapping.__getitem__, inside))
    if value == expected:
        return None
    pairs = zip(value, expected, strict=False)
    at = next((at for at, (got, want) in enumerate(pairs) if got != want), 0)
    return _returned("swa", f"peers {near(expected, at)}", near(value, at) or "none")


def _outside(value: tuple[int, ...], census: Census, size: int) -> Violation | None:
    first, last = census.first * size, (census.last + 1) * size - 1
    if not value or (first <= min(value) and max(value) <= last):
        return None
    for at, slot in enumerate(value):
        if 0 <= slot < first:
            return Violation(
                law=PADDING_PAGE,
                pool=census.pool,
                expected="the padding page is never handed out",
                got=near(value, at),
            )
    at = next(at for at, slot in enumerate(value) if not first <= slot <= last)
    return _returned(census.pool, f"slots from {first} to {last}", near(value, at))


def _runs(growths: list[Growth], size: int) -> Iterator[tuple[int, Growth]]:
    """Cut each growth at page boundaries: where a run begins in the returned slots, and the run."""
    at = 0
    for growth in growths:
        position, last = growth.prefix, growth.last
        stop = growth.prefix + growth.count
        while position < stop:
            count = min(stop, (position // size + 1) * size) - position
            yield at, Growth(position, count, last)
            at += count
            position += count


def _judge_run(
    value: tuple[int, ...],
    at: int,
    run: Growth,
    census: Census,
    books: Ownership,
) -> Violation | None:
    size, slot = books.page_size, value[at]
    page = slot // size
    if run.prefix % size:
        if slot != run.last + 1:
            expected = f"slot {run.last + 1} continues the row's partial page"
            return _returned(census.pool, expected, near(value, at))
    elif slot % size:
        expected = f"position {run.prefix} is at page offset 0"
        return _returned(census.pool, expected, f"offset {slot % size}: {near(value, at)}")
    elif census.pool == "full" and page in books.holders:
        expected = f"{census.name} page {page}, which {holder_of(books, page)}, is not handed out"
        return _returned(census.pool, expected, near(value, at))
    elif page not in census.pages:
        expected = f"only free pages are handed out, and {census.name} page {page} was not free"
        return _returned(census.pool, expected, near(value, at))
    if value[at : at + run.count] != tuple(range(slot, slot + run.count)):
        wrong = next(n for n in range(run.count) if value[at + n] != slot + n)
        expected = f"position {run.prefix + wrong} is at slot {slot + wrong}, next on its page"
        return _returned(census.pool, expected, near(value, at + wrong))
    return None


def _returned(pool: PoolName, expected: str, got: str) -> Violation:
    return Violation(law=RETURNED_SLOTS, pool=pool, expected=expected, got=got)
