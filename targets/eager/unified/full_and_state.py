"""The allocator of FULL slots and states over one buffer (contract_unified §9, §10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from targets.eager.unified import ids
from targets.eager.unified.peered_frees import Group, free_in_order
from targets.eager.unified.state_room import StateRoom

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oracle.geometry import Geometry
    from targets.eager.signals import Signals
    from targets.eager.unified.eviction import EvictableTree


class FullAndStateAllocator(StateRoom):
    """A FULL pool that grows down and states that grow up."""

    def __init__(self, geometry: Geometry, device: str, _signals: Signals) -> None:
        super().__init__(geometry, device)
        self.group: Group | None = None

    def clear(self) -> None:
        """As the base form; what waits in a group is forgotten and the group closed."""
        super().clear()
        self.group = None

    def available_size(self) -> int:
        """FULL slots, the holes of states counted."""
        return self.full.schedulable_available_size()

    def full_available_size(self) -> int:
        """The same."""
        return self.available_size()

    @property
    def size(self) -> int:
        """FULL slots that are taken or can be had now."""
        return self.available_size() + self.full.allocated_count

    def alloc(self, need: int) -> torch.Tensor | None:
        """``need`` slots int64, or None. Raises AssertionError when they are no whole pages."""
        return ids.alloc(self.full, need)

    def _take_pages(self, pages: int, bound: int | None = None) -> torch.Tensor | None:  # noqa: ARG002
        return ids.take_ids(self.full, pages)

    def free(self, slots: torch.Tensor) -> None:
        """Free slots, each page once; in a group they wait."""
        if slots.numel() == 0:
            return
        if self.group is not None:
            self.group.tokens.append(slots.clone())
        else:
            self.full.free(slots)

    def free_segment(self, slots: torch.Tensor, *, start_pos: int) -> None:
        """Free a segment; at page size 1 it is ``free``. Raises AssertionError when ``start_pos`` is not aligned."""
        if slots.numel() == 0:
            return
        assert start_pos % self.page_size == 0, f"a segment starts on a page, not at {start_pos}"
        if self.page_size == 1:
            self.free(slots)
        elif self.group is not None:
            self.group.representatives.append(slots[:: self.page_size].clone())
        else:
            self.full.free_segment(slots, start_pos=start_pos)

    def free_segments(self, segments: Iterable[tuple[torch.Tensor, int]]) -> None:
        """Free (slots, start position) segments of one row in order. Raises AssertionError at one that shares a page."""
        free_in_order(segments, self.free_segment, self.page_size)

    def free_group_begin(self) -> None:
        """Let frees wait. Raises AssertionError when a group is open."""
        assert self.group is None, "free groups cannot be nested"
        self.group = Group()

    def free_group_end(self) -> None:
        """Close the group, then free slots and representatives, in this order."""
        group, self.group = self.group, None
        if group is None:
            return
        if group.tokens:
            self.full.free(torch.cat(group.tokens))
        if group.representatives:
            self.full.release(self.full.representative_pages(torch.cat(group.representatives)))

    def flush_deferred(self) -> None:
        """Free what waits and leave the group open (§9)."""
        if self.group is not None and not self.group.is_empty():
            self.free_group_end()
            self.free_group_begin()

    def evict_to_free_tokens(
        self,
        tree: EvictableTree | None,
        need: int,
        _swa: int | None = None,
        *,
        prefer_swa: bool = False,  # noqa: ARG002 (there is no such side)
    ) -> None:
        """Take from ``tree`` what is short of ``need`` slots, after all deferred frees were made."""
        if tree is None:
            return
        self.flush_deferred()
        short = need - self.available_size()
        if short > 0:
            tree.evict_for_alloc(short, 0, 0)

    def check_decode_capacity(
        self,
        tree: EvictableTree | None,
        need: int,
        _swa: int | None = None,
        *,
        prefer_swa: bool = False,  # noqa: ARG002 (there is no such side)
    ) -> bool:
        """Whether ``need`` slots can be allocated, if need be after an eviction."""
        self.evict_to_free_tokens(tree, need)
        return self.available_size() >= need

    def _has_room_for_states(self, need: int) -> bool:
        state = self.state
        return need > state.schedulable_available_size() or need <= state.available_size()
