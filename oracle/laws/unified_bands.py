"""The bands of a snapshot under their typed names, FULL first."""

from __future__ import annotations

from oracle.byte_buffer import BandName
from oracle.unified_observation import BandState, UnifiedSnapshot

BAND_NAMES: tuple[BandName, ...] = ("full", "swa", "state")


def bands_of(state: UnifiedSnapshot) -> list[tuple[BandName, BandState]]:
    """Each band that the snapshot has, with its name."""
    return [(name, state.bands[name]) for name in BAND_NAMES if name in state.bands]
