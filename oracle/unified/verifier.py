"""The allocator's own check of its byte accounting (contract_unified §10). It does not see everything: see the laws."""

from __future__ import annotations

from collections.abc import Sequence

from oracle.unified.band import Band
from oracle.unified.end_band import EndBand
from oracle.unified.floating_band import FloatingBand


def byte_accounting(chain: Sequence[Band]) -> list[str]:
    """What is wrong with the bands, from the low to the high end; empty when nothing is."""
    found = [complaint for band in chain for complaint in _band_complaints(band)]
    last = 0
    for band in chain:
        if band.is_transparent:
            continue
        if band.lo < last:
            found.append(f"{band.name} begins at byte {band.lo}, before byte {last}")
        last = band.hi
    return found


def _band_complaints(band: Band) -> list[str]:
    found = []
    if not 0 <= band.lo <= band.hi <= band.total_bytes:
        found.append(f"{band.name} spans bytes {band.lo} to {band.hi} of {band.total_bytes}")
    if isinstance(band, EndBand) and band.lazy:
        pending = sum(map(len, band.pending.values()))
        if band.span_pages() != band.live + len(band.holes) + pending:
            found.append(
                f"{band.name} spans {band.span_pages()} pages, which is not what it counts"
            )
    if isinstance(band, FloatingBand):
        bound = sum(band.p2v[page] > 0 for page in range(band.start, band.stop))
        if band.stop - band.start != bound + len(band.holes):
            found.append(f"{band.name} spans {band.stop - band.start} pages, {bound} of them bound")
    return found
