"""Random traces of every operation from a seed, for tests that are too slow for Hypothesis to choose what they run."""

from __future__ import annotations

import random
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from oracle.geometry import Family, Geometry, Mode
from oracle.operations import OPERATION_TABLE, Base, Drain, Part
from oracle.trace import Callers, Trace

_HINTS = {kind.operation: get_type_hints(kind.operation) for kind in OPERATION_TABLE}


def random_trace(
    family: Family, page_size: int, seed: int, callers: Callers, mode: Mode, *, operations: int = 40
) -> Trace:
    """A trace on pools of up to eleven pages, the same for the same arguments."""
    choose = random.Random(f"{family} {page_size} {seed} {callers}")
    geometry = Geometry(
        family=family,
        size=_size(choose, page_size),
        page_size=page_size,
        size_swa=_size(choose, page_size) if family == "hybrid-swa" else 0,
        need_sort=choose.random() < 0.4,
    )
    kinds = [
        kind
        for kind in OPERATION_TABLE
        if family in kind.families and not (callers == "legal" and kind.hostile)
    ]
    # Hostile callers make the calls that no legal one makes twice as often as mixed ones.
    often = 2 if callers == "hostile" else 1
    weights = [kind.weight * (often if kind.hostile else 1) for kind in kinds]
    drawn = choose.choices(kinds, weights, k=operations)
    listed = tuple(_fill(kind.operation, choose) for kind in drawn)
    return Trace(geometry=geometry, mode=mode, callers=callers, operations=(*listed, Drain()))


def _size(choose: random.Random, page_size: int) -> int:
    return choose.randrange(1, 12) * page_size + choose.choice((0, 0, 0, page_size - 1))


def _fill(operation: type[Base], choose: random.Random) -> Base:
    fields = msgspec.structs.fields(operation)
    hints = _HINTS[operation]
    return operation(**{field.name: _value(hints[field.name], choose) for field in fields})


def _value(hint: Any, choose: random.Random) -> Any:
    if hint is bool:
        return choose.random() < 0.3
    if hint is int:
        return choose.choice((0, 0, 1, 2, choose.randrange(10), choose.randrange(1 << 16)))
    if get_origin(hint) is Literal:
        return choose.choice(get_args(hint))
    assert get_origin(hint) is tuple, f"no random value of {hint}"
    element = get_args(hint)[0]
    if element is Part:
        return tuple(
            Part(
                _value(int, choose), _value(int, choose), choose.choice(("tokens", "pages", "left"))
            )
            for _ in range(choose.randrange(1, 4))
        )
    return tuple(_value(int, choose) - choose.choice((0, 0, 1)) for _ in range(3))
