"""One buffer of bytes that several pools share, and the grid of pages that each of them lays over it (contract_unified §1, §2).

Guarantees that a ``Buffer`` that passes ``check_buffer`` gives every pool a page that can be handed out. Says nothing about
which bytes a pool uses when.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from oracle.errors import UsageError

BandName = Literal["full", "swa", "state"]
Direction = Literal["up", "down"]

LARGEST_GRID = 1 << 20
"""The most entries that a pool may have over the whole buffer."""


class Buffer(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The buffer of a unified allocator, in bytes.

    ``full_bytes``, ``swa_bytes`` and ``state_bytes`` are the bytes of one entry: of one slot of the FULL and SWA pools, of one
    state; 0 where the family has no such pool. ``full_direction``: whether the FULL pool grows from the low or from the high
    end (only two pools can be turned round). ``lazy``: a free only leaves holes; pages move when the pool is flushed.
    """

    total_bytes: int
    full_bytes: int
    swa_bytes: int = 0
    state_bytes: int = 0
    full_direction: Direction = "down"
    lazy: bool = True


class Grid(Struct, frozen=True, kw_only=True):
    """How one band sees the buffer: ``pages`` pages of ``page_bytes``, page p at byte ``p * page_bytes``.

    Pages below ``first`` are reserved, page 0 is padding. ``page_size`` is in entries (1 for states). ``ids`` is how many
    virtual pages there are: its own ``pages``, those of FULL for SWA.
    """

    entry_bytes: int
    page_size: int
    page_bytes: int
    pages: int
    first: int
    ids: int


def grids_of(buffer: Buffer, page_size: int) -> dict[BandName, Grid]:
    """The grid of each band that the buffer has, FULL first (§2)."""
    sizes: dict[BandName, tuple[int, int]] = {"full": (buffer.full_bytes, page_size)}
    if buffer.swa_bytes:
        sizes["swa"] = (buffer.swa_bytes, page_size)
    if buffer.state_bytes:
        sizes["state"] = (buffer.state_bytes, 1)
    sink = max(
        *(entry for entry, _ in sizes.values()),
        *(entry * slots for name, (entry, slots) in sizes.items() if name != "state"),
    )
    full_pages = buffer.total_bytes // buffer.full_bytes // page_size
    grids: dict[BandName, Grid] = {}
    for name, (entry, slots) in sizes.items():
        pages = buffer.total_bytes // entry // slots
        grids[name] = Grid(
            entry_bytes=entry,
            page_size=slots,
            page_bytes=entry * slots,
            pages=pages,
            first=_ceil_division(_ceil_division(sink, entry), slots),
            ids=full_pages if name == "swa" else pages,
        )
    return grids


def _ceil_division(dividend: int, divisor: int) -> int:
    return -(-dividend // divisor)


def check_buffer(buffer: Buffer, page_size: int, bands: tuple[BandName, ...]) -> None:
    """Raise ``UsageError`` with one sentence when no unified allocator with exactly these ``bands`` can have the buffer."""
    entries: dict[BandName, int] = {
        "full": buffer.full_bytes,
        "swa": buffer.swa_bytes,
        "state": buffer.state_bytes,
    }
    for name, entry in entries.items():
        if name in bands and entry < 1:
            raise UsageError(
                f"an entry of {entry} bytes is impossible: set {name}_bytes to 1 or more"
            )
        if name not in bands and entry:
            raise UsageError(
                f"the family has no {name} pool, so {name}_bytes must be 0, not {entry}"
            )
    if "state" in bands and buffer.full_direction == "up":
        raise UsageError("a state pool grows from the low end, so the FULL pool must grow down")
    for name, grid in grids_of(buffer, page_size).items():
        if grid.pages * grid.page_size > LARGEST_GRID:
            raise UsageError(
                f"a buffer of {buffer.total_bytes} bytes holds {grid.pages * grid.page_size} {name} entries; "
                f"the most is {LARGEST_GRID}"
            )
        if grid.pages <= grid.first:
            raise UsageError(
                f"a buffer of {buffer.total_bytes} bytes has no {name} page beside the {grid.first} reserved "
                f"ones: make it larger"
            )
