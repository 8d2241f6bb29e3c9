"""Comparing a prediction with what a target did: the first difference, by quantity, with its neighbours (§14)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from oracle.observation import Outcome, PoolState, Snapshot
from oracle.unified_comparison import unified_quantities
from oracle.unified_observation import AnySnapshot, UnifiedSnapshot

NEIGHBOURS = 2


class Difference(Struct, frozen=True):
    """What differs: ``signal`` says that it is about an invariant rather than about results or state."""

    quantity: str
    expected: str
    got: str
    signal: bool = False


def compare_outcomes(expected: Outcome, got: Outcome) -> Difference | None:
    """The first difference between two outcomes: hits, then errors, then counters, then the returned slots."""
    if expected.hits != got.hits:
        first = next(
            (
                hit.name
                for hit in (*expected.hits, *got.hits)
                if (hit in expected.hits) != (hit in got.hits)
            ),
            "order",
        )
        return Difference(first, _hits(expected), _hits(got), signal=True)
    if expected.error != got.error:
        about_signal = "invariant:" in expected.error + got.error
        return Difference("raised", _raised(expected), _raised(got), signal=about_signal)
    if expected.counted is not None and got.counted is not None and expected.counted != got.counted:
        return Difference("counted", str(expected.counted), str(got.counted), signal=True)
    if expected.value != got.value:
        return Difference("returned", *_first_difference(expected.value, got.value))
    if expected.evicted != got.evicted:
        return Difference("evicted", *_first_difference(expected.evicted, got.evicted))
    if expected.resolved != got.resolved:
        return Difference("resolved", *_first_difference(expected.resolved, got.resolved))
    if expected.dtype and expected.dtype != got.dtype:
        return Difference("returned dtype", expected.dtype, got.dtype)
    return None


def compare_snapshots(expected: AnySnapshot, got: AnySnapshot) -> Difference | None:
    """The first difference between two states, in the order in which a person would want to know."""
    if expected == got:
        return None
    for quantity, left, right in _quantities(expected, got):
        if left != right:
            return Difference(quantity, *_first_difference(left, right))
    return None


def compare_values(quantity: str, expected: Any, got: Any) -> Difference | None:
    """The first difference between two values of one quantity."""
    return None if expected == got else Difference(quantity, *_first_difference(expected, got))


def _quantities(expected: AnySnapshot, got: AnySnapshot) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(expected, Snapshot) and isinstance(got, Snapshot):
        yield from _static_quantities(expected, got)
    elif isinstance(expected, UnifiedSnapshot) and isinstance(got, UnifiedSnapshot):
        yield from unified_quantities(expected, got)
    else:
        yield "kind of state", type(expected).__name__, type(got).__name__


def _static_quantities(expected: Snapshot, got: Snapshot) -> Iterator[tuple[str, Any, Any]]:
    yield from _pool_quantities("full", expected.full, got.full)
    if expected.swa is not None and got.swa is not None:
        yield from _pool_quantities("swa", expected.swa, got.swa)
    elif (expected.swa is None) != (got.swa is None):
        yield "swa pool", expected.swa, got.swa
    if expected.device is not None and got.device is not None:
        yield from _pool_quantities("device", expected.device, got.device)
    elif (expected.device is None) != (got.device is None):
        yield "device pool", expected.device, got.device
    for name in ("classes", "class_staged", "prepared", "device_mapping", "device_full_pile"):
        yield name, getattr(expected, name), getattr(got, name)
    for name in ("mapping", "swa_set_pile", "swa_page_pile", "full_only_pile", "group"):
        yield name, getattr(expected, name), getattr(got, name)
    for name in sorted(expected.queries.keys() | got.queries.keys()):
        yield name, expected.queries.get(name), got.queries.get(name)
    yield "new_pages_available", expected.new_pages, got.new_pages


def _pool_quantities(
    pool: str, expected: PoolState, got: PoolState
) -> Iterator[tuple[str, Any, Any]]:
    for name in ("free", "staged", "group", "page_pile", "staged_count", "available", "size"):
        yield f"{pool}.{name}", getattr(expected, name), getattr(got, name)
    if expected.all_free is not None and got.all_free is not None:
        yield f"{pool}.all_free", expected.all_free, got.all_free


def _first_difference(expected: Any, got: Any) -> tuple[str, str]:
    """Both sides around the first differing element; whole values where they are no lists."""
    if not isinstance(expected, (list, tuple)) or not isinstance(got, (list, tuple)):
        return _short(expected), _short(got)
    index = next(
        (i for i, (left, right) in enumerate(zip(expected, got, strict=False)) if left != right),
        min(len(expected), len(got)),
    )
    return _around(expected, index), _around(got, index)


def _around(values: Sequence[Any], index: int) -> str:
    start = max(0, index - NEIGHBOURS)
    shown = [_short(value) for value in values[start : index + NEIGHBOURS + 1]]
    before = "…, " if start else ""
    after = ", …" if index + NEIGHBOURS + 1 < len(values) else ""
    return f"[{before}{', '.join(shown)}{after}] (element {index} of {len(values)})"


def _short(value: Any, limit: int = 120) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _hits(outcome: Outcome) -> str:
    return ", ".join(f"{hit.name} x{hit.count}" for hit in outcome.hits) or "no invariant hit"


def _raised(outcome: Outcome) -> str:
    if not outcome.error:
        return "nothing raised"
    return f"{outcome.error} ({outcome.message})" if outcome.message else outcome.error
