"""What a simulated day of traffic is like, and how large an allocator it is served from.

Lengths scale with the page size: a **block** is a page, or eight slots where pages are smaller, so that a day has about as many
page boundaries whatever the page size is.
"""

from __future__ import annotations

from msgspec import Struct

from oracle.caller import LARGEST_AMOUNT_PAGES
from oracle.geometry import Family, Geometry

SMALLEST_BLOCK = 8
BLOCKS_FULL = 44
BLOCKS_SWA = 26
"""The SWA pool is the smaller one, as in serving: most of a long row is below its window."""


class Workload(Struct, frozen=True, kw_only=True):
    """A day of traffic. ``requests`` arrive in all; with ``sharing`` finished rows stay cached and their prefixes are shared.

    ``speculative``, ``loaded`` and ``remote`` are the parts of the requests that decode speculatively, whose prefix is
    loaded from outside, and whose prompt was computed elsewhere (tail preallocation). ``most_running`` bounds the batch.
    ``optimistic``: the scheduler asks the allocator first and makes room when it is refused, instead of the other way round.
    """

    requests: int = 1000
    sharing: bool = True
    speculative: float = 0.3
    loaded: float = 0.1
    remote: float = 0.1
    most_running: int = 8
    optimistic: bool = False
    longest_output: int = 40
    longest_draft: int = 6
    prompts: int = 12
    """How many families of prompts there are; the prompts of a family begin alike."""


class Lengths(Struct, frozen=True):
    """The lengths that follow from a page size, in slots."""

    page_size: int

    @property
    def block(self) -> int:
        """The unit of lengths."""
        return max(self.page_size, SMALLEST_BLOCK)

    @property
    def chunk(self) -> int:
        """The most that one request grows in one step of prefill; a longer prompt is prefilled in chunks."""
        return LARGEST_AMOUNT_PAGES * self.page_size

    @property
    def window(self) -> int:
        """The sliding window: it ends inside a page where that is possible."""
        return 2 * self.block + self.block // 2

    @property
    def eviction_interval(self) -> int:
        """How far the window moves before its eviction is due again (contract_paged_swa §11.2)."""
        return max(1, self.block // self.page_size // 2) * self.page_size


def serving_geometry(
    family: Family,
    page_size: int,
    *,
    size: int | None = None,
    size_swa: int | None = None,
    need_sort: bool = False,
) -> Geometry:
    """An allocator that a day of traffic keeps busy and short, with other sizes (in slots) where they are given.

    Raises ``UsageError`` when no such allocator can exist.
    """
    block = Lengths(page_size).block
    swa = 0
    if family == "hybrid-swa":
        swa = (
            size_swa
            if size_swa is not None
            else min(BLOCKS_SWA * block, size or BLOCKS_FULL * block)
        )
    elif size_swa is not None:
        swa = size_swa
    geometry = Geometry(
        family=family,
        size=BLOCKS_FULL * block if size is None else size,
        size_swa=swa,
        page_size=page_size,
        need_sort=need_sort,
    )
    geometry.check()
    return geometry
