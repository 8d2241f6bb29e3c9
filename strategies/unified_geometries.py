"""Where the geometries of the unified families come from: small buffers, entries of all proportions.

Guarantees that every geometry passes ``Geometry.check``. SWA entries are larger than FULL ones as often as they are smaller.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from oracle.byte_buffer import Buffer, grids_of
from oracle.contract import Contract
from oracle.geometry import WITH_PEERS, Family, Geometry

PAGE_SIZES = (4, 1, 2, 4, 1, 16, 1, 4)
OTHER_PAGE_SIZES = (3, 5)

ENTRIES = ((16, 8), (8, 16), (16, 16), (24, 8), (8, 24), (4, 1), (1, 4), (12, 20))
"""Bytes of a FULL and of an SWA entry."""

STATE_ENTRIES = (96, 40, 8, 160, 16)
"""Bytes of a state."""

PAGES = (6, 4, 3, 8, 5, 10, 2, 7, 12, 16, 1)
"""How many pages fit on both sides at once, about."""

STATES = (3, 2, 4, 1, 6)
"""How many states fit beside them, about."""

SPARE = (0, 0, 1, 7, 30)
"""Bytes that make no page."""

CAPS = ("none", "none", "loose", "tight")
"""Static caps: not given, about what the buffer holds of the larger entries, or less than it holds of both."""


def unified_arguments(family: Family, contract: Contract) -> dict[str, SearchStrategy[Any]]:
    """The arguments of ``make_unified_geometry``, each with its strategy."""
    sizes = PAGE_SIZES if contract.power_of_two_pages else PAGE_SIZES + OTHER_PAGE_SIZES
    arguments: dict[str, SearchStrategy[Any]] = {
        "pages": st.sampled_from(PAGES),
        "page_size": st.sampled_from(sizes),
        "entries": st.sampled_from(ENTRIES),
        "spare": st.sampled_from(SPARE),
        "lazy": st.sampled_from((True, True, True, True, False)),
    }
    if family == "unified-swa":
        arguments["full_up"] = st.sampled_from((False, False, True))
    else:
        arguments["states"] = st.sampled_from(STATES)
        arguments["state_bytes"] = st.sampled_from(STATE_ENTRIES)
    if family in WITH_PEERS:
        arguments["caps"] = st.sampled_from(CAPS)
    return arguments


def make_unified_geometry(
    family: Family,
    *,
    pages: int,
    page_size: int,
    entries: tuple[int, int],
    spare: int,
    lazy: bool,
    full_up: bool = False,
    states: int = 0,
    state_bytes: int = 0,
    caps: str = "none",
) -> Geometry:
    """The geometry that was drawn, with a buffer as large as ``Geometry.check`` asks for at least."""
    full_bytes, swa_bytes = entries[0], entries[1] if family in WITH_PEERS else 0
    buffer = Buffer(
        total_bytes=1,
        full_bytes=full_bytes,
        swa_bytes=swa_bytes,
        state_bytes=state_bytes,
        full_direction="up" if full_up else "down",
        lazy=lazy,
    )
    grids = grids_of(buffer, page_size).values()
    least = max((grid.first + 1) * grid.page_bytes for grid in grids)
    low = min(grid.first * grid.page_bytes for grid in grids)
    wanted = low + pages * page_size * (full_bytes + swa_bytes) + states * state_bytes + spare
    total = max(least, wanted)
    tight = max(1, pages // 2) * page_size
    cap = {"none": 0, "loose": total // max(entries), "tight": tight}[caps]
    if family == "unified-mamba-swa" and not cap:
        cap = pages * page_size
    return Geometry(
        family=family,
        size=cap,
        size_swa=cap,
        page_size=page_size,
        buffer=Buffer(
            total_bytes=total,
            full_bytes=full_bytes,
            swa_bytes=swa_bytes,
            state_bytes=state_bytes,
            full_direction=buffer.full_direction,
            lazy=lazy,
        ),
    )
