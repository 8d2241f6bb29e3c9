"""A legal caller of a further family, which draws its calls at random and lets the laws judge the prediction."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from family_house import FamilyHouse

from oracle.geometry import Geometry
from oracle.ownership import DeviceBuffer, Request

STEPS = 150


class LegalCaller:
    """Draws calls at random and books what came of them. Rows end in a free of one slot of each page."""

    def __init__(self, geometry: Geometry, seed: int) -> None:
        self.house = FamilyHouse(geometry, level="strict")
        self.books = self.house.books
        self.geometry = geometry
        self.rng = random.Random(seed)
        self.made: Counter[str] = Counter()
        compressed = geometry.family == "hisparse-dsv4"
        self.tiered = geometry.family.startswith("hisparse")
        self.step = 4 if compressed else 1
        self.peered = compressed
        self.rotated = geometry.family == "page-interleave"

    def does(self, method: Any, **arguments: Any) -> Any:
        outcome = self.house.does(method, **arguments)
        self.made[f"{method}{'' if outcome.value is None else ' with slots'}"] += 1
        return outcome

    def keys(self, slots: Any) -> set[int]:
        """What has a place on the device once these slots have."""
        return {slot // self.step for slot in slots if (slot + 1) % self.step == 0}

    def keys_on(self, slots: Any) -> set[int]:
        """The keys of all pages of these slots that have a place."""
        size = self.books.page_size
        pages = {slot // size for slot in slots}
        return {key for key in self.books.device_backed if key * self.step // size in pages}

    def extend(self, method: str = "alloc_extend") -> None:
        row = self.books.newest(self.rng.randrange(3)) if self.rng.random() < 0.5 else None
        prefix = len(row.slots) if row else 0
        size = self.books.page_size
        if row and method == "alloc_extend" and self.must_not_go_on(row):
            return
        last = row.slots[-1] if row else -1
        seq = prefix + 1 + self.rng.randrange(5 * size)
        arguments: dict[str, Any] = {
            "prefix_lens": [prefix],
            "seq_lens": [seq],
            "last_loc": [last],
            "extend_num_tokens": seq - prefix,
        }
        if self.rotated:
            arguments["rotation_bases"] = [self.books.first_class[row.identity] if row else None]
        outcome = self.does(method, **arguments)
        if outcome.value is None:
            return
        row = row or self.books.open_request()
        self.books.grow(row, outcome.value, peered=outcome.value if self.peered else ())
        if self.rotated:
            self.books.first_class[row.identity] = outcome.resolved[0]
        elif self.tiered and method == "alloc_extend":
            self.books.device_backed |= self.keys(outcome.value)

    def must_not_go_on(self, row: Request) -> bool:
        """A partial page goes on only if its last slot has its peer and its place."""
        length = len(row.slots)
        if self.rotated:
            return length % self.books.page_size != 0
        last = (length // self.step) * self.step - 1
        if not self.tiered or length % self.books.page_size == 0 or last < 0:
            return False
        first_of_page = (last + 1) % self.books.page_size == 0
        return not first_of_page and not self.keys([row.slots[last]]) <= self.books.device_backed

    def logical_only(self) -> None:
        self.extend("alloc_logical_only")

    def decode(self) -> None:
        row = self.books.newest(self.rng.randrange(3))
        if row:
            outcome = self.does(
                "alloc_decode", seq_lens=[len(row.slots) + 1], last_loc=[row.slots[-1]]
            )
            if outcome.value is not None:
                self.books.grow(row, outcome.value, peered=outcome.value if self.peered else ())

    def buffer(self) -> None:
        row = self.books.newest(self.rng.randrange(3))
        if row is None:
            return
        first = self.rng.randrange(self.books.page_count(row))
        slots = self.books.page_slots(row, first)
        size = self.books.page_size // self.step
        # Another page follows in the buffer only where the places before it fill their pages.
        for page in range(first + 1, self.books.page_count(row)):
            if len(self.keys_on(slots)) % size or self.rng.random() < 0.2:
                break
            slots += self.books.page_slots(row, page)
        outcome = self.does(
            "alloc_device_buffer", slots=slots, need=size * self.rng.randrange(1, 4)
        )
        self.books.device_backed -= self.keys_on(slots)
        if outcome.value is not None:
            self.books.buffers.append(DeviceBuffer(row.identity, outcome.value))

    def free_buffer(self) -> None:
        if self.books.buffers:
            buffer = self.books.buffers.pop(self.rng.randrange(len(self.books.buffers)))
            self.does("free_hisparse_indices", slots=buffer.slots)

    def free_places(self) -> None:
        row = self.books.newest(self.rng.randrange(3))
        if row:
            first = self.rng.randrange(len(row.slots))
            slots = row.slots[first : first + 6]
            given_up = self.keys(slots) & self.books.device_backed
            self.does("free_hisparse", slots=slots)
            slots_of_keys = [key * self.step for key in given_up]
            self.books.device_backed -= self.keys_on(slots_of_keys)

    def release(self) -> None:
        row = self.books.newest(self.rng.randrange(3))
        if row:
            pages = range(self.books.page_count(row))
            slots = [self.rng.choice(self.books.page_slots(row, page)) for page in pages]
            self.does("free", slots=slots)
            self.books.device_backed -= self.keys_on(row.slots)
            self.books.unpeer(row.slots)
            self.books.give_back(row, pages)

    def tombstone(self) -> None:
        """Peers go first, then the FULL side."""
        row = self.books.newest(self.rng.randrange(3))
        if row:
            self.does("free_swa", slots=row.slots)
            self.books.unpeer(row.slots)
            self.house.settle()
            self.does("free_full_segment", slots=row.slots, start_pos=0)
            self.books.device_backed -= self.keys_on(row.slots)
            self.books.give_back(row, range(self.books.page_count(row)))

    def group(self) -> None:
        if self.books.group_open:
            self.does("free_group_end")
            self.books.close_group()
        else:
            self.does("free_group_begin")
            self.books.group_open = True

    def clear(self) -> None:
        if self.rng.random() < 0.1:
            self.does("clear")
            self.books.clear()

    def run(self) -> None:
        moves = [self.extend, self.extend, self.release, self.group, self.clear]
        if not self.rotated:
            moves.append(self.decode)
        if self.tiered:
            moves += [self.logical_only, self.buffer, self.free_buffer, self.free_places]
        if self.peered:
            moves.append(self.tombstone)
        for _ in range(STEPS):
            self.books.written.clear()
            self.rng.choice(moves)()
            self.house.settle()
        if self.books.group_open:
            self.group()
        while self.books.requests:
            self.release()
            self.house.settle()
        while self.books.buffers:
            self.free_buffer()
        self.house.settle()
