"""Random programs of calls on rows, the same on every target: rows are extended, evicted and given back, sometimes wrongly."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

from row_checks import WINDOW

from oracle.call import Call, RowCursors, Segment
from oracle.family_sizes import FamilySizes
from oracle.geometry import Geometry, Mode
from oracle.observation import Outcome
from oracle.target import Target
from oracle.unified_observation import AnySnapshot

Seen = tuple[Outcome, AnySnapshot]


class RowProgram:
    """One program: the calls are drawn by what the first target answered, and made on all."""

    def __init__(self, seed: int, targets: list[Target]) -> None:
        self._draw = random.Random(seed)
        draw = self._draw
        self._page = draw.choice((1, 2, 4))
        size = 24 * self._page
        self._geometry = Geometry(
            family="hybrid-rows",
            size=size,
            size_swa=draw.choice((size, size // 2)),
            page_size=self._page,
            need_sort=draw.random() < 0.3,
            sizes=FamilySizes(window=WINDOW),
        )
        mode = Mode(level=draw.choice(("off", "warn", "strict")), debug=draw.random() < 0.3)
        self._targets = targets
        self._grouped = False
        self._rows: list[tuple[tuple[int, ...], RowCursors]] = []
        for target in targets:
            target.reset(self._geometry, mode)

    def step(self) -> tuple[Call, list[Seen]]:
        """One call, and what each target answered to it and looks like then."""
        call = self._next()
        seen = [(target.apply(call), target.snapshot()) for target in self._targets]
        self._follow(call, seen[0][0])
        return call, seen

    def _next(self) -> Call:
        draw = self._draw
        if draw.random() < 0.1:
            return Call(method="free_group_end" if self._grouped else "free_group_begin")
        if not self._rows or draw.random() < 0.2:
            length = draw.randint(1, 8 * self._page)
            if self._page == 1:
                return Call(method="alloc", need=length)
            return Call(
                method="alloc_extend",
                prefix_lens=(0,),
                seq_lens=(length,),
                last_loc=(-1,),
                extend_num_tokens=length,
            )
        slots, cursors = self._rows[-1]
        if draw.random() < 0.6:
            return Call(
                method="evict_out_of_window",
                slots=slots,
                cursors=cursors,
                pre_len=draw.randint(0, len(slots)),
                window=draw.randint(1, WINDOW),
                sharing=draw.random() < 0.6,
                retain_floor=draw.choice((None, None, draw.randint(0, len(slots)))),
                interval=draw.choice((1, 1, 3)),
                overwrite=draw.random() < 0.5,
            )
        cuts = sorted(draw.sample(range(len(slots) + 1), min(draw.choice((2, 3, 4)), len(slots))))
        ranges = tuple((first, last) for first, last in pairwise(cuts))
        if draw.random() < 0.5:
            # Mostly whole rows, so that the pools do not fill up with what nobody holds.
            ranges = ((0, len(slots)),)
        if draw.random() < 0.5:
            return Call(
                method="free_row", slots=slots, cursors=cursors, ranges=ranges, overwrite=True
            )
        return Call(
            method="free_row_segments",
            segments=tuple(Segment(slots[first:last], first) for first, last in ranges),
            evicted=cursors.evicted,
            dead_lo=draw.choice((0, cursors.protected, cursors.floor)),
        )

    def _follow(self, call: Call, outcome: Outcome) -> None:
        if call.method in ("free_group_begin", "free_group_end"):
            self._grouped = call.method == "free_group_begin"
        elif call.method in ("alloc", "alloc_extend"):
            if outcome.value:
                self._rows.append((outcome.value, self._cursors(len(outcome.value))))
                self._draw.shuffle(self._rows)
        elif call.method == "evict_out_of_window":
            slots, cursors = self._rows.pop()
            (evicted,) = outcome.resolved
            moved = RowCursors(
                protected=cursors.protected,
                floor=cursors.floor,
                evicted=evicted,
                committed=len(slots),
                allocated=len(slots),
            )
            self._rows.append((slots, moved))
            self._draw.shuffle(self._rows)
        else:
            self._rows.pop()

    def _cursors(self, length: int) -> RowCursors:
        draw = self._draw
        protected = draw.choice((0, 0, draw.randint(0, length)))
        if draw.random() < 0.8:
            protected = protected // self._page * self._page
        return RowCursors(
            protected=protected,
            floor=draw.choice((0, draw.randint(0, length))),
            evicted=draw.choice((0, 0, 0, draw.randint(0, length))),
            committed=length,
            allocated=length,
        )


def run_alike(seeds: range, targets: list[Target], *, steps: int = 40) -> Counter[tuple[str, str]]:
    """Run programs on all targets, which must answer and look alike after each call; how often each call ended how."""
    ended: Counter[tuple[str, str]] = Counter()
    for seed in seeds:
        program = RowProgram(seed, targets)
        for step in range(steps):
            call, seen = program.step()
            ended[call.method, seen[0][0].error] += 1
            for target, other in zip(targets[1:], seen[1:], strict=True):
                where = f"{target.name}, seed {seed}, call {step}: {call}"
                assert plain(other) == plain(seen[0]), where
    return ended


def plain(seen: Seen) -> tuple[object, ...]:
    """What must be equal on every target: all but the wording of a refusal, and what only one of them shows."""
    outcome, state = seen
    return (outcome.value, outcome.error, outcome.resolved, outcome.hits, outcome.counted, state)
