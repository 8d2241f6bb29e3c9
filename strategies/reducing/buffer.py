"""Passes that make the shared buffer of a unified allocator smaller and plainer.

Guarantees that every candidate can be built: those that ``Geometry.check`` refuses are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from oracle.byte_buffer import Buffer
from oracle.errors import UsageError
from oracle.geometry import Geometry

PLAIN_ENTRIES = ((16, 8), (16, 16), (8, 16))
FEWEST_PAGES = 8


def plainer_buffers(geometry: Geometry) -> Iterator[Geometry]:
    """The geometry with a simpler buffer: lazy, FULL growing down, plain entries, no caps, fewer bytes."""
    for candidate in _candidates(geometry):
        if candidate != geometry and _exists(candidate):
            yield candidate


def smaller_pages(geometry: Geometry, sizes: Iterable[int]) -> Iterator[Geometry]:
    """The same number of pages, about, in pages of the smaller of ``sizes``."""
    buffer = geometry.bytes_shared
    for size in sizes:
        if size < geometry.page_size:
            total = buffer.total_bytes * size // geometry.page_size + buffer.state_bytes
            smaller = replace(geometry, page_size=size, buffer=replace(buffer, total_bytes=total))
            if _exists(smaller):
                yield smaller


def _candidates(geometry: Geometry) -> Iterator[Geometry]:
    buffer = geometry.bytes_shared
    yield _with(geometry, replace(buffer, lazy=True))
    yield _with(geometry, replace(buffer, full_direction="down"))
    yield replace(geometry, size=0, size_swa=0)
    for full, swa in PLAIN_ENTRIES:
        state = (full + swa) * 4 if buffer.state_bytes else 0
        plain = replace(
            buffer, full_bytes=full, swa_bytes=swa if buffer.swa_bytes else 0, state_bytes=state
        )
        if (buffer.full_bytes, buffer.swa_bytes) not in PLAIN_ENTRIES:
            for pages in (FEWEST_PAGES, 2 * FEWEST_PAGES):
                bytes_a_page = geometry.page_size * (full + plain.swa_bytes)
                yield _with(geometry, replace(plain, total_bytes=pages * bytes_a_page))
    for total in _fewer_bytes(geometry):
        yield _with(geometry, replace(buffer, total_bytes=total))


def _fewer_bytes(geometry: Geometry) -> Iterator[int]:
    buffer = geometry.bytes_shared
    step = geometry.page_size * (buffer.full_bytes + buffer.swa_bytes)
    for pages in range(2, FEWEST_PAGES + 1):
        if pages * step + buffer.state_bytes < buffer.total_bytes:
            yield pages * step + buffer.state_bytes
    yield buffer.total_bytes // 2
    if buffer.total_bytes > step:
        yield buffer.total_bytes - step


def _with(geometry: Geometry, buffer: Buffer) -> Geometry:
    return replace(geometry, buffer=buffer)


def _exists(geometry: Geometry) -> bool:
    try:
        geometry.check()
    except UsageError:
        return False
    return True
