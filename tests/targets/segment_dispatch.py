"""What a probe sees in each form of segment free of a unified family, alone and in a group.

Runs on our targets in this process and, from a script, on a release in a process of its own.
"""

from __future__ import annotations

from typing import Any

from oracle.byte_buffer import Buffer
from oracle.call import Call, Segment
from oracle.geometry import Family, Geometry, Mode
from oracle.target import Target
from targets.probes.host_syncs import host_sync_probe
from targets.probes.probed_target import ProbedTarget

PAGES = 24
ROW = 4
"""Pages of the row that is freed."""

PEERED = ("free_segment", "free_segments", "free_swa_segment", "free_full_segment")
FORMS: dict[Family, tuple[str, ...]] = {
    "unified-swa": (*PEERED, "free_full_segments"),
    "unified-mamba-swa": (*PEERED, "free_full_segments"),
    "unified-mamba": ("free_segment", "free_segments"),
}
"""The segment frees of each family. "band" is the FULL band's own, "group of" a free that waited and the end of its group."""


def geometry_of(family: Family, page_size: int, *, lazy: bool = True) -> Geometry:
    """A buffer with room for ``PAGES`` pages on each side."""
    has_swa, has_states = family != "unified-mamba", family != "unified-swa"
    buffer = Buffer(
        total_bytes=24 * page_size * (PAGES + 4) + 8 * 96 * has_states,
        full_bytes=16,
        swa_bytes=8 * has_swa,
        state_bytes=96 * has_states,
        lazy=lazy,
    )
    cap = PAGES * page_size if family == "unified-mamba-swa" else 0
    return Geometry(family=family, size=cap, size_swa=cap, page_size=page_size, buffer=buffer)


def seen_in_frees(
    target: Target, family: Family, page_size: int, *, device: str = "cpu", lazy: bool = True
) -> dict[str, list[str]]:
    """By form of free: what the probe saw, in order. Raises AssertionError when a call failed or nothing was freed."""
    walk = _Walk(target, geometry_of(family, page_size, lazy=lazy), device)
    seen = {method: walk.alone(method) for method in FORMS[family]}
    seen["band free_segment"] = walk.alone("free_segment", pool="full")
    seen |= {f"group of {method}": walk.grouped(method) for method in FORMS[family]}
    return seen


class _Walk:
    def __init__(self, target: Target, geometry: Geometry, device: str) -> None:
        self._probed = ProbedTarget(target, host_sync_probe(device))
        self._geometry = geometry

    def alone(self, method: str, **fields: Any) -> list[str]:
        row = self._start(without_peers="full" in method or "full" in fields.values())
        return self._freeing(self._call_for(method, row, **fields))

    def grouped(self, method: str) -> list[str]:
        row = self._start(without_peers="full" in method)
        waiting = self._call_for(method, row)
        return self._freeing(
            Call(method="free_group_begin"), waiting, Call(method="free_group_end")
        )

    def _start(self, *, without_peers: bool) -> tuple[int, ...]:
        """A new allocator and a row in it that ends inside a page, of which the FULL side may be all that is left."""
        page_size = self._geometry.page_size
        self._probed.reset(self._geometry, Mode())
        slots = self._make(Call(method="alloc", need=ROW * page_size)).value
        assert slots is not None
        row = slots[: len(slots) - (page_size > 1)]
        if without_peers and self._geometry.family != "unified-mamba":
            self._make(Call(method="free_swa_segment", slots=row))
        return row

    def _call_for(self, method: Any, row: tuple[int, ...], **fields: Any) -> Call:
        if not method.endswith("s"):
            return Call(method=method, slots=row, **fields)
        cut = 2 * self._geometry.page_size
        return Call(method=method, segments=(Segment(row[:cut], 0), Segment(row[cut:], cut)))

    def _freeing(self, *calls: Call) -> list[str]:
        live = self._live()
        seen = [what for call in calls for what in self._make(call).seen]
        assert live - self._live() >= ROW, f"{calls} freed too little"
        return seen

    def _live(self) -> int:
        snapshot: Any = self._probed.snapshot()
        return sum(band.live for band in snapshot.bands.values())

    def _make(self, call: Call) -> _Made:
        outcome = self._probed.apply(call)
        assert not outcome.error, (call, outcome)
        assert outcome.costs is not None, f"{call.method} was not watched"
        return _Made(outcome.value, [*outcome.costs.syncs, *outcome.costs.shapes])


class _Made:
    def __init__(self, value: tuple[int, ...] | None, seen: list[str]) -> None:
        self.value = value
        self.seen = seen
