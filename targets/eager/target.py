"""Our torch allocators as a target.

Guarantees that a reset gives the state after construction, whether it built anew or reused the pools. Judges nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from oracle.contract import Contract, current_contract
from oracle.geometry import BANDS, FAMILIES, FURTHER_FAMILIES, Geometry, Mode
from targets.driver import Reach, perform
from targets.eager.families import AllocatorClasses as AllocatorClasses
from targets.eager.families import EagerAllocator as EagerAllocator
from targets.eager.families import build
from targets.eager.family_snapshots import family_snapshot_of
from targets.eager.hybrid_swa import HybridSWAAllocator
from targets.eager.signals import Signals
from targets.eager.unified.families import UnifiedAllocator
from targets.eager.unified.performing import Performer
from targets.eager.unified.snapshots import unified_snapshot_of
from targets.hits import HitRecorder
from targets.mode import switched
from targets.request_slots import RequestSlots
from targets.rows.calls import LayerCaller
from targets.rows.layer import RowLayer
from targets.rows.methods import ROWS_FAMILY

if TYPE_CHECKING:
    from oracle.call import Call
    from oracle.observation import Outcome
    from oracle.unified_observation import AnySnapshot


class EagerTarget:
    """The target ``eager`` on ``device``; with other ``classes`` and ``name``, one of its mutants.

    ``allocator`` is the object under test, ``rows`` the layer for calls on rows above it, None where there is none. Raises AttributeError when used before the first ``reset``.
    """

    def __init__(
        self,
        device: str = "cpu",
        *,
        name: str = "eager",
        classes: AllocatorClasses | None = None,
    ) -> None:
        self.name = name
        self.versions: dict[str, str] = {"torch": str(torch.__version__)}
        self.allocator: EagerAllocator
        self.rows: RowLayer | None = None
        self._device = device
        self._classes = classes if classes is not None else AllocatorClasses()
        self._reuse = classes is None
        self._built: tuple[Geometry, bool] | None = None
        self._mode = Mode()
        self._performer: Performer | None = None
        self._request_slots: RequestSlots | None = None
        self._reach = Reach()
        self._recorder = HitRecorder(has_counter=False)

    def contract(self, family: str) -> Contract | None:
        """The current contract; None for a family that we do not have."""
        ours = (
            family in (*FAMILIES, *FURTHER_FAMILIES, ROWS_FAMILY) or family in self._classes.unified
        )
        return current_contract(family) if ours else None

    def reset(self, geometry: Geometry, mode: Mode) -> None:
        """Return to the state after construction. Raises ``UsageError`` on an impossible geometry.

        The pools are reused when geometry and debug mode are the same and nothing happened that ``clear`` does not undo; never
        with other ``classes``, whose ``clear`` is not to be trusted.
        """
        geometry.check()
        self._mode = mode
        reuse = self._reuse and geometry.family in FAMILIES
        if reuse and self._built == (geometry, mode.debug) and not self._sentinel_is_gone():
            self.allocator.clear()
            return
        self._built = None
        contract = current_contract(geometry.family)
        self._recorder = HitRecorder(has_counter=contract.has_counter)
        self._request_slots = None
        if geometry.family == "swa-ring":
            self._request_slots = RequestSlots(geometry.family_sizes.request_slots)
        with switched(mode):
            self.allocator = self._build(geometry)
        self._reach = Reach(request_slots=self._request_slots)
        self.rows = None
        if geometry.family == ROWS_FAMILY:
            assert isinstance(self.allocator, HybridSWAAllocator)
            self.rows = self._classes.rows(self.allocator)
            self._reach = Reach(rows=LayerCaller(self.rows))
        self._performer = None
        if geometry.family in BANDS:
            self._performer = Performer(self.allocator, self._device, self._recorder)
        self._built = (geometry, mode.debug)

    def apply(self, call: Call) -> Outcome:
        """Perform the call under the mode of the last reset."""
        with switched(self._mode):
            outcome = self._perform(call)
        if call.method == "resize" or outcome.error.startswith("crash"):
            self._built = None
        return outcome

    def snapshot(self) -> AnySnapshot:
        """The whole state, read without changing it."""
        if isinstance(self.allocator, UnifiedAllocator):
            return unified_snapshot_of(self.allocator)
        return family_snapshot_of(self.allocator, self._request_slots)

    def _perform(self, call: Call) -> Outcome:
        if self._performer is not None:
            return self._performer.perform(call)
        return perform(
            self.allocator, call, self._device, observe=self._recorder, reach=self._reach
        )

    def _build(self, geometry: Geometry) -> EagerAllocator:
        signals = Signals(self._recorder, on_host=True)
        return build(geometry, self._device, self._classes, signals, self._request_slots)

    def _sentinel_is_gone(self) -> bool:
        return (
            isinstance(self.allocator, HybridSWAAllocator)
            and int(self.allocator.full_to_swa_index_mapping[-1]) != -1
        )
