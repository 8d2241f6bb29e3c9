"""Small geometries of the further families, for the tests of this folder."""

from __future__ import annotations

from oracle.family_sizes import FamilySizes
from oracle.geometry import Geometry


def mamba_slots(size: int = 6) -> Geometry:
    return Geometry(family="mamba-slots", size=size)


def pure_swa(size: int = 8, *, need_sort: bool = False) -> Geometry:
    return Geometry(family="pure-swa", size=size, need_sort=need_sort)


def swa_ring(
    size: int = 32, request_slots: int = 3, ring: int = 6, *, need_sort: bool = False
) -> Geometry:
    return Geometry(
        family="swa-ring",
        size=size,
        size_swa=16,
        page_size=4,
        need_sort=need_sort,
        sizes=FamilySizes(request_slots=request_slots, ring=ring),
    )


def page_interleave(
    size: int = 12, page_size: int = 4, ranks: int = 3, *, need_sort: bool = False
) -> Geometry:
    return Geometry(
        family="page-interleave",
        size=size,
        page_size=page_size,
        need_sort=need_sort,
        sizes=FamilySizes(ranks=ranks),
    )


def hisparse(
    size: int = 16, page_size: int = 4, ratio: int = 2, *, need_sort: bool = False
) -> Geometry:
    return Geometry(
        family="hisparse",
        size=size,
        page_size=page_size,
        need_sort=need_sort,
        sizes=FamilySizes(ratio=ratio),
    )


def hisparse_dsv4(
    size: int = 64, device_size: int = 8, page_size: int = 8, *, need_sort: bool = False
) -> Geometry:
    return Geometry(
        family="hisparse-dsv4",
        size=size,
        size_swa=size,
        page_size=page_size,
        need_sort=need_sort,
        sizes=FamilySizes(device_size=device_size),
    )
