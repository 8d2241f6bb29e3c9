"""What an allocation does that finds its band short: neighbours give back holes, the floating band moves aside
(contract_unified §7).

Guarantees nothing about success; pages may have moved when it fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from targets.eager.unified.band import Band, nearest
from targets.eager.unified.end_band import EndBand
from targets.eager.unified.floating_band import FloatingBand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oracle.byte_buffer import BandName
    from oracle.call import Side


def relieve(band: Band, need: int) -> bool:
    """Whether ``need`` slots are available on ``band``, if need be after its neighbour gave way."""
    if need <= band.available_size():
        return True
    neighbour = _giving(band)
    if neighbour is not None:
        neighbour.flush(urgent=True)
        if need <= band.available_size():
            return True
        if isinstance(band, EndBand) and isinstance(neighbour, FloatingBand):
            ask_float(neighbour, {band.name: -(-need // band.page_size)})
    return need <= band.available_size()


def _giving(band: Band) -> Band | None:
    # A floating band asks its low neighbour alone (§6).
    return band.growth_neighbour() if isinstance(band, EndBand) else nearest(band.lower)


def ask_float(band: FloatingBand, demand: Mapping[BandName, int]) -> None:
    """Let the floating ``band`` make room for ``demand`` pages by band name, if it can serve one side without hurting the other."""
    everyone = [band, *band.lower, *band.upper]
    wanting = [member for member in everyone if demand.get(member.name, 0) > 0]
    if band.transparent or not wanting:
        return
    if any(demand[member.name] > _left_in_grid(member) for member in wanting):
        return
    low = _demanded(nearest(band.lower), demand)
    high = _demanded(nearest(band.upper), demand)
    # The ends may use bytes that make no whole page of the floating band.
    open_bytes: dict[Side, int] = {
        "low": band.low_byte - band.below(),
        "high": band.above() - band.high_byte,
    }
    spare_low, spare_high = open_bytes["low"] - low, open_bytes["high"] - high
    own = max(0, demand.get(band.name, 0) - band.hole_count) * band.page_bytes
    slack = max(member.page_bytes for member in wanting)
    side: Side
    if spare_low < 0 and spare_high < 0:
        return
    if spare_low < 0 or spare_high < 0:
        side, wanted, far = ("low", low, spare_high) if spare_low < 0 else ("high", high, spare_low)
        target = wanted + max(0, own - max(0, far)) + slack
        if target > open_bytes[side]:
            band.make_room(side, target)
    elif own > max(spare_low, spare_high):
        side, wanted = ("low", low) if spare_low >= spare_high else ("high", high)
        band.make_room(side, wanted + own + slack)


def _left_in_grid(band: Band) -> int:
    return band.page_room - (band.span if isinstance(band, EndBand) else band.live)


def _demanded(end: Band | None, demand: Mapping[BandName, int]) -> int:
    """Bytes by which the end band on one side has to grow."""
    if end is None:
        return 0
    return max(0, demand.get(end.name, 0) - end.hole_count) * end.page_bytes
