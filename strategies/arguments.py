"""Where the arguments of operations come from: for each field of an operation a Hypothesis strategy.

Guarantees one derivation for all operations, from the annotations of their structs, so that a new operation needs
nothing here. Fields whose values should not be drawn evenly are listed in ``BIASES``. Never draws anything but an index
below 101: larger draws are mixed with constants from whatever modules are loaded, and equal seeds would differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

import msgspec
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from oracle import operations as op

Values = tuple[Any, ...]

_AROUND = [power + step for power in (64, 128, 256, 512, 1024, 2048) for step in (-1, 0, 1)]
NUMBERS: Values = (*range(50), *_AROUND)
"""Wide integers: every small one, then what lies around page boundaries. They are read modulo what is live."""

_SMALL = (0, 1, 0, 2, 0, 1, 3, 0, 1, 2, 0, 1, 0, 2, 4, 1, 0, 3, 2, 1, 5, 0, 1, 2)
AMOUNTS: Values = (*_SMALL, *range(4, 18, 2), 7, 9, 15, 31, 33, 63, 64, 65, 255, 256, 257)
"""How much a request grows: one or two pages more often than the rest, or small pools would refuse nearly everything."""

FEW: Values = (0, 1, 0, 2, 1, 3, 0, 4, 5, 6, 7, 11)
"""Numbers of pages or of requests: the newest request and the single page more often than the rest."""

_UNITS: Values = ("pages", "tokens", "edge", "pages", "tokens", "edge", "pages", "left")

_MOSTLY_FIRST: Values = (0, 0, 1, 0, 0, 2, 3)

RARELY: Values = (0, 0, 0, 0, 0, 1, 2, 3)
"""Numbers that turn a plain call into a special one when they are not 0."""

BIASES: dict[tuple[type, str], Values] = {
    (op.Alloc, "unit"): _UNITS,
    (op.Part, "request"): (0, 1, 0, 2, 0, 1, 3, 0, 4, 5),
    (op.Part, "unit"): _UNITS,
    (op.ExtendTail, "request"): (0, 0, 0, 1, 2, 3),
    (op.ExtendTail, "unit"): _UNITS,
    (op.ExtendTail, "aligned"): (True, False),
    (op.Load, "unit"): _UNITS,
    (op.Recover, "page"): FEW,
    (op.Recover, "freed"): (False, False, False, True),
    (op.TransferPeers, "donor"): (1, 0, 2, 1, 0, 3),
    (op.TransferPeers, "page"): _MOSTLY_FIRST,
    (op.TransferPeers, "donor_page"): _MOSTLY_FIRST,
    (op.TransferPeers, "pages"): _MOSTLY_FIRST,
    (op.Free, "arrangement"): ("ascending", "ascending", "descending", "doubled"),
    (op.FreeSegment, "cut"): (*RARELY, 5, 7),
    (op.FreeSegment, "shift"): (*RARELY, 0, 0),
    (op.FreeSegment, "direct"): (False, False, False, True),
    (op.FreeSegments, "arrangement"): ("ascending", "ascending", "descending", "sharing"),
    (op.RawFree, "slots"): (0, 1, -1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 64, 4096),
    (op.Resize, "full"): (0, 1, 2, 3, 4, 6, 8),
    (op.Resize, "swa"): (0, 1, 2, 3, 4, 6, 8),
    (op.Flush, "urgent"): (False, False, True),
    (op.Capacity, "unit"): _UNITS,
    (op.Capacity, "swa"): (0, 0, 0, 1, 2, 3, 5),
    (op.Capacity, "evictable_full"): FEW,
    (op.Capacity, "evictable_swa"): FEW,
    (op.Capacity, "empty_pool"): (False, False, False, True),
    (op.Capacity, "token_slack"): (False, False, False, True),
    (op.EvictForAlloc, "unit"): ("left", "pages", "left", "tokens", "edge"),
    (op.EvictForAlloc, "swa"): (0, 0, 0, 2, 3, 5),
    (op.EvictForAlloc, "rows"): FEW,
    (op.EvictForAlloc, "states"): FEW,
    (op.EvictForAlloc, "tree"): (True, True, True, False),
    (op.StateAlloc, "count"): FEW,
    (op.StateAlloc, "unit"): ("tokens", "tokens", "left"),
    (op.StateFree, "index"): FEW,
    (op.StateFree, "count"): FEW,
    (op.StateFree, "stale"): (False, False, False, True),
    (op.StateRoom, "count"): (*FEW, 9, 14, 20),
    (op.Gate, "state"): ("closed", "open", "absent", "absent"),
    (op.Reserve, "pages"): FEW,
    (op.LogicalExtend, "request"): (0, 1, 0, 2, 1, 3),
    (op.LogicalExtend, "unit"): _UNITS,
    (op.DeviceBuffer, "page"): _MOSTLY_FIRST,
    (op.DeviceBuffer, "pages"): NUMBERS,
    (op.DeviceBuffer, "need"): FEW,
    (op.DeviceBuffer, "odd"): RARELY,
    (op.FreeDeviceBuffer, "buffer"): FEW,
    (op.FreeDeviceBuffer, "again"): (False, False, False, True),
    (op.FreeDeviceBuffer, "padding"): (False, False, False, True),
    (op.SpecScratch, "cap"): FEW,
    (op.SpecScratch, "buffer"): FEW,
    (op.SpecScratch, "odd"): RARELY,
    (op.RotatedPart, "request"): (0, 1, 0, 2, 0, 1, 3, 0, 4, 5),
    (op.RotatedPart, "unit"): ("pages", "pages", "tokens", "edge", "pages", "left"),
    (op.RotatedPart, "base"): FEW,
    (op.RotatedPart, "moved"): (False, False, False, False, True),
    (op.AllocCyclic, "start"): FEW,
    (op.AllocCyclic, "unit"): _UNITS,
    (op.AllocGroupBegin, "amount"): FEW,
    (op.AllocGroupBegin, "nested"): (False, False, True),
    (op.AllocGroupBegin, "unit"): ("tokens", "tokens", "tokens", "left", "pages", "edge"),
    (op.EvictWindow, "count"): (0, 0, 1, 0, 2, 3),
    (op.EvictWindow, "behind"): (*RARELY, 5, 9),
    (op.EvictWindow, "sharing"): (True, False),
    (op.EvictWindow, "floor"): (0, 0, 0, 0, 0, 2, 5, 6, 9, 13),
    (op.EvictWindow, "retain"): (0, 0, 0, 0, 1, 2, 3, 4),
    (op.EvictWindow, "interval"): RARELY,
    (op.EvictWindow, "drifting"): ("evicted", "protected"),
    (op.ReleaseRow, "drifting"): ("evicted", "protected"),
    (op.ReleaseRow, "together"): (False, True),
    (op.FreeRowSegments, "empty"): (False, False, True),
    (op.OverAllocate, "amount"): FEW,
    (op.OverAllocate, "unit"): _UNITS,
    (op.RollBack, "accepted"): FEW,
    (op.InsertAgain, "pair"): FEW,
    (op.HitPrefix, "unit"): _UNITS,
    (op.EvictNode, "keep_peers"): (False, False, True),
    (op.EvictNode, "locked"): (False, False, True),
    (op.RecoverNode, "overwrite"): (False, False, True),
    (op.LoadNode, "unit"): _UNITS,
}
"""The fields that are not drawn evenly, by struct and name. Repeated values are drawn more often; the first is the simplest."""

NAME_BIASES: dict[str, Values] = {
    "amount": AMOUNTS,
    "request": FEW,
    "donor": FEW,
    "page": FEW,
    "donor_page": FEW,
    "pages": FEW,
    "age": FEW,
    "runs": FEW,
    "node": FEW,
    "stale": (0, 0, 0, 1, 2, 50),
    "drift": RARELY,
    "floorless": (False, False, False, True),
}
"""The same for every struct that has a field of that name."""

LEGAL_VALUES: dict[tuple[type, str], Values] = {
    (op.ExtendTail, "aligned"): (True,),
    (op.Recover, "freed"): (False,),
    (op.FreeSegment, "shift"): (0,),
    (op.FreeSegments, "arrangement"): ("ascending",),
    (op.StateFree, "stale"): (False,),
    (op.DeviceBuffer, "odd"): (0,),
    (op.FreeDeviceBuffer, "again"): (False,),
    (op.FreeDeviceBuffer, "padding"): (False,),
    (op.AllocGroupBegin, "nested"): (False,),
    (op.SpecScratch, "odd"): (0,),
    (op.RotatedPart, "moved"): (False,),
    (op.EvictNode, "keep_peers"): (False,),
    (op.EvictNode, "locked"): (False,),
    (op.RecoverNode, "overwrite"): (False,),
}
"""What is left of a field when every other value would break the contract."""

LEGAL_NAMES: dict[str, Values] = {"stale": (0,), "drift": (0,), "floorless": (False,)}
"""The same for every struct that has a field of that name, but for ``StateFree``'s own ``stale``."""

