"""Where free lists and piles lie: preallocated device buffers, of which the host knows what is in them (contract_paged_swa §4, §5.1).

Guarantees that no length is ever read from the device, and that a list that outgrows its buffer, as one does when pages are freed
twice, gets a larger one. Launches nothing but the growing, the first filling and the merge.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import torch

from targets.fused.kernels_lists import TILE, copy_two
from targets.fused.launcher import tiles
from targets.fused.memory import Address, DeviceBuffer
from targets.watching import watching_now


class Side(Enum):
    """Where a release goes: in front of the free list, behind it, or among what is staged in front of a merge."""

    FRONT = "front"
    BACK = "back"
    STAGED = "staged"


Place = tuple[Address, int, int]
"""Where a kernel writes: the address of a buffer, the position to begin at, and the length after which it goes on at the beginning."""

ENDLESS = 1 << 30
"""The length of a buffer that is no ring."""


class FreeList:
    """The free list and what is staged, one behind the other in a ring: int64 ``buffer`` of ``capacity``.

    The free list is the ``count`` elements from ``head`` on, then come ``staged_count`` staged ones in entries of the lengths
    ``staged``. ``side`` says where a release goes. With ``guards_slots``, slots lie between guards too when they are handed
    out, the last ones in ``handed_out``; not while a probe is attached.
    """

    def __init__(self, capacity: int, device: torch.device, side: Side) -> None:
        self.device = device
        self.side = side
        self.capacity = max(1, capacity)
        self._in_front = side is Side.FRONT
        self.guards_slots = False
        self.handed_out: DeviceBuffer | None = None
        self._move_to(DeviceBuffer(self.capacity, torch.int64, device))
        self.head = 0
        self.count = 0
        self.staged: list[int] = []
        self.staged_count = 0

    def fill(self, count: int) -> None:
        """The free list is 1 to ``count``; nothing is staged."""
        self.head, self.count = 0, 0
        self.staged, self.staged_count = [], 0
        self.reserve(count)
        torch.arange(1, count + 1, out=self.buffer[:count])
        self.count = count

    def reserve(self, extra: int) -> None:
        """Make room for so many more elements."""
        needed = self.count + self.staged_count + extra
        if needed > self.capacity:
            elements = self.everything()
            self.capacity = max(needed, 2 * self.capacity)
            self._move_to(DeviceBuffer(self.capacity, torch.int64, self.device))
            self.buffer[: elements.numel()] = elements
            self.head = 0

    def _move_to(self, memory: DeviceBuffer) -> None:
        self.memory, self.buffer, self.address = memory, memory.tensor, memory.address

    def write(self, count: int) -> Place:
        """Where the next release of ``count`` elements is written."""
        used = self.count + self.staged_count
        if used + count > self.capacity:
            self.reserve(count)
        capacity = self.capacity
        start = self.head - count if self._in_front else self.head + used
        return self.address, start % capacity, capacity

    def edge(self, offset: int = 0) -> int:
        """The position in front of which, or from which on, elements will be released once ``offset`` others are."""
        if self._in_front:
            return (self.head - offset) % self.capacity
        return (self.head + self.count + self.staged_count + offset) % self.capacity

    def wrote(self, count: int) -> None:
        """``count`` elements were written where ``write`` or ``edge`` said; none is no release."""
        if not count:
            return
        if self.side is Side.STAGED:
            self.staged.append(count)
            self.staged_count += count
            return
        if self._in_front:
            self.head = (self.head - count) % self.capacity
        self.count += count

    def took(self, count: int) -> None:
        """The first ``count`` elements were handed out."""
        self.head = (self.head + count) % self.capacity
        self.count -= count

    def push(self, values: torch.Tensor) -> None:
        """Release ``values`` (1-D, any integer dtype and stride) in the order given: one launch."""
        count = values.numel()
        copy_into((values, self.write(count)))
        self.wrote(count)

    def merge(self) -> None:
        """Sort the staged elements into the free list; nothing to do when none is staged. Waits for nothing."""
        if self.staged:
            elements = self.everything().sort().values
            self.buffer[: elements.numel()] = elements
            self.head, self.count = 0, elements.numel()
            self.staged, self.staged_count = [], 0

    def new_slots(self, count: int) -> torch.Tensor:
        """Memory for ``count`` slots that will be handed out."""
        # Guards take a launch, which a probe would count as the allocator's.
        if not self.guards_slots or watching_now():
            return self.buffer.new_empty(count)
        self.handed_out = DeviceBuffer(count, torch.int64, self.device)
        return self.handed_out.tensor

    def memories(self) -> dict[str, DeviceBuffer]:
        """The buffers, by name."""
        kept = {"list": self.memory}
        return kept if self.handed_out is None else {**kept, "slots": self.handed_out}

    def everything(self) -> torch.Tensor:
        """The free list, then what is staged: a view, or a copy where the ring wraps."""
        end = self.head + self.count + self.staged_count
        if end <= self.capacity:
            return self.buffer[self.head : end]
        return torch.cat((self.buffer[self.head :], self.buffer[: end - self.capacity]))


class Pile:
    """What the frees of a group put off, in order: int64 ``buffer``, of which an entry for each call with its length in ``lengths``."""

    def __init__(self, capacity: int, device: torch.device) -> None:
        self.device = device
        self._move_to(DeviceBuffer(max(1, capacity), torch.int64, device))
        self.lengths: list[int] = []
        self.count = 0

    def write(self, count: int) -> Place:
        """Where the next ``count`` elements are written."""
        if self.count + count > self.buffer.numel():
            former = self.buffer[: self.count]
            capacity = max(self.count + count, 2 * self.buffer.numel())
            self._move_to(DeviceBuffer(capacity, torch.int64, self.device))
            self.buffer[: self.count] = former
        return self.address, self.count, ENDLESS

    def _move_to(self, memory: DeviceBuffer) -> None:
        self.memory, self.buffer, self.address = memory, memory.tensor, memory.address

    def wrote(self, count: int) -> None:
        """``count`` elements were written where ``write`` said, as one entry."""
        self.lengths.append(count)
        self.count += count

    def push(self, values: torch.Tensor) -> None:
        """Put ``values`` on the pile: one launch."""
        count = values.numel()
        copy_into((values, self.write(count)))
        self.wrote(count)

    def empty(self) -> None:
        """Forget everything."""
        self.lengths, self.count = [], 0

    def everything(self) -> torch.Tensor:
        """All elements in order, a view."""
        return self.buffer[: self.count]

    def entries(self) -> list[torch.Tensor]:
        """The elements of each call, views."""
        return cut(self.everything(), self.lengths)


Copy = tuple[torch.Tensor, Place]
"""Values (1-D) and where they go."""


def copy_into(first: Copy, second: Copy | None = None) -> None:
    """Copy one or two tensors into buffers, in one launch. They lie on the buffers' device."""
    values, place = first
    count = values.numel()
    more, more_place = second if second is not None else first
    more_count = more.numel() if second is not None else 0
    copy_two.launch(
        tiles(max(count, more_count), TILE),
        (values, more),
        (values.stride(0), count, *place, more.stride(0), more_count, *more_place),
        (TILE,),
        values.device,
        values.dtype,
        more.dtype,
    )


def in_entries(elements: Sequence[int], lengths: Sequence[int]) -> list[list[int]]:
    """``elements`` cut into entries of these lengths."""
    entries, begin = [], 0
    for length in lengths:
        entries.append(list(elements[begin : begin + length]))
        begin += length
    return entries


def cut(elements: torch.Tensor, lengths: list[int]) -> list[torch.Tensor]:
    """``elements`` cut into entries of these lengths, views."""
    return list(torch.split(elements, lengths)) if lengths else []
