"""The device below a logical pool: what lies in which of its pages, and that no page is lost (contract_paged_swa §7, §15.18).

A page of the device is free, staged, the place of a live key, or part of a buffer that a request holds. A key is what the table
is asked for: a logical slot, or a compressed id.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from oracle.laws import ownership_laws
from oracle.laws.census import Census, census_of
from oracle.laws.violation import (
    CAPACITY_WITHIN_SIZE,
    EVERYTHING_RETURNED,
    MAPPING_INJECTIVE,
    MAPPING_SUPPORT,
    ONE_OWNER,
    PADDING_PAGE,
    PAGE_OFFSET,
    Violation,
)
from oracle.laws.wording import near
from oracle.observation import Snapshot
from oracle.ownership import Ownership


@dataclass(frozen=True, slots=True)
class Places:
    """The keys that have a place by the caller's books, ascending, with their places; 0 for one outside the table."""

    keys: list[int]
    values: list[int]

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Each key with its place."""
        return zip(self.keys, self.values, strict=True)


class DeviceLaws:
    """The laws over one device of ``size`` slots, and what they remember of it: what was given up in the open group, and
    which pages a buffer that could not be had took with it (§12).
    """

    def __init__(self, size: int, page_size: int) -> None:
        self.size = size
        self.page_size = page_size
        self.forfeited: set[int] = set()
        self._lingering: set[int] = set()
        self._deferred: set[int] = set()
        self._backed: set[int] = set()
        self._table: list[int] = []

    def judge(self, after: Snapshot, books: Ownership) -> Violation | None:
        """Judge the device after a whole operation, all of whose calls are booked."""
        if after.device is None or not after.device_mapping:
            return Violation(CAPACITY_WITHIN_SIZE, "device", "a device and its table", "none")
        table = after.device_mapping
        self._follow(table, books)
        census = census_of("device", after.device, self.size // self.page_size)
        keys = sorted(books.device_backed)
        places = Places(keys, [table[key] if 0 <= key < len(table) else 0 for key in keys])
        return (
            ownership_laws.judge_padding(after, [census])
            or self._judge_table(table, places, books)
            or self._judge_shape(places)
            or self._judge_owners(census, places, books)
            or self._judge_counts(census, table, places, books)
        )

    def _follow(self, table: list[int], books: Ownership) -> None:
        """Take in which keys gave up their places in the open group, if one is open."""
        if not books.group_open:
            self._lingering.clear()
            self._deferred.clear()
        else:
            left = self._backed - books.device_backed
            self._lingering = (self._lingering | left) - books.device_backed
            for key in left:
                if 0 <= key < len(self._table) and self._table[key] > 0:
                    self._deferred.add(self._table[key] // self.page_size)
        self._backed = set(books.device_backed)
        self._table = table

    def _judge_table(self, table: list[int], places: Places, books: Ownership) -> Violation | None:
        """Exactly what is on the device by the books has a place, none of them in the padding page."""
        if table[-1] != -1:
            return _unsupported("the last entry of the table is -1", near(table, len(table) - 1))
        for key, place in places.pairs():
            if place <= 0:
                return _unsupported(f"key {key} has a place", near(table, key))
            if place < self.page_size:
                return Violation(
                    law=PADDING_PAGE,
                    pool="device",
                    expected=f"key {key} has no place in the padding page",
                    got=near(table, key),
                )
        allowed = books.device_backed | self._lingering
        for key, place in enumerate(table[:-1]):
            if place and key not in allowed:
                return _unsupported(f"key {key} has no place", near(table, key))
        return None

    def _judge_shape(self, places: Places) -> Violation | None:
        """No two keys share a place, nor two pages of keys a page, and places lie at the page offsets of their keys."""
        size = self.page_size
        key_at: dict[int, int] = {}
        page_at: dict[int, int] = {}
        for key, place in places.pairs():
            first = key_at.setdefault(place, key)
            if first != key:
                expected = f"slot {place} of the device is the place of one key"
                return _shared(expected, f"it is the place of keys {first} and {key}")
            if place % size != key % size:
                expected = f"the place of key {key} is at page offset {key % size}"
                return Violation(PAGE_OFFSET, "device", expected, f"slot {place}")
            page = page_at.setdefault(place // size, key // size)
            if page != key // size:
                expected = f"page {place // size} of the device has the places of one page of keys"
                return _shared(expected, f"it has places of pages {page} and {key // size}")
        return None

    def _judge_owners(self, census: Census, places: Places, books: Ownership) -> Violation | None:
        """No page is free twice, or free and held, or held by two."""
        owners = {place // self.page_size: f"key {key} has" for key, place in places.pairs()}
        for buffer in books.buffers:
            for page in {slot // self.page_size for slot in buffer.slots}:
                if page in owners:
                    return Violation(
                        law=ONE_OWNER,
                        pool="device",
                        expected=f"page {page} of the device has one owner",
                        got=f"{owners[page]} it, and a buffer of request {buffer.identity} too",
                    )
                owners[page] = f"a buffer of request {buffer.identity} has"
        return ownership_laws.judge_one_owner(census, owners.keys(), books)

    def _judge_counts(
        self, census: Census, table: list[int], places: Places, books: Ownership
    ) -> Violation | None:
        size = self.page_size
        held = {place // size for place in places.values}
        held |= {slot // size for buffer in books.buffers for slot in buffer.slots}
        gone = self.forfeited | self._deferred
        gone |= {table[key] // size for key in self._lingering if 0 <= key < len(table)}
        found = ownership_laws.judge_conservation(
            census, held, gone
        ) or ownership_laws.judge_capacity(census, size, self.size)
        if found is not None or books.requests or books.buffers or books.group_open:
            return found
        missing = census.total - len(census.listed) - len(self.forfeited - census.pages)
        if missing or any(table[:-1]):
            return Violation(
                law=EVERYTHING_RETURNED,
                pool="device",
                expected="the device is whole and nothing has a place when no request is live",
                got=f"{len(census.listed)} of {census.total} pages are free, {sum(map(bool, table[:-1]))} keys have a place",
            )
        return None


def _unsupported(expected: str, got: str) -> Violation:
    return Violation(law=MAPPING_SUPPORT, pool="device", expected=expected, got=got or "nothing")


def _shared(expected: str, got: str) -> Violation:
    return Violation(law=MAPPING_INJECTIVE, pool="device", expected=expected, got=got)
