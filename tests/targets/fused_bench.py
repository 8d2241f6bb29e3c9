"""The target ``fused`` through Triton's interpreter, and how often it launches a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from oracle.geometry import Geometry
from oracle.operations import Alloc, FreeSegment, Release
from oracle.trace import Trace
from targets.fused.target import FusedTarget
from targets.probes.launcher_launches import LauncherLaunches


def interpreted() -> FusedTarget:
    """A target whose kernels are interpreted; skips where triton was imported to compile for a GPU."""
    target = FusedTarget()
    if target.versions["kernels"] != "interpreter":
        pytest.skip("triton was imported without its interpreter in this process")
    return target


@contextmanager
def counted_launches() -> Iterator[list[str]]:
    """The names of the kernels launched in the block."""
    launches = LauncherLaunches()
    with launches.watch():
        yield launches.kernels


class Wordy(FusedTarget):
    """Looks its peers up in a launch of its own before it frees them, and clears what it could not allocate."""

    def _build(self, geometry: Any) -> Any:
        allocator: Any = super()._build(geometry)
        free, extend = allocator.free_swa_segment, allocator.alloc_extend

        def look_up_and_free(free_index: torch.Tensor, *, start_pos: int) -> None:
            allocator.translate_loc_from_full_to_swa(free_index)
            free(free_index, start_pos=start_pos)

        def extend_or_look_up(*arguments: Any) -> Any:
            slots = extend(*arguments)
            if slots is None:
                allocator.translate_loc_from_full_to_swa(arguments[4])
            return slots

        allocator.free_swa_segment = look_up_and_free
        allocator.alloc_extend = extend_or_look_up
        return allocator


class TooLong(FusedTarget):
    """Takes its SWA list for one element longer than it is, so that its kernels write one too far where the ring wraps."""

    def _build(self, geometry: Geometry) -> Any:
        allocator: Any = super()._build(geometry)
        pages = allocator.swa_side.pages
        pages.capacity += 1
        # The list is full of pages, whose last one lies in the last place.
        pages.head = pages.capacity - 1 - pages.count
        pages.buffer[pages.head :] = torch.arange(1, pages.count + 1)
        return allocator


WRAPPING = Trace(
    geometry=Geometry(family="hybrid-swa", size=16, size_swa=16, page_size=4, need_sort=True),
    operations=(Alloc(amount=2, unit="pages"), FreeSegment(), Release()),
)
