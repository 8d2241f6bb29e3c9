"""A target of another package, held to the protocol.

Guarantees that whatever it raises, and whatever it gives back that is not what the protocol says, is a ``TargetFaultError`` that names the
target and the member, so that nobody looks for the fault in kvoracle or in an allocator. Judges no allocator.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from traceback import extract_tb
from typing import Any, TypeVar, cast

import msgspec

from oracle.call import Call
from oracle.contract import Contract
from oracle.errors import KvoracleError, TargetFaultError
from oracle.geometry import BANDS, Geometry, Mode
from oracle.observation import Outcome, Snapshot
from oracle.quoting import quote
from oracle.target import Target
from oracle.unified_observation import AnySnapshot, UnifiedSnapshot

Given = TypeVar("Given")


class ForeignTarget:
    """The target ``inner``, made by ``specification``; what it has besides the protocol is there too."""

    name: str
    versions: dict[str, str]

    def __init__(self, specification: str, make: Callable[[], object]) -> None:
        self.name, self.versions = specification, {}
        inner = self._asked("constructor", make)
        missing = [member for member in _MEMBERS if not hasattr(inner, member)]
        if missing:
            raise self._fault(f"has no {', '.join(missing)}: it is a {type(inner).__name__}")
        self._inner = cast("Target", inner)
        self.name = self._checked("name", self._inner.name, str)
        self.versions = self._checked("versions", self._inner.versions, dict[str, str])
        self.notes = self._checked("notes", getattr(inner, "notes", ()), tuple[str, ...])
        self._snapshot: type[AnySnapshot] = Snapshot

    def contract(self, family: str) -> Contract | None:
        """As the target says."""
        contract = self._asked("contract", lambda: self._inner.contract(family))
        return cast("Contract | None", self._checked("contract", contract, Contract | None))

    def reset(self, geometry: Geometry, mode: Mode) -> None:
        """As the target does."""
        self._snapshot = UnifiedSnapshot if geometry.family in BANDS else Snapshot
        self._asked("reset", lambda: self._inner.reset(geometry, mode))

    def apply(self, call: Call) -> Outcome:
        """As the target does."""
        outcome = self._asked("apply", lambda: self._inner.apply(call))
        return cast("Outcome", self._checked("apply", outcome, Outcome))

    def snapshot(self) -> AnySnapshot:
        """As the target says."""
        snapshot = self._asked("snapshot", self._inner.snapshot)
        return cast("AnySnapshot", self._checked("snapshot", snapshot, self._snapshot))

    def __getattr__(self, name: str) -> Any:
        if name == "_inner":
            raise AttributeError(name)
        return getattr(self._inner, name)

    def _asked(self, member: str, ask: Callable[[], Given]) -> Given:
        try:
            return ask()
        except KvoracleError:
            raise
        except Exception as error:
            place = extract_tb(error.__traceback__)[-1]
            words = quote(" ".join(str(error).split()))
            raise self._fault(
                f"raised {type(error).__name__} in its {member} "
                f"({Path(place.filename).name}, line {place.lineno}): {words}"
            ) from error

    def _checked(self, member: str, given: object, wanted: Any) -> Any:
        try:
            if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
                if not isinstance(given, wanted):
                    raise self._fault(
                        f"gave a {type(given).__name__} as its {member}, not a {wanted.__name__}"
                    )
                # A struct does not look at its own fields.
                msgspec.convert(msgspec.to_builtins(given), type(given))
            else:
                msgspec.convert(given, wanted)
        except (msgspec.ValidationError, TypeError) as error:
            raise self._fault(f"gave a {member!r} that is none: {quote(str(error))}") from error
        return given

    def _fault(self, what: str) -> TargetFaultError:
        return TargetFaultError(f"the target {self.name!r} {what}")


_MEMBERS = ("name", "versions", "contract", "reset", "apply", "snapshot")
