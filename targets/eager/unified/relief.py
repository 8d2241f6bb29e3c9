"""What an allocation does that finds its band short: the neighbours give back what they can (contract_unified §7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from targets.eager.unified.end_band import EndBand

if TYPE_CHECKING:
    from targets.eager.unified.band import Band


def relieve(band: Band, need: int) -> bool:
    """Whether ``need`` slots are available on ``band``, if need be after its neighbour gave back its holes."""
    if need <= band.available_size():
        return True
    neighbour = band.growth_neighbour() if isinstance(band, EndBand) else None
    if neighbour is not None:
        neighbour.flush(urgent=True)
    return need <= band.available_size()
