"""Builds the bands of a family and says who lies beside whom (contract_unified §1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from oracle.geometry import BANDS
from targets.eager.unified.end_band import EndBand
from targets.eager.unified.floating_band import FloatingBand

if TYPE_CHECKING:
    from oracle.byte_buffer import BandName, Direction
    from oracle.geometry import Geometry
    from oracle.unified_observation import PageCopy
    from targets.eager.unified.band import Band


class BandClasses(NamedTuple):
    """The classes of the bands at the ends and of the one between them."""

    end: type[EndBand] = EndBand
    floating: type[FloatingBand] = FloatingBand


def make_bands(
    geometry: Geometry, device: str, copies: list[PageCopy], classes: BandClasses
) -> dict[BandName, Band]:
    """The bands by name, FULL first, each knowing the others below and above it."""
    buffer, grids = geometry.bytes_shared, geometry.grids()
    bands: dict[BandName, Band] = {}
    for name in BANDS[geometry.family]:
        arguments: tuple[Any, ...] = (name, grids[name], buffer.total_bytes, device, copies)
        direction: Direction = buffer.full_direction
        if name != "full":
            direction = "down" if direction == "up" else "up"
        if name == "swa" and "state" in BANDS[geometry.family]:
            bands[name] = classes.floating(*arguments, owner=False)
            continue
        bands[name] = classes.end(
            *arguments, direction=direction, lazy=buffer.lazy, owner=name != "swa"
        )
    order = low_to_high(geometry, bands)
    for index, band in enumerate(order):
        band.lower = order[:index][::-1]
        band.upper = order[index + 1 :]
    return bands


def low_to_high(geometry: Geometry, bands: dict[BandName, Band]) -> list[Band]:
    """The bands in the order of their bytes."""
    order = [bands[name] for name in ("state", "swa", "full") if name in bands]
    return order[::-1] if geometry.bytes_shared.full_direction == "up" else order
