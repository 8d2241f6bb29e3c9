"""Which of our unified allocators serves which family."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from targets.eager.unified.full_and_state import FullAndStateAllocator
from targets.eager.unified.three_pools import ThreePoolAllocator
from targets.eager.unified.token_pool import TokenPool
from targets.eager.unified.two_pools import TwoPoolAllocator

if TYPE_CHECKING:
    from oracle.geometry import Geometry
    from targets.eager.signals import Signals

UnifiedAllocator = TokenPool

MakeUnified = Callable[["Geometry", str, "Signals"], TokenPool]
"""From a geometry, a device and where invariants are evaluated to an allocator."""

UNIFIED_CLASSES: dict[str, MakeUnified] = {
    "unified-swa": TwoPoolAllocator,
    "unified-mamba-swa": ThreePoolAllocator,
    "unified-mamba": FullAndStateAllocator,
}
"""The families that are complete."""
