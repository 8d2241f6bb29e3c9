"""Which class predicts each further family of fixed pools (contract_paged_swa §6 to §9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from oracle.contract import Contract
from oracle.geometry import Family, Geometry, Mode
from oracle.observation import Snapshot
from oracle.reference.hisparse import HiSparsePool
from oracle.reference.hisparse_dsv4 import CompressedHiSparsePool
from oracle.reference.page_interleave import PageInterleavePool
from oracle.reference.pure_swa import PureSwaPool
from oracle.reference.row_layer import RowPool
from oracle.reference.signals import Signals
from oracle.reference.state_slots import StateSlots
from oracle.reference.swa_ring import SwaRingPool


class Further(Protocol):
    """An allocator that is more than one pool. Its calls are methods of the names in ``Call.method``."""

    signals: Signals

    def snapshot(self) -> Snapshot:
        """The whole state."""


FURTHER: dict[Family, Callable[[Geometry, Mode, Contract], Further]] = {
    "mamba-slots": StateSlots,
    "pure-swa": PureSwaPool,
    "swa-ring": SwaRingPool,
    "page-interleave": PageInterleavePool,
    "hisparse": HiSparsePool,
    "hisparse-dsv4": CompressedHiSparsePool,
    "hybrid-rows": RowPool,
}
