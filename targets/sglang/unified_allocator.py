"""One unified allocator of a release with its fake KV: calls, outcomes, and the state after them.

Guarantees that whatever the allocator raises becomes part of the ``Outcome`` and that the fake KV is numbered as
``oracle.kv_content`` says.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import torch

from oracle import kv_content
from oracle.byte_buffer import BandName
from oracle.call import Call
from oracle.geometry import Geometry
from oracle.observation import Outcome
from oracle.unified_observation import UnifiedSnapshot
from targets.async_asserts import asserts_on_host
from targets.call_arguments import Arguments
from targets.driver import classify
from targets.hits import HitRecorder
from targets.sglang.unified_calls import Performer
from targets.sglang.unified_pools import BandKv
from targets.sglang.unified_release import UnifiedRelease
from targets.sglang.unified_state import BAND_ATTRIBUTES, unified_snapshot
from targets.watching import watching, watching_now


class UnifiedAllocator:
    """``allocator`` is the release's own object; ``kv`` the KV of its bands, FULL first."""

    def __init__(self, unified: UnifiedRelease, geometry: Geometry, recorder: HitRecorder) -> None:
        self._device = unified.release.device
        self.kv: dict[BandName, BandKv] = {
            name: BandKv(name, grid, self._device) for name, grid in geometry.grids().items()
        }
        self.allocator = unified.make(geometry, self.kv)
        self._recorder = recorder
        self._bands: dict[BandName, Any] = {
            name: getattr(self.allocator, BAND_ATTRIBUTES[name]) for name in self.kv
        }
        band = self._bands.get("state")
        self._states = None if band is None else unified.make_states(band, geometry)
        self._performer = Performer(
            self.allocator, self._bands, self._states, unified.engine, self._device
        )
        self._next_number = 1

    def apply(self, call: Call) -> Outcome:
        """Make the call and say what came of it."""
        self._recorder.restart()
        for band in self.kv.values():
            band.forget()
        arguments = Arguments(call, self._device, separate=watching_now())
        value: tuple[int, ...] | None = None
        dtype = error = message = ""
        try:
            with asserts_on_host(), watching(arguments.twins):
                answer = self._performer.perform(call, arguments)
            value, dtype = _plain(answer)
            if self._device.startswith("cuda"):
                torch.cuda.synchronize(self._device)
        except Exception as raised:  # noqa: BLE001 (everything an allocator raises is an observation)
            error, message = classify(raised), str(raised)
        if call.overwrite:
            with suppress(RuntimeError):
                arguments.overwrite()
        tree = self._performer.tree
        outcome = Outcome(
            value=value,
            error=error,
            message=message,
            hits=self._recorder.hits,
            counted=self._recorder.counts,
            dtype=dtype,
            evicted=tree.evicted if tree is not None else (),
        )
        self._write_kv(call, outcome)
        return outcome

    def snapshot(self) -> UnifiedSnapshot:
        """The whole state."""
        return unified_snapshot(self.allocator, self.kv, self._states)

    def _write_kv(self, call: Call, outcome: Outcome) -> None:
        slots, bands = kv_content.written_by(call, outcome)
        if not slots:
            return
        for name in bands:
            if name in self._bands:
                kv = self.kv[name]
                pages = self._bands[name].virtual_to_physical.tolist()
                kv_content.write(kv.content, pages, kv.page_size, slots, self._next_number)
        self._next_number += len(slots)


def _plain(answer: Any) -> tuple[tuple[int, ...] | None, str]:
    """The value and the dtype of an outcome."""
    if answer is None:
        return None, ""
    if isinstance(answer, torch.Tensor):
        return tuple(answer.tolist()), str(answer.dtype).removeprefix("torch.")
    if isinstance(answer, tuple):
        return tuple(int(part) for part in answer), ""
    return (int(answer),), ""
