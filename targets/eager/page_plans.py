"""Which slots an extend or a decode will hand out, worked out before anything is taken (contract_paged_swa §5.3, §5.4).

Guarantees that planning takes no page: at most it merges the staged ones. So that a hybrid allocator can plan both sides
and give up both. Lengths are read on the CPU; the device is not waited for outside debug mode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from targets.eager import debug_checks

if TYPE_CHECKING:
    from targets.eager.paged import PagedAllocator


class PagePlan(NamedTuple):
    """The slots to hand out (int64) and how many pages leave the head of the free list for them."""

    slots: torch.Tensor
    new_pages: int


def pages_spanned(length: int, page_size: int) -> int:
    """How many pages a row of ``length`` slots touches."""
    return -(-length // page_size)


def new_pages_of_extend(prefix_lens: list[int], seq_lens: list[int], page_size: int) -> int:
    """How many pages rows need to grow from ``prefix_lens`` to ``seq_lens``."""
    return sum(
        pages_spanned(seq, page_size) - pages_spanned(prefix, page_size)
        for prefix, seq in zip(prefix_lens, seq_lens, strict=True)
    )


def plan_extend(
    pool: PagedAllocator,
    prefix_lens_cpu: torch.Tensor,
    seq_lens_cpu: torch.Tensor,
    last_loc: torch.Tensor,
    extend_num_tokens: int,
    num_new_pages: int | None = None,
) -> PagePlan | None:
    """Plan rows ``[bs]`` growing by ``extend_num_tokens`` in all; None when pages are short. Debug: asserts unique slots."""
    prefix_lens, seq_lens = prefix_lens_cpu.tolist(), seq_lens_cpu.tolist()
    if num_new_pages is None:
        num_new_pages = new_pages_of_extend(prefix_lens, seq_lens, pool.page_size)
    bound = extend_num_tokens // pool.page_size + len(prefix_lens) + 1
    if not pool.room_for(bound, num_new_pages):
        return None
    slots = _extended_slots(pool, prefix_lens, seq_lens, last_loc, num_new_pages)
    if pool.debug_mode:
        debug_checks.assert_unique(slots)
    return PagePlan(slots, num_new_pages)


def _extended_slots(
    pool: PagedAllocator,
    prefix_lens: list[int],
    seq_lens: list[int],
    last_loc: torch.Tensor,
    num_new_pages: int,
) -> torch.Tensor:
    page_size = pool.page_size
    fresh = pool.slots_of_pages(pool.free_pages[:num_new_pages])
    pieces = [fresh[:0]]
    begin = 0
    for request, (prefix, seq) in enumerate(zip(prefix_lens, seq_lens, strict=True)):
        page_end = pages_spanned(prefix, page_size) * page_size
        open_page = min(seq, page_end) - prefix
        if open_page:
            following = torch.arange(1, open_page + 1, dtype=torch.int64, device=pool.device)
            pieces.append(last_loc[request] + following)
        if seq > page_end:
            pieces.append(fresh[begin : begin + seq - page_end])
            begin += pages_spanned(seq - page_end, page_size) * page_size
    return torch.cat(pieces)


def decode_has_room(pool: PagedAllocator, seq_lens_cpu: torch.Tensor) -> bool:
    """Whether each of ``[bs]`` rows can have one more slot; may merge."""
    return pool.room_for(len(seq_lens_cpu), len(_openers(pool, seq_lens_cpu)))


def plan_decode(
    pool: PagedAllocator, seq_lens_cpu: torch.Tensor, last_loc: torch.Tensor
) -> PagePlan:
    """Plan one slot for each of ``[bs]`` rows, for which there is room. Debug: asserts unique slots."""
    openers = _openers(pool, seq_lens_cpu)
    slots = last_loc.to(torch.int64) + 1
    if openers:
        rows = torch.tensor(openers, device=pool.device)
        slots[rows] = pool.free_pages[: len(openers)] * pool.page_size
    if pool.debug_mode:
        debug_checks.assert_unique(slots)
    return PagePlan(slots, len(openers))


def _openers(pool: PagedAllocator, seq_lens_cpu: torch.Tensor) -> list[int]:
    """The rows whose new slot is the first of a page."""
    return [row for row, seq in enumerate(seq_lens_cpu.tolist()) if (seq - 1) % pool.page_size == 0]
