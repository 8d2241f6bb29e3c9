"""Which calls on a unified allocator wait for no device (contract_unified §13; §11 B4).

Covers level off. Segment frees, groups of them and translations are sync-free as long as a free only leaves holes: an end band that
compacts with each free reads what it frees. An allocation is sync-free where its pages fit at once, because a flush reads the holes.
"""

from __future__ import annotations

from collections.abc import Mapping

from oracle.call import Call
from oracle.geometry import Geometry

SEGMENTS = frozenset({"free_segment", "free_segments", "free_full_segment", "free_full_segments"})
"""Frees of segments on the FULL side or on both. ``free_swa_segment`` asks the SWA band alone."""

_GROWING = frozenset({"alloc_extend", "alloc_extend_swa_tail", "alloc_decode"})


class UnifiedSyncFree:
    """Follows the calls of one run on an allocator of ``geometry``, of a unified family.

    Says nothing of set-shaped frees whose pages have to be filtered or made unique, nor of the group end that makes them.
    """

    def __init__(self, geometry: Geometry) -> None:
        self._page_size = geometry.page_size
        self._lazy = geometry.bytes_shared.lazy
        self._swa_floats = geometry.family == "unified-mamba-swa"
        self._has_peers = geometry.family != "unified-mamba"
        self._set_shaped = False

    def promised(self, call: Call, queries: Mapping[str, int]) -> bool:
        """Whether ``call``, the next of the run, is sync-free. ``queries`` are the capacities before it."""
        if call.method == "translate":
            return True
        if call.pool != "composite":
            return call.method == "free_segment" and call.pool == "full" and self._lazy
        if call.method == "free_group_begin":
            return True
        if call.method == "free_group_end":
            promised, self._set_shaped = self._lazy and not self._set_shaped, False
            return promised
        if call.method == "free_swa_segment":
            return self._lazy or self._swa_floats
        if call.method in ("free", "free_full"):
            as_given = self._takes_pages_as_given(call)
            self._set_shaped |= not as_given
            return as_given and self._lazy
        if call.method in SEGMENTS:
            return self._lazy
        return self._fits(call, queries)

    def _takes_pages_as_given(self, call: Call) -> bool:
        """Whether a set-shaped free is none: single slots are their own pages (§5), and no peers have to be looked for."""
        return self._page_size == 1 and (call.method == "free_full" or not self._has_peers)

    def _fits(self, call: Call, queries: Mapping[str, int]) -> bool:
        """Whether the allocation is one and needs no page to move."""
        # Without peers the capacity counts holes of the states, which only a flush makes room of (§10).
        if not self._has_peers or call.method not in {"alloc", *_GROWING}:
            return False
        return self._needed(call) <= queries.get("available_size", -1)

    def _needed(self, call: Call) -> int:
        """The slots of the new pages."""
        if call.method == "alloc":
            return call.need
        prefixes = call.prefix_lens or tuple(length - 1 for length in call.seq_lens)
        pages = [self._pages(seq) for seq in call.seq_lens]
        return (sum(pages) - sum(map(self._pages, prefixes))) * self._page_size

    def _pages(self, slots: int) -> int:
        return -(-slots // self._page_size)
