"""Our Triton allocators as a target.

Guarantees that a reset gives the state after construction, whether it built anew or reused the pools, and that the versions say how
the kernels run. Judges nothing.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import TYPE_CHECKING, Any

from oracle.geometry import FAMILIES
from targets.eager.signals import Signals
from targets.eager.target import EagerAllocator, EagerTarget
from targets.eager.unified.families import UnifiedAllocator
from targets.fused.launcher import prepare
from targets.rows.methods import ROWS_FAMILY

if TYPE_CHECKING:
    from oracle.contract import Contract
    from oracle.geometry import Geometry
    from oracle.observation import Snapshot
    from oracle.unified_observation import AnySnapshot

WITHOUT_INTERPRETER = "torch, as Triton does not interpret in this process"


class FusedTarget(EagerTarget):
    """The target ``fused`` on ``device``: compiled on a GPU, interpreted on a CPU.

    ``reference`` runs the torch allocators instead, as a CPU on which triton does not interpret does; the version ``kernels``
    says ``torch`` then, and why if nobody asked. ``exact`` off lets a GPU run ahead of its checks, as in serving: hits are not recorded then.
    ``keeps_launch_budget`` says that kernels run, and so that each call is held to one launch.
    Raises TargetUnavailable when triton is missing and no reference was asked for.
    """

    def __init__(self, device: str = "cpu", *, reference: bool = False, exact: bool = True) -> None:
        super().__init__(device, name="fused:reference" if reference else "fused")
        way = "torch" if reference else prepare(device)
        self.keeps_launch_budget = way != "torch"
        self._exact = exact
        self._fused: Any = None
        if way != "torch":
            self._fused = importlib.import_module("targets.fused.hybrid_swa")
            self._snapshots = importlib.import_module("targets.fused.snapshots")
            self._unified = importlib.import_module("targets.fused.unified.families").FUSED_CLASSES
            self.versions["triton"] = importlib.metadata.version("triton")
        self.versions["kernels"] = way if reference or way != "torch" else WITHOUT_INTERPRETER

    def contract(self, family: str) -> Contract | None:
        """As ``eager``; with kernels, None for a family that has none."""
        known = (*FAMILIES, ROWS_FAMILY)
        ours = self._fused is None or family in known or family in self._unified
        return super().contract(family) if ours else None

    def snapshot(self) -> AnySnapshot:
        """The whole state, read without changing it."""
        if self._fused is None or isinstance(self.allocator, UnifiedAllocator):
            return super().snapshot()
        state: Snapshot = self._snapshots.snapshot_of(self.allocator)
        if state.overwritten:
            # Guards do not heal, so the next run has to begin with others.
            self._built = None
        return state

    def _build(self, geometry: Geometry) -> EagerAllocator:
        if self._fused is None:
            return super()._build(geometry)
        size, need_sort = geometry.size, geometry.need_sort
        allocator: Any
        if geometry.family == "token":
            allocator = self._fused.FusedTokenAllocator(size, self._device, need_sort=need_sort)
            pools = [allocator]
        elif geometry.family == "paged":
            allocator = self._fused.FusedPagedAllocator(
                size, geometry.page_size, self._device, need_sort=need_sort
            )
            pools = [allocator]
        elif geometry.family in self._unified:
            make = self._unified[geometry.family]
            unified: EagerAllocator = make(geometry, self._device, self._signals())
            return unified
        else:
            allocator = self._fused.FusedHybridSWAAllocator(
                *(size, geometry.size_swa, geometry.page_size, self._device),
                need_sort=need_sort,
                signals=self._signals(),
            )
            pools = [allocator.full_side, allocator.swa_side]
        for pool in pools:
            pool.pages.guards_slots = self._exact
        built: EagerAllocator = allocator
        return built

    def _signals(self) -> Signals:
        return Signals(self._recorder if self._exact else None, on_host=self._exact)
