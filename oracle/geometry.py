"""How large an allocator under test is, and how it is switched.

Guarantees that a ``Geometry`` that passes ``check`` can be built by every target of its family. Says nothing about
what the allocator does.
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from oracle.byte_buffer import BandName, Buffer, Grid, check_buffer, grids_of
from oracle.errors import UsageError
from oracle.family_sizes import LARGEST_SIZE as LARGEST_SIZE
from oracle.family_sizes import USED, FamilySizes, check_family_sizes

Family = Literal[
    "token",
    "paged",
    "hybrid-swa",
    "unified-swa",
    "unified-mamba-swa",
    "unified-mamba",
    "pure-swa",
    "swa-ring",
    "hisparse",
    "hisparse-dsv4",
    "page-interleave",
    "mamba-slots",
    "hybrid-rows",
]
Level = Literal["off", "warn", "strict"]

FAMILIES: tuple[Family, ...] = ("token", "paged", "hybrid-swa")
"""Pools of fixed sizes, in slots."""

UNIFIED_FAMILIES: tuple[Family, ...] = ("unified-swa", "unified-mamba-swa", "unified-mamba")
"""Pools that share one buffer of bytes."""

FURTHER_FAMILIES: tuple[Family, ...] = (
    "pure-swa",
    "swa-ring",
    "hisparse",
    "hisparse-dsv4",
    "page-interleave",
    "mamba-slots",
)
"""Pools of fixed sizes that fewer models use: all layers sliding, a ring for each request, a device below a larger logical
pool, pages in classes by rank, states only."""

ROW_FAMILIES: tuple[Family, ...] = ("hybrid-rows",)
"""A hybrid allocator with the row-level code of its callers on top."""

ALL_FAMILIES: tuple[Family, ...] = FAMILIES + UNIFIED_FAMILIES + FURTHER_FAMILIES + ROW_FAMILIES

SINGLE_SLOTS: frozenset[Family] = frozenset({"token", "pure-swa", "mamba-slots"})
"""The families whose page size is 1."""

WITH_DEVICE: frozenset[Family] = frozenset({"hisparse", "hisparse-dsv4"})
"""The families with a device pool below the logical one."""

BANDS: dict[Family, tuple[BandName, ...]] = {
    "unified-swa": ("full", "swa"),
    "unified-mamba-swa": ("full", "swa", "state"),
    "unified-mamba": ("full", "state"),
}
"""The pools of each unified family."""

WITH_PEERS: frozenset[Family] = frozenset(
    {"hybrid-swa", "unified-swa", "unified-mamba-swa", "hisparse-dsv4", "hybrid-rows"}
)
"""The families whose FULL slots have peers in an SWA pool."""

TWO_POOLS: frozenset[Family] = frozenset({"hybrid-swa", "swa-ring", "hisparse-dsv4", "hybrid-rows"})
"""The families of fixed pools that have an SWA pool beside the FULL one (in a ring it lies idle)."""

LEVELS: tuple[Level, ...] = ("off", "warn", "strict")

LARGEST_PAGE_SIZE = 1 << 12


class Geometry(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The sizes of one allocator, in slots.

    ``size`` is the FULL pool (the only pool of the token and paged families), ``size_swa`` the SWA pool of a hybrid
    one and 0 elsewhere. Sizes need not be multiples of ``page_size``; the remainder is lost (contract_paged_swa §1).
    ``need_sort`` selects the staged, sorted free list (§4, §5.1).

    Unified families have a ``buffer`` (in bytes), which the others lack; ``size`` and ``size_swa`` are then the static
    caps on what each side may hand out, both 0 where none were given (contract_unified §2).

    ``sizes``: what only some families have (``FamilySizes``), which the others lack.
    """

    family: Family
    size: int
    page_size: int = 1
    size_swa: int = 0
    need_sort: bool = False
    buffer: Buffer | UnsetType = UNSET
    sizes: FamilySizes | UnsetType = UNSET

    @property
    def family_sizes(self) -> FamilySizes:
        """``sizes``, all 0 where none were given."""
        return FamilySizes() if isinstance(self.sizes, UnsetType) else self.sizes

    @property
    def bytes_shared(self) -> Buffer:
        """The buffer of a unified family. Raises ``UsageError`` where there is none."""
        if isinstance(self.buffer, UnsetType):
            raise UsageError(f"a geometry of the {self.family} family needs a buffer")
        return self.buffer

    def grids(self) -> dict[BandName, Grid]:
        """Each band's grid of pages over the buffer, FULL first. Raises ``UsageError`` where there is no buffer."""
        return grids_of(self.bytes_shared, self.page_size)

    @property
    def full_slots(self) -> int:
        """One more than the largest FULL slot that can ever be handed out."""
        if self.family in BANDS:
            return self.grids()["full"].ids * self.page_size
        sizes = self.family_sizes
        return self.size * max(sizes.ratio, sizes.ranks, 1) + self.first_page * self.page_size

    @property
    def first_page(self) -> int:
        """The first page that can be handed out: 1, or as many as there are classes of pages (§9)."""
        return max(self.family_sizes.ranks, 1)

    def check(self) -> None:
        """Raise ``UsageError`` with one sentence when no allocator of this geometry can exist."""
        if not 1 <= self.page_size <= LARGEST_PAGE_SIZE:
            raise UsageError(
                f"page size {self.page_size} is impossible: use 1 to {LARGEST_PAGE_SIZE} slots a page"
            )
        if self.family in SINGLE_SLOTS and self.page_size != 1:
            advice = ": use the paged family" if self.family == "token" else ""
            raise UsageError(
                f"the {self.family} family has page size 1, not {self.page_size}{advice}"
            )
        if self.family in BANDS:
            self._check_unified()
            return
        if not isinstance(self.buffer, UnsetType):
            raise UsageError(f"the {self.family} family shares no buffer, so it must not be given")
        if self.family in USED or not isinstance(self.sizes, UnsetType):
            check_family_sizes(self.family, self.family_sizes, self.size, self.page_size)
        if self.family == "mamba-slots" and self.need_sort:
            raise UsageError("states have no staged list, so need_sort must be false")
        self._check_pool("FULL" if self.family in TWO_POOLS else "KV", self.size)
        if self.family in TWO_POOLS:
            self._check_pool("SWA", self.size_swa)
        elif self.size_swa:
            raise UsageError(
                f"the {self.family} family has no SWA pool, so size_swa must be 0, not {self.size_swa}"
            )

    def _check_unified(self) -> None:
        if self.need_sort:
            raise UsageError("a unified allocator has no staged list, so need_sort must be false")
        check_buffer(self.bytes_shared, self.page_size, BANDS[self.family])
        caps = (self.size, self.size_swa)
        if self.family == "unified-mamba" and any(caps):
            raise UsageError(
                "the unified-mamba family has no static caps: size and size_swa must be 0"
            )
        if min(caps) < 0 or (any(caps) and not all(caps)):
            raise UsageError(
                f"static caps are both given or both 0, not {self.size} and {self.size_swa}"
            )
        if max(caps) > LARGEST_SIZE:
            raise UsageError(
                f"static caps of {self.size} and {self.size_swa} slots are too large: use at most {LARGEST_SIZE}"
            )
        if self.family == "unified-mamba-swa" and not all(caps):
            raise UsageError("the unified-mamba-swa family needs the static caps size and size_swa")

    def _check_pool(self, pool: str, size: int) -> None:
        if not self.page_size <= size <= LARGEST_SIZE:
            raise UsageError(
                f"a {pool} pool of {size} slots with page size {self.page_size} is impossible: "
                f"use one page to {LARGEST_SIZE} slots"
            )


class Mode(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the allocator's own checks are switched (contract_paged_swa §0, §2).

    ``level`` is the invariant level, ``debug`` the memory-pool debug mode, which a paged allocator reads once when it
    is constructed.
    """

    level: Level = "off"
    debug: bool = False
