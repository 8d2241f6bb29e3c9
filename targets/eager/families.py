"""Which of our allocators serves which family, and how one is built.

Guarantees that a geometry that passes ``check`` is built with the arguments that a caller would give. Judges nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from targets.eager.hisparse import HiSparseAllocator
from targets.eager.hisparse_dsv4 import DeepSeekV4HiSparseAllocator
from targets.eager.hybrid_swa import HybridSWAAllocator
from targets.eager.mamba_slots import MambaSlotAllocator
from targets.eager.page_interleave import PageInterleaveAllocator
from targets.eager.paged import PagedAllocator
from targets.eager.pure_swa import PureSWAAllocator
from targets.eager.swa_ring import RingSWAAllocator
from targets.eager.token import TokenAllocator
from targets.eager.unified.families import UNIFIED_CLASSES, MakeUnified, UnifiedAllocator
from targets.request_slots import RequestSlots
from targets.rows.layer import RowLayer

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

    from oracle.geometry import Geometry
    from targets.eager.signals import Signals

FurtherAllocator = (
    PureSWAAllocator
    | RingSWAAllocator
    | HiSparseAllocator
    | DeepSeekV4HiSparseAllocator
    | PageInterleaveAllocator
    | MambaSlotAllocator
)
FixedAllocator = TokenAllocator | PagedAllocator | HybridSWAAllocator | FurtherAllocator
EagerAllocator = FixedAllocator | UnifiedAllocator


@dataclass(frozen=True)
class AllocatorClasses:
    """The class that serves each family. A hybrid class brings its own pool classes; ``rows`` is the layer on top of one."""

    token: type[TokenAllocator] = TokenAllocator
    paged: type[PagedAllocator] = PagedAllocator
    hybrid: type[HybridSWAAllocator] = HybridSWAAllocator
    unified: Mapping[str, MakeUnified] = field(default_factory=lambda: UNIFIED_CLASSES)
    pure_swa: type[PureSWAAllocator] = PureSWAAllocator
    swa_ring: type[RingSWAAllocator] = RingSWAAllocator
    hisparse: type[HiSparseAllocator] = HiSparseAllocator
    hisparse_dsv4: type[DeepSeekV4HiSparseAllocator] = DeepSeekV4HiSparseAllocator
    page_interleave: type[PageInterleaveAllocator] = PageInterleaveAllocator
    mamba_slots: type[MambaSlotAllocator] = MambaSlotAllocator
    rows: type[RowLayer] = RowLayer


@dataclass
class RingPool:
    """A KV pool with a ring of ``swa_req_ring_size`` slots for each request; it holds no KV."""

    swa_req_ring_size: int

    def register_mapping(self, mapping: torch.Tensor) -> None:
        """In a ring nothing is mapped."""


def build(
    geometry: Geometry,
    device: str,
    classes: AllocatorClasses,
    signals: Signals,
    request_slots: RequestSlots | None,
) -> EagerAllocator:
    """A new allocator of ``geometry`` on ``device``; invariants go to ``signals``, a ring asks ``request_slots``."""
    if geometry.family in classes.unified:
        return classes.unified[geometry.family](geometry, device, signals)
    if geometry.family == "swa-ring":
        assert request_slots is not None, "rings are counted in request slots"
        return classes.swa_ring(
            geometry.size,
            geometry.size_swa,
            geometry.page_size,
            device,
            need_sort=geometry.need_sort,
            kvcache=RingPool(geometry.family_sizes.ring),
            req_to_token_pool=request_slots,
            signals=signals,
        )
    if geometry.family == "hisparse-dsv4":
        logical = _hybrid(geometry, device, classes, signals)
        return classes.hisparse_dsv4(logical, geometry.family_sizes.device_size)
    if geometry.family in ("hybrid-swa", "hybrid-rows"):
        return _hybrid(geometry, device, classes, signals)
    return _BUILDERS[geometry.family](geometry, device, classes)


def _hybrid(
    geometry: Geometry, device: str, classes: AllocatorClasses, signals: Signals
) -> HybridSWAAllocator:
    return classes.hybrid(
        geometry.size,
        geometry.size_swa,
        geometry.page_size,
        device,
        need_sort=geometry.need_sort,
        signals=signals,
    )


def _token(geometry: Geometry, device: str, classes: AllocatorClasses) -> TokenAllocator:
    return classes.token(geometry.size, device, need_sort=geometry.need_sort)


def _paged(geometry: Geometry, device: str, classes: AllocatorClasses) -> PagedAllocator:
    return classes.paged(geometry.size, geometry.page_size, device, need_sort=geometry.need_sort)


def _pure_swa(geometry: Geometry, device: str, classes: AllocatorClasses) -> PureSWAAllocator:
    return classes.pure_swa(geometry.size, 1, device, need_sort=geometry.need_sort)


def _hisparse(geometry: Geometry, device: str, classes: AllocatorClasses) -> HiSparseAllocator:
    return classes.hisparse(
        geometry.size,
        geometry.page_size,
        device,
        need_sort=geometry.need_sort,
        host_to_device_ratio=geometry.family_sizes.ratio,
    )


def _page_interleave(
    geometry: Geometry, device: str, classes: AllocatorClasses
) -> PageInterleaveAllocator:
    return classes.page_interleave(
        geometry.size,
        geometry.page_size,
        geometry.family_sizes.ranks,
        device,
        need_sort=geometry.need_sort,
    )


def _mamba_slots(geometry: Geometry, device: str, classes: AllocatorClasses) -> MambaSlotAllocator:
    return classes.mamba_slots(geometry.size, device)


_BUILDERS: dict[str, Callable[[Geometry, str, AllocatorClasses], EagerAllocator]] = {
    "token": _token,
    "paged": _paged,
    "pure-swa": _pure_swa,
    "hisparse": _hisparse,
    "page-interleave": _page_interleave,
    "mamba-slots": _mamba_slots,
}
