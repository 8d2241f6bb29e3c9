"""The laws of both HiSparse allocators: those of the logical pools, and those of the device below (contract_paged_swa §7)."""

from __future__ import annotations

from msgspec import structs

from oracle.call import Call
from oracle.family_sizes import COMPRESSION
from oracle.geometry import Geometry
from oracle.laws import call_laws
from oracle.laws.device_laws import DeviceLaws
from oracle.laws.family_laws import FamilyLaws
from oracle.laws.made_call import MadeCall
from oracle.laws.violation import (
    CAPACITY_WITHIN_SIZE,
    FAILED_CALL_CHANGES_NOTHING,
    RETURNED_SLOTS,
    Violation,
)
from oracle.laws.wording import near
from oracle.observation import Outcome, PoolState, Snapshot
from oracle.ownership import Ownership


class TierLaws(FamilyLaws):
    """``compression``: how many logical slots share a key, and so a slot of the device."""

    def __init__(self, geometry: Geometry) -> None:
        super().__init__(geometry)
        compressed = geometry.family == "hisparse-dsv4"
        self._compression = COMPRESSION if compressed else 1
        size = geometry.family_sizes.device_size if compressed else geometry.size
        self._device = DeviceLaws(size, geometry.page_size // self._compression)

    def judge_call(self, made: MadeCall[Snapshot], books: Ownership) -> Violation | None:
        """Judge one call. A buffer that the device is too small for raises, which is no fault of the caller (§7.1)."""
        call, outcome, before, after = made.call, made.outcome, made.before, made.after
        if call.method == "clear":
            self._device.forfeited.clear()
        if call.method == "alloc_device_buffer":
            if outcome.error == "AssertionError" and self._lacks_pages(call, before):
                return self._judge_short_buffer(call, before, after)
            found = self._judge_buffer(call, outcome, before)
            if found is not None:
                return found
        if call.method == "alloc" and call_laws.failed(call, outcome):
            found = _judge_short_alloc(before, after)
            if found is not None:
                return found
            # The slots that had been taken came back, sorted or staged (§12).
            made = structs.replace(made, before=after)
        return super().judge_call(made, books)

    def judge_state(self, after: Snapshot, books: Ownership) -> Violation | None:
        """Judge the logical pools, the device, and what both leave to hand out."""
        return (
            super().judge_state(after, books)
            or self._device.judge(after, books)
            or self._judge_queries(after)
        )

    def view(self, state: Snapshot) -> Snapshot:
        """The logical allocator by itself."""
        queries = {"available_size": state.queries.get("logical_available_size", 0)}
        if state.swa is not None:
            queries["swa_available_size"] = state.queries.get("swa_available_size", 0)
        return structs.replace(state, queries=queries)

    def _places(self, call: Call, before: Snapshot) -> list[int]:
        table = before.device_mapping or []
        return [table[key] for key in call.slots if 0 <= key < len(table) and table[key] > 0]

    def _lacks_pages(self, call: Call, before: Snapshot) -> bool:
        size = self._device.page_size
        have = -(-len(self._places(call, before)) // size)
        free = before.device.available // size if before.device is not None else 0
        return call.need % size == 0 and call.need // size - have > free

    def _judge_short_buffer(
        self, call: Call, before: Snapshot, after: Snapshot
    ) -> Violation | None:
        """Only the table has changed, and there only the keys of the call; their pages are nobody's from now on (§12)."""
        size = self._device.page_size
        table = list(before.device_mapping or [])
        for key in call.slots:
            if -len(table) <= key < len(table):
                table[key] = 0
        pages = {place // size for place in self._places(call, before)}
        if after.device_mapping == table:
            self._device.forfeited |= pages
        elif after.device_mapping != before.device_mapping:
            return _changed(call.method, "the table but for the keys given")
        unchanged = structs.replace(after, device_mapping=before.device_mapping)
        return call_laws.judge_failed(call, self.view(before), self.view(unchanged))

    def _judge_buffer(self, call: Call, outcome: Outcome, before: Snapshot) -> Violation | None:
        """A buffer has the slots that were asked for, each once, on pages that were free or the caller's."""
        value = outcome.value
        if outcome.error or value is None or before.device is None:
            return None
        if len(value) != call.need or len(set(value)) < len(value):
            expected = f"{call.need} slots of the device, each once"
            return _returned(expected, f"{len(value)} slots: {near(value, 0) or 'none'}")
        size = self._device.page_size
        pages = {place // size for place in self._places(call, before)}
        pages.update(_pages(before.device))
        for at, slot in enumerate(value):
            if slot // size not in pages:
                expected = "a buffer is on pages that were free, or the places of the slots given"
                return _returned(expected, near(value, at))
        return None

    def _judge_queries(self, after: Snapshot) -> Violation | None:
        queries = after.queries
        device = after.device.available if after.device is not None else 0
        sides = [after.full.available, *([after.swa.available] if after.swa is not None else [])]
        expected = {
            "device_available_size": device,
            "logical_available_size": min(sides),
            "available_size": min(*sides, device * self._compression),
        }
        if after.swa is not None:
            expected["full_available_size"] = min(after.full.available, device * self._compression)
        for query, value in expected.items():
            if queries.get(query) != value:
                return Violation(
                    law=CAPACITY_WITHIN_SIZE,
                    pool="",
                    expected=f"{query} {value}: {sides} logical slots and {device} of the device are left",
                    got=f"{query} {queries.get(query)}",
                )
        return None


def _judge_short_alloc(before: Snapshot, after: Snapshot) -> Violation | None:
    """The same pages can be handed out, in whatever order, and nothing else has changed."""
    pools = ((before.full, after.full), (before.device, after.device))
    for old, new in pools:
        if old is not None and new is not None and sorted(_pages(old)) != sorted(_pages(new)):
            return _changed("alloc", "which pages can be handed out")
    if before.device_mapping != after.device_mapping:
        return _changed("alloc", "the table")
    return None


def _pages(pool: PoolState) -> list[int]:
    return [*pool.free, *(page for entry in pool.staged for page in entry)]


def _changed(method: str, what: str) -> Violation:
    return Violation(
        law=FAILED_CALL_CHANGES_NOTHING,
        pool="device",
        expected=f"a failed {method} does not change {what}",
        got="it changed",
    )


def _returned(expected: str, got: str) -> Violation:
    return Violation(law=RETURNED_SLOTS, pool="device", expected=expected, got=got)
