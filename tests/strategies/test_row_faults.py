"""Faults in the code on rows, put into the prediction itself: each is found, by the laws too where one speaks of it, and reduced."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from planted import findings_on

from oracle.call import Call, RowCursors, Segment
from oracle.finding import Finding
from oracle.geometry import Geometry, Mode
from oracle.lockstep import Judging, Session
from oracle.reference.row_layer import RowPool
from oracle.trace import Trace
from strategies.explore import explore
from strategies.reducer import reduce_trace
from targets.reference import ReferenceTarget

EXAMPLES = 300


class KeepsTooLittle(RowPool):
    """The threshold of an eviction with prefix sharing forgets that a page is kept."""

    def evict_out_of_window(self, call: Call) -> None:
        super().evict_out_of_window(replace(call, sharing=False))


class IgnoresTheFloor(RowPool):
    """Eviction starts at the protected length."""

    def evict_out_of_window(self, call: Call) -> None:
        super().evict_out_of_window(replace(call, cursors=replace(call.cursors, floor=0)))


class ForgetsTheCursor(RowPool):
    """An eviction gives the cursor back that it got."""

    def evict_out_of_window(self, call: Call) -> None:
        super().evict_out_of_window(call)
        self.cursor = call.cursors.evicted


class StoresTheCursorLate(RowPool):
    """The dead lower bound is not stored unless something is freed."""

    def evict_out_of_window(self, call: Call) -> None:
        before = self.mapping.entries[:]
        super().evict_out_of_window(call)
        if self.mapping.entries == before:
            self.cursor = call.cursors.evicted


class IgnoresTheInterval(RowPool):
    """Every eviction acts at once."""

    def evict_out_of_window(self, call: Call) -> None:
        super().evict_out_of_window(replace(call, interval=1))


class IgnoresRetention(RowPool):
    """The retain floor does not hold the threshold down."""

    def evict_out_of_window(self, call: Call) -> None:
        super().evict_out_of_window(replace(call, retain_floor=None))


class FreesFromTheStart(RowPool):
    """The dead range has no lower bound: what lies below the floor goes back on the FULL side only."""

    def free_row_segments(self, segments: Sequence[Segment], evicted: int, dead_lo: int) -> None:
        super().free_row_segments(segments, evicted, 0 if evicted > dead_lo else dead_lo)


class LosesTheTail(RowPool):
    """What lies above the dead range is not given back."""

    def free_row_segments(self, segments: Sequence[Segment], evicted: int, dead_lo: int) -> None:
        cut = [
            Segment(one.slots[: max(0, evicted - one.start_pos)], one.start_pos)
            if one.start_pos < evicted and evicted > dead_lo
            else one
            for one in segments
        ]
        super().free_row_segments(cut, evicted, dead_lo)


class FreesInOrderOfTheRow(RowPool):
    """A segment is cut, and its parts go back where they stand, not the dead ones first."""

    def free_row_segments(self, segments: Sequence[Segment], evicted: int, dead_lo: int) -> None:
        for one in segments:
            for start, stop in ((0, dead_lo), (dead_lo, evicted), (max(evicted, dead_lo), 1 << 30)):
                low = max(0, start - one.start_pos)
                part = one.slots[low : max(low, stop - one.start_pos)]
                part_of = Segment(part, one.start_pos + low)
                super().free_row_segments([part_of] if part else [], evicted, dead_lo)


class KeepsRangesApart(RowPool):
    """Ranges that touch stay two segments."""

    def free_row(
        self, slots: Sequence[int], cursors: RowCursors, ranges: Sequence[tuple[int, int]]
    ) -> None:
        for one in ranges:
            super().free_row(slots, cursors, [one])


class FaultyTarget(ReferenceTarget):
    """The reference with another class of pool."""

    name = "faulty"

    def __init__(self, fault: type[RowPool]) -> None:
        super().__init__()
        self._fault = fault

    def reset(self, geometry: Geometry, mode: Mode) -> None:
        super().reset(geometry, mode)
        (pool,) = [one for one in vars(self._reference).values() if isinstance(one, RowPool)]
        pool.__class__ = self._fault


def _first_finding(
    fault: type[RowPool], *, prediction: bool = True
) -> tuple[Trace, Finding] | None:
    found: list[tuple[Trace, Finding]] = []

    def look(trace: Trace, session: Session) -> None:
        found.extend((trace, one) for one in session.findings)

    explore(
        FaultyTarget(fault),
        "hybrid-rows",
        callers="legal",
        examples=EXAMPLES,
        seed=11,
        judging=Judging(prediction=prediction),
        on_example=look,
        stop=lambda: bool(found),
    )
    return found[0] if found else None


FAULTS: dict[type[RowPool], str] = {
    KeepsTooLittle: "swa.window-kept",
    IgnoresTheFloor: "swa.evicted-above-floor",
    ForgetsTheCursor: "swa.cursor-rises",
    IgnoresRetention: "swa.window-kept",
    FreesFromTheStart: "swa.mapping-support",
    LosesTheTail: "swa.mapping-support",
    StoresTheCursorLate: "",
    IgnoresTheInterval: "",
    FreesInOrderOfTheRow: "",
    KeepsRangesApart: "",
}
"""Each fault, and the law that speaks of it: "" where only the prediction knows better."""


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_is_found_and_reduced_to_a_few_operations(fault: type[RowPool]) -> None:
    found = _first_finding(fault)
    assert found is not None, f"{EXAMPLES} traces do not show {fault.__name__}"
    trace, finding = found
    reduced = reduce_trace(trace, findings_on(FaultyTarget(fault)), finding.cause)
    assert len(reduced.trace.operations) <= 4, reduced.trace.operations


@pytest.mark.parametrize(
    ("fault", "law"),
    [(fault, law) for fault, law in FAULTS.items() if law],
    ids=lambda value: value.__name__ if isinstance(value, type) else value,
)
def test_the_laws_alone_find_it_too(fault: type[RowPool], law: str) -> None:
    found = _first_finding(fault, prediction=False)
    assert found is not None, f"{EXAMPLES} traces do not break {law} by {fault.__name__}"
    assert (found[1].kind, found[1].quantity) == ("law", law)
