"""The quantities of a unified allocator's state in the order in which a person would want to know (contract_unified §3).

Of the allocator's own byte accounting only whether it complains is compared: the contract does not word it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oracle.unified_observation import BandState, UnifiedSnapshot

PILES = ("token_pile", "representative_pile", "full_token_pile", "full_representative_pile")
BAND_QUANTITIES = (
    "v2p", "p2v", "free_ids", "holes", "live", "pending", "pending_load", "watermark", "start", "stop",
    "next_end", "dirty", "allocated", "available", "schedulable", "content",
)  # fmt: skip


def unified_quantities(
    expected: UnifiedSnapshot, got: UnifiedSnapshot
) -> Iterator[tuple[str, Any, Any]]:
    """Name and both sides of each quantity."""
    yield "bands", list(expected.bands), list(got.bands)
    for name in [name for name in expected.bands if name in got.bands]:
        yield from _band_quantities(name, expected.bands[name], got.bands[name])
    yield "copies", expected.copies, got.copies
    yield "prepared", expected.prepared, got.prepared
    yield "group_open", expected.group_open, got.group_open
    for name in PILES:
        yield name, getattr(expected, name), getattr(got, name)
    for name in sorted(expected.queries.keys() | got.queries.keys()):
        yield name, expected.queries.get(name), got.queries.get(name)
    yield "byte_accounting", bool(expected.byte_accounting), bool(got.byte_accounting)


def _band_quantities(
    band: str, expected: BandState, got: BandState
) -> Iterator[tuple[str, Any, Any]]:
    for name in BAND_QUANTITIES:
        yield f"{band}.{name}", getattr(expected, name), getattr(got, name)
