"""Where geometries and modes come from: drawn once for each example, so that swarm testing covers them too.

Guarantees that every geometry passes ``Geometry.check`` and has at most ``MOST_SLOTS`` slots in a pool. Small pools are
drawn most, because only a pool under pressure refuses, merges and reuses.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec import UNSET

from oracle.contract import Contract
from oracle.family_sizes import COMPRESSION, FamilySizes
from oracle.geometry import (
    ALL_FAMILIES,
    BANDS,
    SINGLE_SLOTS,
    TWO_POOLS,
    WITH_DEVICE,
    Family,
    Geometry,
)
from strategies.unified_geometries import make_unified_geometry, unified_arguments

DRAWN_FAMILIES: tuple[Family, ...] = ALL_FAMILIES
"""The families whose geometries can be drawn. Others take a given geometry."""

MOST_SLOTS = 2048

POWERS_OF_TWO = (4, 1, 2, 4, 1, 16, 1, 64, 256)
OTHERS = (3, 12, 5)
"""Page sizes, the simplest first; those that are drawn more often are repeated."""

COMPRESSED_SIZES = (8, 16, 4, 8, 16, 12, 8, 64, 256)
"""Page sizes of a compressed device, whose pages have a quarter of that: seldom one slot, on which no row goes on."""

PAGES = (4, 3, 2, 5, 8, 6, 4, 7, 2, 3, 8, 1, 10, 12, 16)
"""How many pages a pool has."""

SPARE = (0, 0, 0, 1, -1)
"""Slots beyond the last whole page: none, one, or (-1) one less than a page."""


RATIOS = (2, 1, 2, 3, 4)
"""Logical slots for each device slot."""

RANKS = (2, 3, 2, 4, 2, 8)
"""Classes of pages: releases have two or more."""

MOST_PAGES_OF_A_PART = 8
"""Pages of one rank or of the device, of which the whole allocator has several times as many."""

REQUEST_SLOTS = (4, 2, 3, 1, 6, 8)

PAGES_OF_ROWS = (16, 12, 8, 24, 10, 32, 6)
"""Pages of pools whose rows are to grow out of their window."""

WINDOW_PAGES = (1, 0, 1, 2, 0, 3)
WINDOW_SLOTS = (0, 1, 2, -1, 3, 7)
"""The window: whole pages and some slots, at least 1 in all."""


def geometry_arguments(
    family: Family, contract: Contract, geometry: Geometry | None = None
) -> dict[str, SearchStrategy[Any]]:
    """The arguments of ``make_geometry``, each with its strategy. A given ``geometry`` leaves nothing to draw."""
    if geometry is not None:
        return {}
    if family in BANDS:
        return unified_arguments(family, contract)
    arguments: dict[str, SearchStrategy[Any]] = {
        "pages": st.sampled_from(PAGES),
        "need_sort": st.booleans(),
    }
    if family == "mamba-slots":
        del arguments["need_sort"]
    if family not in SINGLE_SLOTS:
        sizes: tuple[int, ...] = POWERS_OF_TWO + OTHERS
        if family == "hisparse-dsv4":
            sizes = COMPRESSED_SIZES
        if contract.power_of_two_pages:
            sizes = tuple(size for size in sizes if size & (size - 1) == 0)
        arguments["page_size"] = st.sampled_from([n for n in sizes if _fits(family, n)])
        arguments["spare"] = st.sampled_from(SPARE if family != "page-interleave" else (0,))
    if family in TWO_POOLS:
        arguments["pages_swa"] = st.sampled_from(PAGES)
        arguments["spare_swa"] = st.sampled_from(SPARE)
    if family == "hybrid-rows":
        arguments["pages"] = arguments["pages_swa"] = st.sampled_from(PAGES_OF_ROWS)
    return arguments | _size_arguments(family)


def _fits(family: Family, page_size: int) -> bool:
    if family == "swa-ring":
        return page_size > 1
    return family != "hisparse-dsv4" or page_size % COMPRESSION == 0


def _size_arguments(family: Family) -> dict[str, SearchStrategy[Any]]:
    if family == "swa-ring":
        return {
            "request_slots": st.sampled_from(REQUEST_SLOTS),
            "ring": st.sampled_from((3, 1, 4, 9, 16, 64)),
        }
    if family == "hisparse":
        return {"ratio": st.sampled_from(RATIOS)}
    if family == "hisparse-dsv4":
        return {"pages_device": st.sampled_from(PAGES), "spare_device": st.sampled_from(SPARE)}
    if family == "page-interleave":
        return {"ranks": st.sampled_from(RANKS)}
    if family == "hybrid-rows":
        return {
            "window_pages": st.sampled_from(WINDOW_PAGES),
            "window_slots": st.sampled_from(WINDOW_SLOTS),
        }
    return {}


def make_geometry(family: Family, **drawn: Any) -> Geometry:
    """The geometry that was drawn by ``geometry_arguments``."""
    if family in BANDS:
        return make_unified_geometry(family, **drawn)
    return _make_static_geometry(family, **drawn)


def _make_static_geometry(
    family: Family,
    *,
    pages: int,
    need_sort: bool = False,
    page_size: int = 1,
    spare: int = 0,
    pages_swa: int = 0,
    spare_swa: int = 0,
    pages_device: int = 0,
    spare_device: int = 0,
    window_pages: int = 0,
    window_slots: int = 0,
    **counts: int,
) -> Geometry:
    """Pools of fixed sizes. ``pages`` of families with page size 1 are pairs of slots; ``counts`` go to ``FamilySizes``."""
    if family in SINGLE_SLOTS:
        pages *= 2
    if family == "hisparse-dsv4":
        counts["device_size"] = _slots(pages_device, page_size // COMPRESSION, spare_device)
    if family == "hybrid-rows":
        counts["window"] = max(1, window_pages * page_size + window_slots)
    if family in WITH_DEVICE or family == "page-interleave":
        pages = min(pages, MOST_PAGES_OF_A_PART)
    return Geometry(
        family=family,
        size=_slots(pages, page_size, spare),
        page_size=page_size,
        size_swa=_slots(pages_swa, page_size, spare_swa) if family in TWO_POOLS else 0,
        need_sort=need_sort,
        sizes=FamilySizes(**counts) if counts else UNSET,
    )


def geometries(family: Family, contract: Contract) -> SearchStrategy[Geometry]:
    """Geometries of ``family`` that ``contract`` allows, as one strategy."""
    return st.fixed_dictionaries(geometry_arguments(family, contract)).map(
        lambda arguments: make_geometry(family, **arguments)
    )


def _slots(pages: int, page_size: int, spare: int) -> int:
    pages = min(pages, MOST_SLOTS // page_size)
    return pages * page_size + spare % page_size
