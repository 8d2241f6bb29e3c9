"""What an allocation that falls short does before it gives up: flush the others, then ask the floating band for room
(contract_unified §7).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from oracle.unified.band import Band
from oracle.unified.end_band import EndBand
from oracle.unified.floating_band import FloatingBand


def relieve_band(band: Band, pages: int) -> bool:
    """Make ``pages`` available to one band by itself; whether they are now."""
    if isinstance(band, EndBand):
        neighbour = band.growth_neighbour()
        floating = neighbour if isinstance(neighbour, FloatingBand) else None
    else:
        neighbour, floating = band.lower(), None
    targets = [] if neighbour is None else [neighbour]
    return relieve(targets, floating, {band: pages}, lambda: pages <= band.available_pages())


def relieve(
    targets: Sequence[Band],
    floating: FloatingBand | None,
    demand: Mapping[Band, int],
    enough: Callable[[], bool],
) -> bool:
    """Flush ``targets`` urgently; if that is not ``enough``, ask ``floating`` for room for ``demand`` (pages of each band)."""
    for band in targets:
        band.flush(urgent=True)
    if enough():
        return True
    if floating is not None:
        ask_for_room(floating, demand)
    return enough()


def ask_for_room(floating: FloatingBand, demand: Mapping[Band, int]) -> None:
    """Move the floating band so that its neighbours' and its own ``demand`` fits, where one move can do that."""
    wanted = {band: pages for band, pages in demand.items() if pages > 0}
    hopeless = any(pages > band.index_room() for band, pages in wanted.items())
    if floating.is_transparent or not wanted or hopeless:
        return
    low = _extension_bytes(floating.lower(), wanted)
    high = _extension_bytes(floating.upper(), wanted)
    # An end may use every byte of the band that is open beside it, not only whole pages of the floating one (§1).
    open_low, open_high = floating.lo - floating.below(), floating.above() - floating.hi
    surplus_low, surplus_high = open_low - low, open_high - high
    own_pages = max(0, wanted.get(floating, 0) - len(floating.holes))
    own = own_pages * floating.grid.page_bytes
    slack = max(band.grid.page_bytes for band in wanted)
    if surplus_low < 0 and surplus_high < 0:
        return
    if surplus_low < 0:
        target = low + max(0, own - max(0, surplus_high)) + slack
        if target > open_low:
            floating.make_room("low", target)
    elif surplus_high < 0:
        target = high + max(0, own - max(0, surplus_low)) + slack
        if target > open_high:
            floating.make_room("high", target)
    elif own > max(surplus_low, surplus_high):
        if surplus_low >= surplus_high:
            floating.make_room("low", low + own + slack)
        else:
            floating.make_room("high", high + own + slack)


def _extension_bytes(band: Band | None, wanted: Mapping[Band, int]) -> int:
    """The bytes by which an end band grows for its demand, after its own holes."""
    if band is None or band not in wanted:
        return 0
    holes = len(band.holes) if band.is_lazy else 0
    return max(0, wanted[band] - holes) * band.grid.page_bytes
