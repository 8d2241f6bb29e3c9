"""Stand-in pools of a unified allocator: the byte buffer that it is told about, and KV that remembers which page went where.

Guarantees that the numbers of the buffer are those of contract_unified §2, and that a page move carries the page's content as
indexing on a CPU does (page -1 is the extra last one). No bytes are held; the allocator's tables are its own.
"""

from __future__ import annotations

from typing import Any, Literal

import torch

from oracle.byte_buffer import BandName, Grid
from oracle.geometry import Geometry
from oracle.unified_observation import PageCopy
from targets.sglang.kv_pools import SubPool

RELEASE_NAMES: dict[BandName, str] = {"full": "full", "swa": "swa", "state": "mamba"}
"""What the releases call each band."""

_DTYPE = torch.float16


class BandSpecification:
    """What a release asks about one band: the bytes of an entry, its type, and where it grows to."""

    def __init__(self, entry_bytes: int, direction: str) -> None:
        self.grow_direction = direction
        self.store_dtype = _DTYPE
        self._entry_bytes = entry_bytes

    def entry_bytes(self) -> int:
        """Bytes of one slot, or of one state."""
        return self._entry_bytes

    def get_dtype(self) -> torch.dtype:
        """The type of the KV, of which nothing depends on it here."""
        return _DTYPE

    def blocks_per_page(self) -> int:
        """Kernel blocks of one page: asked up to 0.5.21."""
        return 1


class BufferStandIn:
    """The buffer that the bands share, as far as an allocator looks at it."""

    post_capture_active = False

    def __init__(self, geometry: Geometry) -> None:
        buffer, grids = geometry.bytes_shared, geometry.grids()
        self.total_bytes = buffer.total_bytes
        self._sink_bytes = max(
            *(grid.entry_bytes for grid in grids.values()),
            *(grid.page_bytes for name, grid in grids.items() if name != "state"),
        )
        self._specifications = {
            RELEASE_NAMES[name]: BandSpecification(grid.entry_bytes, _direction(name, geometry))
            for name, grid in grids.items()
        }

    def spec(self, name: str) -> BandSpecification:
        """The band of that name of the release's."""
        return self._specifications[name]

    mha_spec = spec

    def max_slots(self, name: str) -> int:
        """Entries of that band over the whole buffer."""
        return self.total_bytes // self.spec(name).entry_bytes()

    def min_slot_index(self, name: str) -> int:
        """The first entry of that band behind the reserved bytes."""
        return -(-self._sink_bytes // self.spec(name).entry_bytes())


def _direction(name: BandName, geometry: Geometry) -> Literal["up", "down", "float"]:
    full = geometry.bytes_shared.full_direction
    if name == "full":
        return full
    if name == "state":
        return "up"
    if geometry.family == "unified-mamba-swa":
        return "float"
    return "down" if full == "up" else "up"


class BandKv(SubPool):
    """The KV of one band: ``content`` has a number for each slot of pages + 1 pages, ``copies`` the moves since ``forget``."""

    def __init__(self, band: BandName, grid: Grid, device: str) -> None:
        super().__init__(grid.pages * grid.page_size, grid.page_size, _DTYPE, device)
        self.content = [0] * ((grid.pages + 1) * grid.page_size)
        self.copies: list[PageCopy] = []
        self._band = band

    def forget(self) -> None:
        """A new call begins: no page was moved yet."""
        self.copies = []

    def move_physical_pages(
        self, destinations: torch.Tensor, sources: torch.Tensor, page_size: int
    ) -> None:
        """Copy whole pages (0.5.23): int64 page ids, read before anything is written."""
        assert page_size == self.page_size, f"pages of {page_size} slots in a band of others"
        self._copy(destinations.tolist(), sources.tolist())

    def move_kv_cache(self, destinations: torch.Tensor, sources: torch.Tensor) -> None:
        """Copy slots (up to 0.5.22): all slots of whole pages, in order."""
        size = self.page_size
        self._copy(
            [slot // size for slot in destinations.tolist()[::size]],
            [slot // size for slot in sources.tolist()[::size]],
        )

    def _copy(self, destinations: list[int], sources: list[int]) -> None:
        size = self.page_size
        pages = len(self.content) // size
        read = [self.content[page % pages * size :][:size] for page in sources]
        for destination, source, moved in zip(destinations, sources, read, strict=True):
            place = destination % pages * size
            self.content[place : place + size] = moved
            self.copies.append(PageCopy(self._band, source, destination))


class CompositeKv:
    """The pool over the bands: ``full_kv_pool`` and, as far as the family has them, ``swa_kv_pool`` and ``mamba_pool``."""

    def __init__(self, bands: dict[BandName, BandKv]) -> None:
        full = bands["full"]
        self.size = full.size
        self.page_size = full.page_size
        self.dtype = self.store_dtype = _DTYPE
        self.device = full.device
        self.full_kv_pool: Any = full
        self.swa_kv_pool: Any = bands.get("swa")
        self.mamba_pool: Any = bands.get("state")

    def attach_allocators(self, **_allocators: Any) -> None:
        """The allocators translate by themselves here, so nothing is kept."""
