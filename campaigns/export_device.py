"""What a script knows of the device below a larger logical pool: which slots have a place there, and which pages wait or are
lost (contract_paged_swa §7).

Guarantees what the laws count as gone: the places that were given up in the open group, and the pages that a buffer which
could not be had took with it (§12).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from campaigns.export_layout import Code, group, numbers
from campaigns.export_shapes import DEVICE_TABLE
from oracle.family_sizes import COMPRESSION
from oracle.geometry import WITH_DEVICE, Geometry

if TYPE_CHECKING:
    from campaigns.export_names import FixedNames
    from oracle.call import Call
    from oracle.observation import Outcome
    from oracle.ownership import Ownership


def compression(geometry: Geometry) -> int:
    """How many slots share a key, and so a place on the device."""
    return COMPRESSION if geometry.family == "hisparse-dsv4" else 1


def device_page(geometry: Geometry) -> int:
    """Slots of a page of the device."""
    return geometry.page_size // compression(geometry) or 1


def device_pages(geometry: Geometry) -> int:
    """How many pages of the device can be handed out; 0 where there is no device."""
    if geometry.family not in WITH_DEVICE:
        return 0
    size = geometry.family_sizes.device_size or geometry.size
    return size // device_page(geometry)


class DeviceLedger:
    """The pages of the device that are nobody's and not free, and the keys that lost their places in the open group."""

    def __init__(self, geometry: Geometry) -> None:
        self.lost: set[int] = set()
        self.waiting: set[int] = set()
        self.lingering: set[int] = set()
        self._step, self._page = compression(geometry), device_page(geometry)
        self._backed: set[int] = set()
        self._table: list[int] = []
        self._settled: list[int] = []

    def note_call(self, call: Call, outcome: Outcome, table: list[int]) -> None:
        """``table``: the mapping to the device after the call."""
        if call.method == "clear":
            self.lost.clear()
        if call.method == "alloc_device_buffer" and outcome.error == "AssertionError":
            keys = self._keys(call.slots)
            if any(table[key] != self._table[key] for key in keys):
                self.lost |= self._pages(keys, self._table)
        self._table = table

    def follow(self, table: list[int], books: Ownership) -> None:
        """Take in what left the books in an operation, as given up in the open group, if one is open."""
        left = self._backed - books.device_backed
        if books.group_open:
            self.waiting |= self._pages(left, self._settled)
            self.lingering = (self.lingering | left) - books.device_backed
        else:
            self.waiting.clear()
            self.lingering.clear()
        self._backed = set(books.device_backed)
        self._table = self._settled = table

    def _keys(self, slots: Iterable[int]) -> list[int]:
        keys = [slot // self._step for slot in slots if (slot + 1) % self._step == 0]
        return [key for key in keys if 0 <= key < len(self._table)]

    def _pages(self, keys: Iterable[int], table: list[int]) -> set[int]:
        places = [table[key] for key in keys if 0 <= key < len(table)]
        return {place // self._page for place in places if place > 0}


def device_facts(
    geometry: Geometry, names: FixedNames, books: Ownership, ledger: DeviceLedger
) -> list[tuple[str, Code, str]]:
    """What the snippets for the device speak of, as (name, code, in words)."""
    step = compression(geometry)
    slots = [key * step + k for key in sorted(books.device_backed) for k in range(step)]
    keys: Code = names.tokens.elements(slots)
    if step > 1:
        ends = f"slot % {step} == {step - 1}"
        keys = group("[", [f"slot // {step} for slot in slots_there if {ends}"], "]")
    buffers = [names.device.elements(buffer.slots) for buffer in books.buffers]
    facts: list[tuple[str, Code, str]] = [
        (
            "slots_there",
            names.tokens.elements(slots),
            "The FULL slots that have places on the device, by fours.",
        ),
        ("backed", keys, "The keys that have a place on the device."),
        ("table", f"{DEVICE_TABLE}.tolist()", "The allocator's own mapping to the device."),
        ("buffers", group("[", buffers, "]"), "The slots of each buffer that is held there."),
        (
            "places",
            "[*(table[key] for key in backed), *sum(buffers, [])]",
            "All slots of the device that are in use.",
        ),
        (
            "used_pages",
            f"{{place // {device_page(geometry)} for place in places}}",
            "Their pages.",
        ),
        (
            "gone_keys",
            _set(ledger.lingering),
            "Keys that lost their places in the open group.",
        ),
        (
            "gone_pages",
            _set(ledger.waiting | ledger.lost),
            "Pages of the device that wait, or that a failed buffer took with it.",
        ),
    ]
    return facts


def _set(values: Iterable[int]) -> Code:
    found = sorted(values)
    if not found:
        return "set()"
    return group("{", [item.code for item in numbers(found).items], "}")
