"""The allocators of the further families of one imported release, and instances of them with stand-in pools.

Guarantees that the classes are the release's own. Which families a release has is the table's business
(``targets.sglang.contracts``); here a class that is not there is an error with a sentence.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from oracle.errors import TargetUnavailable
from oracle.geometry import Geometry
from targets.request_slots import RequestSlots
from targets.sglang.kv_pools import SubPool
from targets.sglang.release import KV_DTYPE, Release, construct, takes
from targets.sglang.tier_pools import CompressedPools, DevicePool

CLASS_ROLES = {"pure-swa": "pure-swa", "swa-ring": "hybrid-swa"}
"""The families whose class has another role's name in ``targets.sglang.releases.LOCATIONS``; the others have their own."""


CALLERS_OWN = frozenset({"take_request_slots", "return_request_slots"})
"""The calls that change the caller's own pool of request slots and are no methods of an allocator."""


def further_class(release: Release, family: str) -> Any:
    """The class that serves ``family`` in the tree, None if no known module has it (a ring: if it takes no request pool)."""
    found = release.optional_class(CLASS_ROLES.get(family, family))
    if family == "swa-ring" and not takes(found, "req_to_token_pool"):
        return None
    return found


def make_further(
    release: Release, geometry: Geometry, request_slots: RequestSlots | None = None
) -> Any:
    """An allocator of ``geometry``; ``request_slots`` is the caller's pool where there are rings.

    Raises ``TargetUnavailable`` where the release has no such class.
    """
    if further_class(release, geometry.family) is None:
        raise TargetUnavailable(f"SGLang {release.version} has no {geometry.family} allocator")
    if geometry.family == "swa-ring":
        return _ring(release, geometry, request_slots)
    return _MAKERS[geometry.family](release, geometry)


def _pure_swa(release: Release, geometry: Geometry) -> Any:
    return release.make_pure_swa(geometry.size, need_sort=geometry.need_sort)


def _ring(release: Release, geometry: Geometry, request_slots: RequestSlots | None) -> Any:
    pool = release.hybrid_pool(geometry.size, geometry.size_swa, geometry.page_size)
    pool.swa_req_ring_size = geometry.family_sizes.ring
    return construct(
        further_class(release, geometry.family),
        size=geometry.size,
        size_swa=geometry.size_swa,
        page_size=geometry.page_size,
        dtype=KV_DTYPE,
        device=release.device,
        kvcache=pool,
        need_sort=geometry.need_sort,
        req_to_token_pool=request_slots,
    )


def _hisparse(release: Release, geometry: Geometry) -> Any:
    return construct(
        further_class(release, geometry.family),
        size=geometry.size,
        page_size=geometry.page_size,
        dtype=KV_DTYPE,
        device=release.device,
        kvcache=DevicePool(geometry.size, geometry.page_size, KV_DTYPE, release.device),
        need_sort=geometry.need_sort,
        host_to_device_ratio=geometry.family_sizes.ratio,
    )


def _hisparse_dsv4(release: Release, geometry: Geometry) -> Any:
    allocator_class = further_class(release, geometry.family)
    module = importlib.import_module(allocator_class.__module__)
    pools = CompressedPools(release.hybrid_pool_class, module)
    pool = pools.make(
        SubPool(geometry.size, geometry.page_size, KV_DTYPE, release.device),
        SubPool(geometry.size_swa, geometry.page_size, KV_DTYPE, release.device),
        geometry.family_sizes.device_size,
    )
    logical = construct(
        release.swa_allocator_class,
        size=geometry.size,
        size_swa=geometry.size_swa,
        page_size=geometry.page_size,
        dtype=KV_DTYPE,
        device=release.device,
        kvcache=pool,
        need_sort=geometry.need_sort,
    )
    return construct(allocator_class, logical_attn_allocator=logical)


def _page_interleave(release: Release, geometry: Geometry) -> Any:
    return construct(
        further_class(release, geometry.family),
        size=geometry.size,
        physical_page_size=geometry.page_size,
        shard_size=geometry.family_sizes.ranks,
        dtype=KV_DTYPE,
        device=release.device,
        kvcache=SubPool(geometry.size, geometry.page_size, KV_DTYPE, release.device),
        need_sort=geometry.need_sort,
    )


def _mamba_slots(release: Release, geometry: Geometry) -> Any:
    return construct(
        further_class(release, geometry.family), size=geometry.size, device=release.device
    )


_MAKERS: dict[str, Callable[[Release, Geometry], Any]] = {
    "pure-swa": _pure_swa,
    "hisparse": _hisparse,
    "hisparse-dsv4": _hisparse_dsv4,
    "page-interleave": _page_interleave,
    "mamba-slots": _mamba_slots,
}
