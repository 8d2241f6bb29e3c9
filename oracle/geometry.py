"""How large an allocator under test is, and how it is switched.

Guarantees that a ``Geometry`` that passes ``check`` can be built by every target of its family. Says nothing about
what the allocator does.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from oracle.errors import UsageError

Family = Literal["token", "paged", "hybrid-swa"]
Level = Literal["off", "warn", "strict"]

FAMILIES: tuple[Family, ...] = ("token", "paged", "hybrid-swa")
LEVELS: tuple[Level, ...] = ("off", "warn", "strict")

LARGEST_SIZE = 1 << 20
LARGEST_PAGE_SIZE = 1 << 12


class Geometry(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The sizes of one allocator, in slots.

    ``size`` is the FULL pool (the only pool of the token and paged families), ``size_swa`` the SWA pool of a hybrid
    one and 0 elsewhere. Sizes need not be multiples of ``page_size``; the remainder is lost (contract_paged_swa §1).
    ``need_sort`` selects the staged, sorted free list (§4, §5.1).
    """

    family: Family
    size: int
    page_size: int = 1
    size_swa: int = 0
    need_sort: bool = False

    def check(self) -> None:
        """Raise ``UsageError`` with one sentence when no allocator of this geometry can exist."""
        if not 1 <= self.page_size <= LARGEST_PAGE_SIZE:
            raise UsageError(
                f"page size {self.page_size} is impossible: use 1 to {LARGEST_PAGE_SIZE} slots a page"
            )
        if self.family == "token" and self.page_size != 1:
            raise UsageError(
                f"the token family has page size 1, not {self.page_size}: use the paged family"
            )
        self._check_pool("FULL" if self.family == "hybrid-swa" else "KV", self.size)
        if self.family == "hybrid-swa":
            self._check_pool("SWA", self.size_swa)
        elif self.size_swa:
            raise UsageError(
                f"the {self.family} family has no SWA pool, so size_swa must be 0, not {self.size_swa}"
            )

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
