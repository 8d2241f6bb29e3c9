"""Measures one target in a process of its own, for ``allocators.py``: one JSON object a line on standard output.

CPU time is that of the call itself, between a wait for the GPU and the call's return. The GPU interval is, by ``gpu_by``: ``graph``, a
CUDA graph of the one call, replayed; ``live``, where the call cannot be captured (it waits for the GPU), the call itself between two
events, its enqueueing included. In both the L2 is overwritten first, before the first event.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from pathlib import Path
from time import perf_counter
from typing import Any

import checkout  # noqa: F401 (finds the packages of this checkout, before they are imported)
import torch
from allocator_calls import Measured, calls, makers_of

from targets.mode import INVARIANT_CHECK
from targets.probes.host_syncs import host_sync_probe
from targets.probes.launches import Launches

FLUSHED_BYTES = 256 << 20
WARM_UPS = 3
REPLAYS = 12


class Meter:
    """Takes the figures of calls on one device. ``flushed`` is a buffer of several times the L2."""

    def __init__(self, device: str, rounds: int) -> None:
        self.on_gpu = device.startswith("cuda")
        self.rounds = rounds
        self.syncs = host_sync_probe(device)
        self.launches = Launches() if self.on_gpu else None
        flushed = FLUSHED_BYTES if self.on_gpu else 0
        self.flushed = torch.empty(flushed, dtype=torch.int8, device=device)

    def measure(self, call: Measured) -> dict[str, Any]:
        """All figures of one call. Times in microseconds; None for what this device has not."""
        for _ in range(WARM_UPS if self.on_gpu else 1):
            call.make(call.prepare())
        figures: dict[str, Any] = {"enqueue": self._enqueue(call), "launches": None}
        prepared = call.prepare()
        with self.syncs.watch(call.twins):
            call.make(prepared)
        figures["syncs"] = len(self.syncs.syncs) + len(self.syncs.shapes)
        figures["places"] = sorted({*self.syncs.syncs, *self.syncs.shapes})
        figures["gpu"], figures["gpu_by"] = None, ""
        if self.launches is not None:
            prepared = call.prepare()
            with self.launches.watch():
                call.make(prepared)
            figures["launches"] = len(self.launches.kernels)
            figures["copies"] = len(self.launches.copies)
            figures["gpu"], figures["gpu_by"] = self._gpu(call, waits=bool(figures["syncs"]))
        return figures

    def _enqueue(self, call: Measured) -> float:
        taken = []
        for _ in range(self.rounds):
            prepared = call.prepare()
            self._wait()
            start = perf_counter()
            call.make(prepared)
            taken.append(perf_counter() - start)
        return statistics.median(taken) * 1e6

    def _gpu(self, call: Measured, *, waits: bool) -> tuple[float, str]:
        graph = None if waits else self._captured(call)
        taken = []
        for _ in range(REPLAYS):
            prepared = call.prepare() if graph is None else None
            self.flushed.zero_()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            if graph is None:
                call.make(prepared)
            else:
                graph.replay()
            end.record()
            self._wait()
            taken.append(begin.elapsed_time(end) * 1e3)
        return statistics.median(taken), "live" if graph is None else "graph"

    def _captured(self, call: Measured) -> torch.cuda.CUDAGraph | None:
        """A graph of the call; None when it cannot be captured."""
        prepared = call.prepare()
        self._wait()
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                call.make(prepared)
        except RuntimeError:
            return None
        # Without this the graph would outlive the slots it names.
        self._kept = prepared
        return graph

    def _wait(self) -> None:
        if self.on_gpu:
            torch.cuda.synchronize()


def main() -> None:
    """Measure what the arguments say."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--device", required=True)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--page-sizes", type=int, nargs="+", required=True)
    parser.add_argument("--pages", type=int, nargs="+", required=True)
    options = parser.parse_args()
    os.environ[INVARIANT_CHECK] = "0"
    makers = makers_of(options.target, options.device, options.cache)
    print(json.dumps({"versions": makers.versions}), flush=True)
    meter = Meter(options.device, options.rounds)
    for page_size in options.page_sizes:
        for pages in options.pages:
            for call in calls(makers, page_size, pages, options.device):
                figures = meter.measure(call)
                key = {"call": call.name, "page_size": page_size, "pages": pages}
                print(json.dumps(key | figures), flush=True)


if __name__ == "__main__":
    main()
