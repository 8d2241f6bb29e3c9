"""Random traces of the unified families from a seed."""

from __future__ import annotations

import random

from random_traces import _fill as filled

from oracle.geometry import LEVELS, Family, Geometry, Mode
from oracle.operations import OPERATION_TABLE, Drain
from oracle.trace import Callers, Trace
from strategies import unified_geometries as drawn_from


def unified_trace(family: Family, seed: int, callers: Callers, *, operations: int = 60) -> Trace:
    """A trace on a small buffer at any level, the same for the same arguments."""
    choose = random.Random(f"{family} {seed} {callers}")
    kinds = [
        kind
        for kind in OPERATION_TABLE
        if family in kind.families and not (callers == "legal" and kind.hostile)
    ]
    drawn = choose.choices(kinds, [kind.weight for kind in kinds], k=operations)
    listed = tuple(filled(kind.operation, choose) for kind in drawn)
    return Trace(
        geometry=_geometry(family, choose),
        mode=Mode(level=choose.choice(LEVELS)),
        callers=callers,
        operations=(*listed, Drain()),  # type: ignore[arg-type]
    )


def _geometry(family: Family, choose: random.Random) -> Geometry:
    two_pools = family == "unified-swa"
    return drawn_from.make_unified_geometry(
        family,
        pages=choose.choice(drawn_from.PAGES),
        page_size=choose.choice(drawn_from.PAGE_SIZES + drawn_from.OTHER_PAGE_SIZES),
        entries=choose.choice(drawn_from.ENTRIES),
        spare=choose.choice(drawn_from.SPARE),
        lazy=choose.random() < 0.8,
        full_up=two_pools and choose.random() < 0.3,
        states=0 if two_pools else choose.choice(drawn_from.STATES),
        state_bytes=0 if two_pools else choose.choice(drawn_from.STATE_ENTRIES),
        caps="none" if family == "unified-mamba" else choose.choice(drawn_from.CAPS),
    )
