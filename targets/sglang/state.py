"""The whole state of a release's allocator as plain lists, whatever the release calls its fields.

Guarantees that looking changes nothing and that the lists are copies. Fields that a release does not have are reported as
a fresh allocator has them (no staged pages, empty piles). Which attribute is reported as which field of ``Snapshot``:

| field | 0.5.20 on | 0.5.19 | 0.5.18 | up to 0.5.17 |
|---|---|---|---|---|
| ``group`` is None | ``free_group`` is None | the same | ``is_not_in_free_group`` | the same |
| ``staged`` of a paged pool | ``staged_pages`` | ``release_pages`` | the same | the same |
| ``page_pile`` | ``free_page_ids_group`` | ``free_page_reps_group``, joined | the same | the same, from 0.5.17 |
| ``swa_set_pile`` | ``swa_free_group`` | the same, joined | the same, as it is | empty |
| ``swa_page_pile`` | ``swa_page_ids_group`` | empty | empty | empty |
| ``full_only_pile`` | empty | ``full_free_group`` | empty | empty |
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from oracle.observation import PoolState, Snapshot, new_pages_grid

QUERIES = (
    "available_size",
    "full_available_size",
    "swa_available_size",
    "size",
    "size_full",
    "size_swa",
)
POOL_QUERIES = ("available_size", "size")


def release_snapshot(allocator: Any, *, hybrid: bool) -> Snapshot:
    """All lists, piles, the mapping and the answers of the size queries of one allocator."""
    if not hybrid:
        return Snapshot(
            full=pool_state(allocator),
            swa_set_pile=[],
            swa_page_pile=[],
            queries=queries_of(allocator, POOL_QUERIES),
            new_pages=[],
        )
    full, swa = allocator.full_attn_allocator, allocator.swa_attn_allocator
    return Snapshot(
        full=pool_state(full),
        swa=pool_state(swa),
        mapping=allocator.full_to_swa_index_mapping.tolist(),
        group=group_of(allocator),
        swa_set_pile=_swa_set_pile(allocator),
        swa_page_pile=lists_of(getattr(allocator, "swa_page_ids_group", ())),
        full_only_pile=lists_of(getattr(allocator, "full_free_group", ())),
        queries=queries_of(allocator, QUERIES),
        new_pages=_new_pages(allocator, full, swa),
    )


def pool_state(pool: Any) -> PoolState:
    """The lists of one pool."""
    staged = _staged(pool)
    return PoolState(
        size=pool.size,
        available=pool.available_size(),
        free=pool.free_pages.tolist(),
        staged=staged,
        staged_count=getattr(pool, "num_staged_pages", sum(map(len, staged))),
        group=group_of(pool),
        page_pile=_page_pile(pool),
        all_free=pool.get_all_free_pages().tolist()
        if hasattr(pool, "get_all_free_pages")
        else None,
    )


def _staged(pool: Any) -> list[list[int]]:
    """Staged entries: a list of tensors since 0.5.20, one release tensor before that and in token allocators."""
    if hasattr(pool, "staged_pages"):
        return lists_of(pool.staged_pages)
    released = getattr(pool, "release_pages", None)
    return [released.tolist()] if released is not None and released.numel() else []


def _page_pile(pool: Any) -> list[list[int]]:
    """Page ids, an entry a call; 0.5.17 to 0.5.19 keep slots instead, of which one segment may leave two pieces."""
    if hasattr(pool, "free_page_reps_group"):
        return _joined(pool.free_page_reps_group)
    return lists_of(getattr(pool, "free_page_ids_group", ()))


def _swa_set_pile(allocator: Any) -> list[list[int]]:
    """An entry a call; 0.5.19 adds one also for a call that gathered nothing, and is the one with a full-only pile."""
    pile = getattr(allocator, "swa_free_group", ())
    return _joined(pile) if hasattr(allocator, "full_free_group") else lists_of(pile)


def group_of(allocator: Any) -> list[list[int]] | None:
    """The plain pile, None when no group is open (a separate flag until 0.5.18, contract_paged_swa §13.2)."""
    if getattr(allocator, "is_not_in_free_group", False):
        return None
    pile = allocator.free_group
    return None if pile is None else lists_of(pile)


def queries_of(allocator: Any, names: tuple[str, ...]) -> dict[str, int]:
    """What the allocator answers to those of the queries that it has."""
    answers = {}
    for name in names:
        answer = getattr(allocator, name, None)
        if answer is not None:
            answers[name] = int(answer() if callable(answer) else answer)
    return answers


def rest_of(iterator: Any) -> list[int] | None:
    """What an iterator over one-element tensors has not given yet, read from a copy."""
    if iterator is None:
        return None
    return [slot for piece in copy.copy(iterator) for slot in piece.reshape(-1).tolist()]


def _new_pages(allocator: Any, full: Any, swa: Any) -> list[bool]:
    if not hasattr(allocator, "new_pages_available"):
        return []
    size = allocator.page_size
    grid = new_pages_grid(full.available_size() // size, swa.available_size() // size)
    return [bool(allocator.new_pages_available(*pages)) for pages in grid]


def lists_of(tensors: Iterable[Any]) -> list[list[int]]:
    """One list for each tensor."""
    return [tensor.tolist() for tensor in tensors]


def _joined(tensors: Iterable[Any]) -> list[list[int]]:
    """All elements as one entry, none when there are none."""
    joined = [element for tensor in tensors for element in tensor.tolist()]
    return [joined] if joined else []
