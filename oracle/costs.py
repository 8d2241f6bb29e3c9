"""What one call cost beside its result, as far as a probe was attached that could see it."""

from __future__ import annotations

from msgspec import Struct


class Costs(Struct, frozen=True, kw_only=True):
    """What a call did that slows a GPU down.

    ``syncs``: each time the host waited for the device or read from it, as ``what at file:line``; ``shapes``: each operation
    whose output shape depends on values, likewise; ``launches``: the names of the kernels launched, None where nobody counted.
    ``budgeted``: the target promises ``oracle.launch_budget``.
    """

    syncs: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    launches: tuple[str, ...] | None = None
    budgeted: bool = False
