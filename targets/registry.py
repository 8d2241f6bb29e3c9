"""From a specification (``eager``, ``sglang==0.5.23``, ``mutant:dedup-dropped``) to a target.

Guarantees that whatever cannot be made is refused with one sentence, ``UsageError`` for a name that means nothing and
``TargetUnavailable`` for one that cannot be had here. Imports a target's code only when it is asked for.
"""

from __future__ import annotations

import importlib
import importlib.util
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, NamedTuple

from oracle.errors import TargetUnavailable, UsageError
from oracle.quoting import quote

if TYPE_CHECKING:
    from pathlib import Path

    from oracle.target import Target

ENTRY_POINT_GROUP = "kvoracle.targets"
MUTANT = "mutant:"
"""What the names of our allocators with a fault put in begin with."""


class KnownTarget(NamedTuple):
    """One line of the list of targets. ``reason`` is "" when the target is available."""

    specification: str
    description: str
    available: bool
    reason: str


def make_target(specification: str, *, device: str = "cpu", cache: Path | None = None) -> Target:
    """The target that ``specification`` names, on ``device`` (``cpu``, ``cuda``, ``cuda:1``).

    ``cache`` is where fetched releases lie; None means the user's cache. A specification of another package is the name of
    its entry point in the group ``kvoracle.targets``, or ``NAME:ARGUMENT``; the entry point is called with
    ``(argument, device)``. Raises UsageError, TargetUnavailable or TargetFaultError.
    """
    if specification == "oracle":
        reference: Target = _module("targets.reference", specification).ReferenceTarget()
        return reference
    if _is_sglang(specification):
        adapter = _module("targets.sglang.adapter", specification)
        if device != "cpu":
            _check_device(device, specification)
        try:
            release: Target = adapter.make_sglang_target(specification, device=device, cache=cache)
        except (OSError, RuntimeError) as error:
            # Up to Python 3.12 a loop of links is a RuntimeError.
            reason = getattr(error, "strerror", None) or error
            raise TargetUnavailable(f"{specification} cannot be read: {reason}") from error
        return release
    name, _, argument = specification.partition(":")
    if name in ("eager", "fused", "canary", "mutant"):
        return _make_own(specification, device)
    entry_point = _entry_points().get(name)
    if entry_point is None:
        raise UsageError(_unknown(specification))
    return _make_foreign(entry_point, specification, argument, device)


def known_targets() -> list[KnownTarget]:
    """Every target that can be named, with whether it can be made here. Makes none, fetches nothing."""
    no_torch = _why_missing("torch")
    known = [
        _known("eager", "our torch allocators, one torch operation a step", no_torch),
        _known(
            "fused", "our Triton allocators, one launch a call", no_torch or _why_missing("triton")
        ),
        _known("fused:reference", "the torch path of fused", no_torch),
        _known("oracle", "the prediction itself, as a target", _why_missing("oracle.reference")),
        _known("canary", "eager, wrong once in a hundred traces", no_torch),
        _known("sglang", "the SGLang that is installed here", no_torch or _why_missing("sglang")),
        _known("sglang==X", "release X of SGLang, fetched into a cache", no_torch),
        _known("sglang@PATH", "a checkout or an unpacked wheel of SGLang", no_torch),
    ]
    for name, entry_point in sorted(_entry_points().items()):
        known.append(_known(name, f"from {entry_point.value}", ""))
    for name, description in _mutants(no_torch).items():
        known.append(_known(MUTANT + name, description, no_torch))
    return known


def _make_own(specification: str, device: str) -> Target:
    own = _module("targets.eager.target", specification)
    _check_device(device, specification)
    if specification == "eager":
        eager: Target = own.EagerTarget(device)
        return eager
    if specification in ("fused", "fused:reference"):
        fused = _module("targets.fused.target", specification)
        reference = specification == "fused:reference"
        launched: Target = fused.FusedTarget(device, reference=reference)
        return launched
    if specification == "canary":
        canary: Target = _module("targets.canary", specification).CanaryTarget(device)
        return canary
    mutants = _module("targets.mutants.registry", specification)
    name = specification.removeprefix(MUTANT)
    if not specification.startswith(MUTANT) or name not in mutants.MUTANTS:
        raise UsageError(_unknown(specification))
    mutant: Target = mutants.make_mutant(name, device)
    return mutant


def _make_foreign(
    entry_point: EntryPoint, specification: str, argument: str, device: str
) -> Target:
    try:
        make = entry_point.load()
    except Exception as failure:
        raise TargetUnavailable(
            f"the target {entry_point.name!r} comes from {entry_point.value}, "
            f"which cannot be imported: {type(failure).__name__}: {quote(str(failure))}"
        ) from failure
    foreign: Target = _module("targets.foreign", specification).ForeignTarget(
        specification, lambda: make(argument, device)
    )
    return foreign


def _is_sglang(specification: str) -> bool:
    return specification == "sglang" or specification.startswith(("sglang==", "sglang@"))


def _module(name: str, specification: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as missing:
        raise TargetUnavailable(
            f"the target {specification!r} cannot be had here: {missing}; install what is missing"
        ) from missing


def _check_device(device: str, specification: str) -> None:
    torch = _module("torch", specification)
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as refusal:
        reason = str(refusal).splitlines()[0].rstrip(".")
        raise TargetUnavailable(
            f"the device {device!r} cannot be used here ({reason}): take cpu, or a torch and a machine that have it"
        ) from refusal


def _entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}


def _mutants(no_torch: str) -> dict[str, str]:
    if no_torch:
        return {}
    registry = importlib.import_module("targets.mutants.registry")
    return {name: mutant.description for name, mutant in registry.MUTANTS.items()}


def _unknown(specification: str) -> str:
    names = [known.specification for known in known_targets()]
    begun = [name for name in names if name.startswith(f"{specification}:")]
    close = begun[:3] or get_close_matches(specification, names, n=3, cutoff=0.5)
    advice = (
        "did you mean " + " or ".join(close) if close else "'kvoracle targets' lists the known ones"
    )
    return f"there is no target {specification!r}: {advice}"


def _why_missing(module: str) -> str:
    return "" if importlib.util.find_spec(module) else f"{module} is not installed"


def _known(specification: str, description: str, reason: str) -> KnownTarget:
    return KnownTarget(specification, description, not reason, reason)
