"""The allocator's own look at its bytes: is every page of a span accounted for, does any span reach into another
(contract_unified §10).

Guarantees that looking changes nothing. Waits for the device where a floating band has to be counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from targets.eager.unified.end_band import EndBand
from targets.eager.unified.floating_band import FloatingBand

if TYPE_CHECKING:
    from targets.eager.unified.band import Band


def verify_byte_accounting(low_to_high: list[Band]) -> list[str]:
    """What is wrong, a sentence each; empty when all is well."""
    return [complaint for band in low_to_high for complaint in _within_itself(band)] + list(
        _beside_each_other(low_to_high)
    )


def _within_itself(band: Band) -> Iterator[str]:
    low, high = band.low_byte, band.high_byte
    if not 0 <= low <= high <= band.total_bytes:
        yield f"{band.name} spans bytes {low} to {high} of {band.total_bytes}"
    if isinstance(band, EndBand):
        held = band.live + band.hole_count + band.pending_count
        if band.lazy and band.span != held:
            yield f"{band.name} spans {band.span} pages and accounts for {held}"

    if isinstance(band, FloatingBand):
        bound = int((band.table.p2v[band.start : band.stop] > 0).sum())
        if band.span != bound + band.hole_count:
            yield f"{band.name} spans {band.span} pages, {bound} bound and {band.hole_count} holes"


def _beside_each_other(low_to_high: list[Band]) -> Iterator[str]:
    end = 0
    for band in low_to_high:
        if band.transparent:
            continue
        if band.low_byte < end:
            yield f"{band.name} begins at byte {band.low_byte}, before byte {end}"
        end = band.high_byte
