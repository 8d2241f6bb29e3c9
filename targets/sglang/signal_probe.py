"""Watches the invariants of a release: every evaluation is counted where the check is called, at every level.

Guarantees that the release's own check still runs, unchanged, with the same argument; the probe only looks first. A
release whose allocators declare no invariants is left alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from targets.hits import HitRecorder
from targets.sglang.release import Release


def watch(release: Release, recorder: HitRecorder) -> None:
    """Report each evaluated invariant of ``release`` and each move of its counter to ``recorder``, from now on."""
    invariants = release.invariants_module
    if invariants is None:
        return
    for module in _users(invariants):
        setattr(module, "expect", _watched(invariants.expect, invariants, recorder))  # noqa: B010 (mypy: a module has no such attribute)
        # Unified allocators look nothing up at off; what is looked up goes to ``expect``, which asks for the level itself.
        if _original(vars(module).get("resolve_level")) is invariants.resolve_level:
            setattr(module, "resolve_level", _strict(invariants))  # noqa: B010


def _users(invariants: ModuleType) -> list[ModuleType]:
    """The release's modules that took ``expect`` into their own namespace, also those that are watched for another target."""
    return [
        module
        for name, module in list(sys.modules.items())
        if name.startswith("sglang.")
        and module is not invariants
        and _original(vars(module).get("expect")) is invariants.expect
    ]


def _watched(
    expect: Callable[..., Any], invariants: ModuleType, recorder: HitRecorder
) -> Callable[..., Any]:
    def look_then_expect(invariant: Any, value: Any, **named: Any) -> Any:
        false_elements = 0
        if value is not None and value.numel() > 0:
            satisfied = invariant.prop.ok(value)
            false_elements = int((~satisfied).sum())
        recorder.evaluated(invariant.name, false_elements)
        before = _counter(invariants, invariant.name)
        result = expect(invariant, value, **named)
        recorder.counted(invariant.name, _counter(invariants, invariant.name) - before)
        return result

    look_then_expect.stands_for = expect  # type: ignore[attr-defined]
    return look_then_expect


def _strict(invariants: ModuleType) -> Callable[[], Any]:
    def strict() -> Any:
        return invariants.InvariantCheckLevel.STRICT

    strict.stands_for = invariants.resolve_level  # type: ignore[attr-defined]
    return strict


def _original(function: Any) -> Any:
    """The release's own function behind one of ours."""
    return getattr(function, "stands_for", function)


def _counter(invariants: ModuleType, name: str) -> int:
    """The release's own running total for an invariant on this rank, 0 before its first hit."""
    totals: dict[str, Any] = invariants._reporter._dev
    return sum(int(total) for key, total in totals.items() if key.split("@")[0] == name)