MOST_ITEMS = 3
"""The most parts, runs or raw slots of one operation."""


def arguments_of(
    kind: type[op.Base], *, methods: frozenset[str] | None = None, legal: bool = False
) -> dict[str, SearchStrategy[Any]] | None:
    """A strategy for each field of ``kind``.

    ``methods``: what the target has; a field named ``method`` keeps only those, and None is returned when it has none of
    them. ``legal``: leave out values that always break the contract.
    """
    strategies = {}
    for field in msgspec.structs.fields(kind):
        bias = _bias(kind, field.name, legal=legal)
        if field.name == "method" and methods is not None:
            bias = tuple(method for method in get_args(field.type) if method in methods)
            if not bias:
                return None
        strategies[field.name] = _strategy_for(field.type, bias)
    return strategies


def struct_strategy(
    kind: type[Any], arguments: Mapping[str, SearchStrategy[Any]] | None = None
) -> SearchStrategy[Any]:
    """Structs of ``kind`` with these arguments, or with the derived ones."""
    if arguments is None:
        arguments = arguments_of(kind) or {}
    names = tuple(arguments)
    return st.tuples(*arguments.values()).map(
        lambda values: kind(**dict(zip(names, values, strict=True)))
    )


def _bias(kind: type, name: str, *, legal: bool) -> Values | None:
    if legal and (kind, name) in LEGAL_VALUES:
        return LEGAL_VALUES[kind, name]
    if legal and name in LEGAL_NAMES:
        return LEGAL_NAMES[name]
    return BIASES.get((kind, name), NAME_BIASES.get(name))


def _strategy_for(annotation: Any, bias: Values | None) -> SearchStrategy[Any]:
    """The strategy for one annotation. Raises TypeError for an annotation that no operation may have."""
    if get_origin(annotation) is tuple:
        item = get_args(annotation)[0]
        return _tuples_of(lambda: _strategy_for(item, bias))
    if bias is not None:
        return st.sampled_from(bias) if len(set(bias)) > 1 else st.just(bias[0])
    if annotation is bool:
        return st.booleans()
    if annotation is int:
        return st.sampled_from(NUMBERS)
    if get_origin(annotation) is Literal:
        return st.sampled_from(get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return struct_strategy(annotation)
    raise TypeError(f"no strategy for a field of type {annotation}")


def _tuples_of(item: Any) -> SearchStrategy[tuple[Any, ...]]:
    """Tuples of one to ``MOST_ITEMS`` items, half of them single: fixed shapes cost a third of what lists do."""
    lengths = [1, 1, *range(2, MOST_ITEMS + 1)]
    return st.one_of([st.tuples(*[item() for _ in range(length)]) for length in lengths])
