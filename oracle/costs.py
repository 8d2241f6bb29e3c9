"""What one call cost beside its result, as far as a probe was attached that could see it."""

from __future__ import annotations

from msgspec import Struct


class Costs(Struct, frozen=True, kw_only=True):
    """What a call did that slows a GPU down.

    ``syncs``: each time the host waited for the device or read from it, as ``what at file:line``; ``shapes``: each operation
    whose output shape depends on values, likewise; ``launches``: kernels launched, None where nobody counted.
    """

    syncs: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    launches: int | None = None
