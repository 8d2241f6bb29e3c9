"""The memory-pool debug mode: whether it is on, and what it checks (contract_paged_swa §0, §5, §6.6).

Guarantees that each check only reads. When a check runs, and what was changed before it, is its caller's business.
"""

from __future__ import annotations

import logging
import os
from functools import cache

import torch

DEBUG_MEMORY_POOL = "SGLANG_DEBUG_MEMORY_POOL"

_TRUE = frozenset({"1", "true"})
_FALSE = frozenset({"", "0", "false"})
_logger = logging.getLogger(__name__)


def debug_mode_is_on() -> bool:
    """Whether the environment asks for debug mode; a text that is neither true nor false warns once and counts as false."""
    text = os.environ.get(DEBUG_MEMORY_POOL, "").strip().lower()
    if text not in _TRUE and text not in _FALSE:
        _warn_once(text)
    return text in _TRUE


@cache
def _warn_once(text: str) -> None:
    _logger.warning("%s=%r is neither true nor false: debug mode is off", DEBUG_MEMORY_POOL, text)


def assert_whole_pages(need_size: int, page_size: int) -> None:
    """Raise AssertionError when ``need_size`` slots are not whole pages."""
    assert need_size % page_size == 0, f"{need_size} slots are not whole pages of {page_size}"


def assert_continues_page(
    last_loc: torch.Tensor, prefix_lens: torch.Tensor, page_size: int
) -> None:
    """Raise AssertionError when a last slot does not lie where its row's prefix ends in its page (§5.3, §5.4)."""
    continues = (last_loc + 1) % page_size == prefix_lens % page_size
    assert bool(continues.all()), (
        f"the last slots {last_loc.tolist()} do not lie where the prefixes {prefix_lens.tolist()} end "
        f"in a page of {page_size}"
    )


def assert_unique(slots: torch.Tensor) -> None:
    """Raise AssertionError when a slot would be handed out twice."""
    assert _has_no_duplicate(slots), f"the slots {slots.tolist()} are not unique"


def assert_no_duplicate_page(pages: torch.Tensor) -> None:
    """Raise AssertionError when a page is free twice."""
    assert _has_no_duplicate(pages), f"a page is free twice: {pages.tolist()}"


def assert_same_pages(representative_pages: torch.Tensor, pages: torch.Tensor, what: str) -> None:
    """Raise AssertionError when the sorted ``representative_pages`` are not exactly the unique ``pages``."""
    assert torch.equal(representative_pages.sort().values, distinct(pages)), (
        f"{what}: {representative_pages.tolist()} against {distinct(pages).tolist()}"
    )


def distinct(values: torch.Tensor) -> torch.Tensor:
    """The values ascending, each once."""
    unique: torch.Tensor = torch.unique(values)
    return unique


def _has_no_duplicate(values: torch.Tensor) -> bool:
    return distinct(values).numel() == values.numel()
