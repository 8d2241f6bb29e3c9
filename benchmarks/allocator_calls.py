"""The calls that ``allocators.py`` measures, each with what it needs first, on the allocators of any target.

Guarantees fresh pools before each call, the same for every target: hybrid ones of 4,096 pages on each side; for ``alloc`` of whole
pages, which hybrid allocators do not have, one paged pool. Nothing watches the allocators, and invariants are off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

POOL_PAGES = 4096
GROUP_FREES = 8


@dataclass
class Makers:
    """How a target's allocators are made: a paged one from (slots, page size), a hybrid one from (slots a side, page size)."""

    paged: Callable[[int, int], Any]
    hybrid: Callable[[int, int], Any]
    versions: dict[str, str]


@dataclass
class Measured:
    """One call to measure: ``prepare`` brings about what ``make`` is then called with, each time anew.

    ``twins``: its arguments that lie on the CPU whatever the device is.
    """

    name: str
    prepare: Callable[[], Any]
    make: Callable[[Any], Any]
    twins: tuple[torch.Tensor, ...] = ()


def makers_of(specification: str, device: str, cache: Path | None) -> Makers:
    """The makers for ``eager``, ``fused`` or a release, in their serving form: checks run ahead of no host."""
    if specification.startswith("sglang"):
        return _makers_of_release(specification, device, cache)
    if specification == "fused":
        return _makers_of_fused(device)
    from targets.eager.hybrid_swa import HybridSWAAllocator
    from targets.eager.paged import PagedAllocator

    return Makers(
        lambda size, page_size: PagedAllocator(size, page_size, device),
        lambda size, page_size: HybridSWAAllocator(size, size, page_size, device),
        {"torch": torch.__version__},
    )


def _makers_of_fused(device: str) -> Makers:
    from targets.fused.target import FusedTarget

    # Decides how kernels run, before triton is imported.
    versions = FusedTarget(device).versions
    from targets.fused.hybrid_swa import FusedHybridSWAAllocator
    from targets.fused.paged import FusedPagedAllocator

    return Makers(
        lambda size, page_size: FusedPagedAllocator(size, page_size, device),
        lambda size, page_size: FusedHybridSWAAllocator(size, size, page_size, device),
        versions,
    )


def _makers_of_release(specification: str, device: str, cache: Path | None) -> Makers:
    from targets.sglang.hermetic import import_release
    from targets.sglang.locate import locate
    from targets.sglang.releases import parse

    release = import_release(locate(parse(specification), cache), device=device)
    versions = {"sglang": release.version or "unknown", "kernels": release.kernels}
    return Makers(
        release.make_paged,
        lambda size, page_size: release.make_swa(size, size, page_size),
        versions,
    )


def calls(makers: Makers, page_size: int, pages: int, device: str) -> Iterator[Measured]:
    """What is measured at this page size with so many pages (for ``alloc_decode``: rows, each of which opens a page)."""
    slots = page_size * pages
    hybrid = makers.hybrid(page_size * POOL_PAGES, page_size)
    plain = hybrid if page_size == 1 else makers.paged(page_size * POOL_PAGES, page_size)
    yield Measured("alloc", plain.clear, lambda _: plain.alloc(slots))

    def row() -> torch.Tensor:
        hybrid.clear()
        return take(hybrid, page_size, slots, device)

    if page_size > 1:
        fresh = extend_arguments(slots, device)
        yield Measured(
            "alloc_extend",
            hybrid.clear,
            lambda _: hybrid.alloc_extend(*fresh),
            (fresh[1], fresh[3]),
        )
        lengths = torch.full((pages,), page_size + 1)
        on_device = torch.full((pages,), page_size + 1, device=device)

        def last_slots() -> torch.Tensor:
            return row()[page_size - 1 :: page_size].contiguous()

        yield Measured(
            "alloc_decode",
            last_slots,
            lambda last: hybrid.alloc_decode(on_device, lengths, last),
            (lengths,),
        )
    if hasattr(hybrid, "free_swa_segment"):
        yield Measured(
            "free_swa_segment", row, lambda held: hybrid.free_swa_segment(held, start_pos=0)
        )
    else:
        yield Measured("free_swa_segment", row, hybrid.free_swa)
    yield Measured("free_segment", row, lambda held: free_segment(hybrid, held))
    if pages == GROUP_FREES:

        def free_group(held: torch.Tensor) -> None:
            hybrid.free_group_begin()
            for start in range(0, slots, page_size):
                free_segment(hybrid, held[start : start + page_size])
            hybrid.free_group_end()

        yield Measured(f"group of {GROUP_FREES} frees", row, free_group)


def free_segment(hybrid: Any, held: torch.Tensor) -> None:
    """Free a segment from a page start, with ``free`` where the target has no segment form."""
    if hasattr(hybrid, "free_segment"):
        hybrid.free_segment(held, start_pos=0)
    else:
        hybrid.free(held)


def extend_arguments(slots: int, device: str) -> tuple[Any, ...]:
    """The arguments of ``alloc_extend`` for one new row."""
    prefix, length = torch.zeros(1, dtype=torch.int64), torch.tensor([slots])
    last = torch.full((1,), -1, dtype=torch.int32, device=device)
    prefix_there = torch.zeros(1, dtype=torch.int64, device=device)
    length_there = torch.tensor([slots], device=device)
    return prefix_there, prefix, length_there, length, last, slots


def take(hybrid: Any, page_size: int, slots: int, device: str) -> torch.Tensor:
    """The slots of a new row as the rows of a request table hold them, int32."""
    if page_size == 1:
        taken = hybrid.alloc(slots)
    else:
        taken = hybrid.alloc_extend(*extend_arguments(slots, device))
    assert taken is not None, f"no room for {slots} slots"
    held: torch.Tensor = taken.to(torch.int32)
    return held
