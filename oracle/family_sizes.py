"""The sizes that only some families of fixed pools have beside ``size`` and ``page_size`` (contract_paged_swa §6 to §9).

Guarantees that sizes that pass ``check_family_sizes`` can be built. Says nothing about what an allocator does with them.
"""

from __future__ import annotations

from msgspec import Struct

from oracle.errors import UsageError

LARGEST_SIZE = 1 << 20
"""The most slots that a pool, or all its parts together, may have."""
LARGEST_COUNT = 1 << 12
FEWEST = {"ranks": 2}
"""Counts that are never one: releases spread pages over two ranks or more."""
COMPRESSION = 4
"""How many FULL slots share one slot on the device in the hisparse-dsv4 family (§7.2)."""


class FamilySizes(
    Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True
):
    """What a family needs to know; what it does not use is 0.

    | family | fields |
    |---|---|
    | swa-ring | ``request_slots``: how many requests there is a ring for; ``ring``: what the KV pool publishes as its ring size |
    | hisparse | ``ratio``: logical slots for each device slot (``Geometry.size`` is the device's) |
    | hisparse-dsv4 | ``device_size``: slots on the device, of ``page_size / 4`` slots a page (``Geometry.size`` and ``size_swa`` are the logical allocator's) |
    | hybrid-rows | ``window``: slots of the sliding window that the callers evict by (§11) |
    | page-interleave | ``ranks``: how many classes of pages (``Geometry.size`` is one rank's) |
    """

    request_slots: int = 0
    ring: int = 0
    ratio: int = 0
    device_size: int = 0
    ranks: int = 0
    window: int = 0


USED: dict[str, tuple[str, ...]] = {
    "swa-ring": ("request_slots", "ring"),
    "hisparse": ("ratio",),
    "hisparse-dsv4": ("device_size",),
    "page-interleave": ("ranks",),
    "hybrid-rows": ("window",),
}
"""The fields that each family uses, all of them at least 1, or what ``FEWEST`` says."""


def check_family_sizes(family: str, sizes: FamilySizes, size: int, page_size: int) -> None:
    """Raise ``UsageError`` with one sentence when no allocator of ``family`` can have these sizes."""
    used = USED.get(family, ())
    for name in FamilySizes.__struct_fields__:
        value = getattr(sizes, name)
        if name not in used and value:
            raise UsageError(f"the {family} family has no {name}, so it must be 0, not {value}")
        least = FEWEST.get(name, 1)
        if name in used and value < least:
            raise UsageError(f"the {family} family needs {name} of at least {least}, not {value}")
    if max(sizes.request_slots, sizes.ratio, sizes.ranks) > LARGEST_COUNT:
        raise UsageError(f"request_slots, ratio and ranks are at most {LARGEST_COUNT}")
    _check_totals(family, sizes, size, page_size)
    if family == "swa-ring" and page_size == 1:
        raise UsageError("the swa-ring family has page sizes above 1")
    if family == "hisparse-dsv4":
        _check_compressed(sizes, page_size)
    if family == "page-interleave" and size % page_size:
        raise UsageError(
            f"a rank of the page-interleave family has whole pages, not {size} slots of page size {page_size}"
        )


def _check_totals(family: str, sizes: FamilySizes, size: int, page_size: int) -> None:
    """What an allocator holds or counts is bounded, not only the numbers that it is the product of."""
    ring = -(-sizes.ring // page_size) * page_size
    totals = {
        f"a device of {size} slots with ratio {sizes.ratio}": size * sizes.ratio,
        f"{sizes.ranks} ranks of {size} slots": size * sizes.ranks,
        f"a device of {sizes.device_size} slots": sizes.device_size,
        f"{sizes.request_slots} rings of {sizes.ring} slots": sizes.request_slots * ring,
        f"a window of {sizes.window} slots": sizes.window,
    }
    for what, slots in totals.items():
        if slots > LARGEST_SIZE:
            raise UsageError(
                f"{what} is too large for the {family} family: use at most {LARGEST_SIZE} slots in all"
            )


def _check_compressed(sizes: FamilySizes, page_size: int) -> None:
    if page_size % COMPRESSION:
        raise UsageError(
            f"the hisparse-dsv4 family has page sizes that {COMPRESSION} divides, not {page_size}"
        )
    if sizes.device_size < page_size // COMPRESSION:
        raise UsageError(
            f"a device of {sizes.device_size} slots has no page of {page_size // COMPRESSION} slots"
        )
