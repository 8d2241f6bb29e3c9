"""CPU stand-ins for the two Triton kernels with which releases up to 0.5.21 compute the slots of an extend and a decode.

Guarantees the results of the kernels (contract_paged_swa §5.3, §5.4) for lengths that a caller may pass, at any page size,
also one that is no power of two. Those releases launch before they test the capacity, so a kernel may read behind the end of
the free list: a stand-in reads page 0 there, and the release discards the result. Does not stand in for any other kernel.
Tests compare the stand-ins with Triton's interpreter over random inputs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

EXTEND = "alloc_extend_kernel"
DECODE = "alloc_decode_kernel"
LARGEST_TENSOR = 1 << 20
"""Triton's limit on the elements of a block, which 0.5.9 reads to choose between its kernel and its loop over requests."""


class KernelStandIn:
    """What a release takes for a kernel: ``kernel[grid](arguments)`` calls ``compute(arguments)`` once for the whole grid."""

    def __init__(self, compute: Callable[..., None]) -> None:
        self._compute = compute

    def __getitem__(self, grid: object) -> Callable[..., None]:
        return self._compute


def extend(
    prefix_lens: torch.Tensor,
    seq_lens: torch.Tensor,
    last_loc: torch.Tensor,
    free_pages: torch.Tensor,
    out: torch.Tensor,
    _batch_bound: int,
    page_size: int,
    _token_bound: int = 0,
) -> None:
    """Write into ``out`` (int64, one slot a new token, requests one after the other) the slots of an extend of ``[bs]`` requests.

    ``_batch_bound`` and ``_token_bound`` (0.5.9 only) are the sizes of the kernel's blocks, which a loop does not need.
    """
    pages = free_pages.tolist()
    taken = 0
    slots: list[int] = []
    for prefix, length, last in zip(
        prefix_lens.tolist(), seq_lens.tolist(), last_loc.tolist(), strict=True
    ):
        # Slots that the pages before the prefix's end have already; what is left of the last one comes first.
        held = -(-prefix // page_size) * page_size
        slots.extend(range(last + 1, last + 1 + min(length, held) - prefix))
        while held < length:
            first = (pages[taken] if taken < len(pages) else 0) * page_size
            slots.extend(range(first, first + min(page_size, length - held)))
            taken += 1
            held += page_size
    _write(out, slots)


def decode(
    seq_lens: torch.Tensor,
    last_loc: torch.Tensor,
    free_pages: torch.Tensor,
    out: torch.Tensor,
    _batch_bound: int,
    page_size: int,
) -> None:
    """Write into ``out`` (int64 ``[bs]``) the slot of the last token of each request; ``seq_lens`` counts that token."""
    pages = free_pages.tolist()
    taken = 0
    slots: list[int] = []
    for length, last in zip(seq_lens.tolist(), last_loc.tolist(), strict=True):
        if (length - 1) % page_size:
            slots.append(last + 1)
        else:
            slots.append((pages[taken] if taken < len(pages) else 0) * page_size)
            taken += 1
    _write(out, slots)


def install(allocator_class: type[Any], *, has_triton: bool) -> bool:
    """Put the stand-ins into the module of a release's paged allocator; False, and nothing done, where it has no such kernels.

    ``has_triton``: the release was imported with Triton. Without it, the one number of Triton's that 0.5.9 reads is put there.
    """
    module = sys.modules[allocator_class.__module__]
    if not (hasattr(module, EXTEND) and hasattr(module, DECODE)):
        return False
    setattr(module, EXTEND, KernelStandIn(extend))
    setattr(module, DECODE, KernelStandIn(decode))
    if not has_triton and hasattr(module, "tl"):
        limit = SimpleNamespace(TRITON_MAX_TENSOR_NUMEL=LARGEST_TENSOR)
        setattr(module, "tl", SimpleNamespace(core=limit))  # noqa: B010 (mypy: a module has no such attribute)
    return True


def _write(out: torch.Tensor, slots: list[int]) -> None:
    count = min(len(slots), out.numel())
    out[:count] = torch.tensor(slots[:count], dtype=out.dtype)
