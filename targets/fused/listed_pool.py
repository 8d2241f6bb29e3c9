"""What the token and the paged pool have in common: a free list and a plain pile in device buffers (contract_paged_swa §3, §4, §5).

Guarantees that lengths are known on the host. The lists themselves are properties, made when somebody looks at them.
"""

from __future__ import annotations

import torch

from targets.eager.base import BaseAllocator
from targets.fused.buffers import FreeList, Pile, Place, Side
from targets.fused.kernels_lists import TILE, take
from targets.fused.launcher import tiles
from targets.fused.memory import DeviceBuffer

FIRST_PILE = 1024
"""Elements for which a pile has room before it grows, or more where legal callers may need more."""


class ListedPool(BaseAllocator):
    """``pages`` is the free list and what is staged; ``pile`` what waits for the end of the group, if ``group_is_open``."""

    pages: FreeList
    pile: Pile
    group_is_open: bool

    def _make_lists(self, pages: int, device: str, side: Side, *, waiting: int = 0) -> None:
        """A list with room for ``pages``, and a plain pile with room for ``waiting`` at once."""
        self.pages = FreeList(pages, torch.device(device), side)
        self.device_object = self.pages.buffer.device
        self.pile = Pile(max(FIRST_PILE, waiting), self.device_object)

    @property
    def free_pages(self) -> torch.Tensor:
        """The free list in order; do not change it in place."""
        return self.pages.everything()[: self.pages.count]

    @property
    def free_group(self) -> list[torch.Tensor] | None:
        """The plain pile, an entry for each call; None when no group is open."""
        return self.pile.entries() if self.group_is_open else None

    @free_group.setter
    def free_group(self, pile: list[torch.Tensor] | None) -> None:
        """Close the group and empty its pile, or open one."""
        assert not pile, "a pile is filled by frees"
        self.group_is_open = pile is not None
        if pile is None and hasattr(self, "pile"):
            self.pile.empty()

    def get_all_free_pages(self) -> torch.Tensor:
        """The free list, then what is staged."""
        return self.pages.everything()

    def merge_and_sort_free(self) -> None:
        """Merge what is staged and sort; when nothing is staged the order stays."""
        self.pages.merge()

    def free_group_begin(self) -> None:
        """Let frees wait. Raises AssertionError when a group is open; nothing changed then."""
        assert not self.group_is_open, "free groups cannot be nested"
        self.group_is_open = True

    def memories(self) -> dict[str, DeviceBuffer]:
        """All buffers of the pool, by name."""
        return {**self.pages.memories(), "pile": self.pile.memory}

    def segment_place(self, count: int) -> Place:
        """Where the ``count`` pages of a segment go now: the page pile of an open group, or the free list."""
        return (
            self.pile_of_segments().write(count) if self.group_is_open else self.pages.write(count)
        )

    def segment_placed(self, count: int) -> None:
        """The pages were written there."""
        if self.group_is_open:
            self.pile_of_segments().wrote(count)
        else:
            self.pages.wrote(count)

    def pile_of_segments(self) -> Pile:
        """The pile on which the pages of segments wait."""
        return self.pile

    def _take(self, pages: int) -> torch.Tensor:
        """Hand out the slots of the first ``pages`` pages: one launch, none for no page."""
        count = pages * self.page_size
        ring = self.pages
        out = ring.new_slots(count)
        if count:
            take.launch(
                tiles(count, TILE),
                (out,),
                (
                    *(ring.address, ring.head, ring.capacity),
                    *(ring.address, ring.head, ring.capacity),
                    *(ring.address, 0, count, self.page_size),
                ),
                (0, TILE),
                self.device_object,
            )
            ring.took(pages)
        return out
