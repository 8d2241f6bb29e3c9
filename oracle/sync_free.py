"""Which calls wait for no device: neither a host sync nor an operation whose output shape depends on values.

Covers the families of fixed pools and (by ``unified_sync_free``) those of one buffer, at level off and without the debug mode: to count
a hit, to raise in the caller and to look for duplicates, the host has to read. Says nothing of set-shaped frees (``free``,
``free_swa``, ``free_full``).
"""

from __future__ import annotations

from collections.abc import Mapping

from oracle.call import Call
from oracle.geometry import UNIFIED_FAMILIES, Geometry, Mode
from oracle.unified_sync_free import UnifiedSyncFree

_POOL = frozenset(
    {
        "alloc",
        "alloc_extend",
        "alloc_decode",
        "free_segment",
        "free_segments",
        "free_page_ids",
        "free_group_begin",
    }
)
_FULL_SIDE = frozenset({"free_full_segment", "free_full_segments"})
SYNC_FREE: dict[str, frozenset[str]] = {
    "token": _POOL | _FULL_SIDE,
    "paged": _POOL,
    "hybrid-swa": _POOL | _FULL_SIDE | {"alloc_extend_swa_tail", "free_swa_segment"},
}
"""By family: the methods of ``Call`` that are sync-free whenever they return. Window eviction is ``free_swa_segment``. A paged pool
frees the segments of a FULL side as it does a set (contract_paged_swa §3), so those are not among them."""

_SETS = frozenset({"free", "free_swa", "free_full", "restore_state"})
SET_SHAPED: dict[str, frozenset[str]] = {
    "token": frozenset(),
    "paged": _SETS | _FULL_SIDE,
    "hybrid-swa": _SETS,
}
"""By family: what makes the end of a group read: frees that may repeat pages, and a restored group that may hold such frees."""


class SyncFree:
    """Follows the calls of one run and says of each whether it is sync-free.

    The end of a group is, if nothing but segments and page ids were freed since the end before it. A call on a pool of a hybrid
    allocator is judged as one of that pool's own family.
    """

    def __init__(self, geometry: Geometry, mode: Mode) -> None:
        self._family: str = geometry.family
        self._pool_family = "token" if geometry.page_size == 1 else "paged"
        self._unified = UnifiedSyncFree(geometry) if geometry.family in UNIFIED_FAMILIES else None
        covered = self._unified is not None or self._family in SYNC_FREE
        self._promises = mode.level == "off" and not mode.debug and covered
        self._set_shaped = False

    def promised(self, call: Call, queries: Mapping[str, int] | None = None) -> bool:
        """Whether ``call``, the next of the run, is sync-free. ``queries``: the capacities before it, as far as they are known."""
        if not self._promises:
            return False
        if self._unified is not None:
            return self._unified.promised(call, queries or {})
        composite = call.pool == "composite"
        family = self._family if composite else self._pool_family
        if call.method == "free_group_end" and composite:
            promised, self._set_shaped = not self._set_shaped, False
            return promised
        if call.method in SET_SHAPED[family]:
            self._set_shaped = True
        return call.method in SYNC_FREE[family]
