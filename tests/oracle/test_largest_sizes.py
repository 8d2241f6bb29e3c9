"""Sizes that no machine could hold are refused in a sentence, also where each number alone is small enough."""

from __future__ import annotations

from typing import Any

import pytest

from oracle.byte_buffer import Buffer
from oracle.errors import UsageError
from oracle.family_sizes import LARGEST_SIZE, FamilySizes
from oracle.geometry import Geometry

HALF = LARGEST_SIZE // 2

TOO_LARGE: dict[str, dict[str, Any]] = {
    "logical slots": {"family": "hisparse", "size": HALF, "sizes": FamilySizes(ratio=3)},
    "slots of all ranks": {
        "family": "page-interleave",
        "size": HALF,
        "sizes": FamilySizes(ranks=3),
    },
    "slots of the device": {
        "family": "hisparse-dsv4",
        "size": 8,
        "size_swa": 8,
        "page_size": 4,
        "sizes": FamilySizes(device_size=1 << 62),
    },
    "slots of a ring": {
        "family": "swa-ring",
        "size": 8,
        "size_swa": 8,
        "page_size": 4,
        "sizes": FamilySizes(request_slots=1, ring=1 << 62),
    },
    "slots of all rings": {
        "family": "swa-ring",
        "size": 4096,
        "size_swa": 4096,
        "page_size": 4096,
        "sizes": FamilySizes(request_slots=257, ring=1),
    },
    "slots of the window": {
        "family": "hybrid-rows",
        "size": 8,
        "size_swa": 8,
        "sizes": FamilySizes(window=LARGEST_SIZE + 1),
    },
    "static caps": {
        "family": "unified-swa",
        "size": 8,
        "size_swa": 1 << 62,
        "buffer": Buffer(total_bytes=64, full_bytes=1, swa_bytes=1),
    },
}


@pytest.mark.parametrize("what", TOO_LARGE)
def test_what_no_allocator_could_hold_is_refused(what: str) -> None:
    with pytest.raises(UsageError, match=rf"too large.*use at most {LARGEST_SIZE}"):
        Geometry(**TOO_LARGE[what]).check()


@pytest.mark.parametrize(
    "largest",
    [
        {"family": "hisparse", "size": HALF, "sizes": FamilySizes(ratio=2)},
        {"family": "page-interleave", "size": HALF, "sizes": FamilySizes(ranks=2)},
        {
            "family": "hisparse-dsv4",
            "size": LARGEST_SIZE,
            "size_swa": LARGEST_SIZE,
            "page_size": 4,
            "sizes": FamilySizes(device_size=LARGEST_SIZE),
        },
    ],
)
def test_the_largest_sizes_are_accepted(largest: dict[str, Any]) -> None:
    Geometry(**largest).check()


def test_pages_are_spread_over_two_ranks_or_more() -> None:
    alone = Geometry(family="page-interleave", size=8, sizes=FamilySizes(ranks=1))
    with pytest.raises(UsageError, match="needs ranks of at least 2, not 1"):
        alone.check()
