"""By what the allocators of a tree show which release they are like: one row a mark, with the releases that have it.

Data and the looking; what follows from it is worked out by ``recognise``. A mark is a name, an argument or an attribute that
came or went with a release; behaviour that shows in none of these cannot be told from outside.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from oracle.geometry import FURTHER_FAMILIES, Family
from targets.sglang.contracts import NEWEST, OLDEST
from targets.sglang.further_release import further_class
from targets.sglang.release import Release
from targets.sglang.unified_release import BANDS_MODULE


class Seen:
    """What is looked at of one imported tree: its classes, and one small object of each."""

    def __init__(self, release: Release) -> None:
        self.token = release.make_token(8)
        self.paged = release.make_paged(16, 4)
        self.hybrid = release.make_swa(16, 16, 4)
        self.pure_swa = release.pure_swa_allocator_class
        self.invariants = release.invariants_module
        self._further = {family: further_class(release, family) for family in FURTHER_FAMILIES}

    def further(self, family: Family, name: str = "__init__") -> bool:
        """Whether there is a class for that further family and it has that name."""
        found = self._further[family]
        return found is not None and hasattr(found, name)

    def bands(self, name: str) -> bool:
        """Whether the bands of unified allocators have that name; False where there are none."""
        try:
            module = importlib.import_module(BANDS_MODULE)
        except ModuleNotFoundError:
            return False
        return hasattr(module.MultiEndedAllocator, name)

    def takes(self, method: str, argument: str) -> bool:
        """Whether the paged allocator's method has an argument of that name."""
        return argument in inspect.signature(getattr(self.paged, method)).parameters

    def own(self, method: str) -> bool:
        """Whether the hybrid allocator's class defines the method itself."""
        return method in vars(type(self.hybrid))

    def imports(self, name: str) -> bool:
        """Whether the module of the hybrid allocator has that name in its namespace."""
        return hasattr(sys.modules[type(self.hybrid).__module__], name)


class Mark(Struct, frozen=True):
    """Something to see, and the releases 0.5.``first`` to 0.5.``last`` in which it is seen."""

    what: str
    see: Callable[[Seen], Any]
    first: int = OLDEST
    last: int = NEWEST


MARKS: tuple[Mark, ...] = (
    Mark("backup_state", lambda seen: hasattr(seen.hybrid, "backup_state"), last=16),
    Mark(
        "a group flag is_not_in_free_group",
        lambda seen: hasattr(seen.paged, "is_not_in_free_group"),
        last=18,
    ),
    Mark(
        "num_new_pages of alloc_extend",
        lambda seen: seen.takes("alloc_extend", "num_new_pages"),
        12,
    ),
    Mark("alloc_extend_swa_tail", lambda seen: seen.own("alloc_extend_swa_tail"), 12),
    Mark("set_full_to_swa_mapping", lambda seen: seen.own("set_full_to_swa_mapping"), 12),
    Mark("an allocator of Mamba slots", lambda seen: seen.further("mamba-slots"), 13),
    Mark("new_pages_available", lambda seen: seen.own("new_pages_available"), 14),
    Mark("a pure-swa allocator", lambda seen: seen.pure_swa is not None, 15),
    Mark("resize", lambda seen: seen.own("resize"), 16),
    Mark("free_segment", lambda seen: hasattr(seen.paged, "free_segment"), 17),
    Mark(
        "a pile free_page_reps_group",
        lambda seen: hasattr(seen.paged, "free_page_reps_group"),
        17,
        19,
    ),
    Mark("a pile swa_free_group", lambda seen: hasattr(seen.hybrid, "swa_free_group"), 18),
    Mark("free_full", lambda seen: seen.own("free_full"), 19),
    Mark("clear_full_to_swa_mapping", lambda seen: seen.own("clear_full_to_swa_mapping"), 19),
    Mark("a pile full_free_group", lambda seen: hasattr(seen.hybrid, "full_free_group"), 19, 19),
    Mark("a list staged_pages", lambda seen: hasattr(seen.paged, "staged_pages"), 20),
    Mark("a pile free_page_ids_group", lambda seen: hasattr(seen.paged, "free_page_ids_group"), 20),
    Mark("a pile swa_page_ids_group", lambda seen: hasattr(seen.hybrid, "swa_page_ids_group"), 20),
    Mark("free_page_ids", lambda seen: hasattr(seen.token, "free_page_ids"), 20),
    Mark("free_swa_segment", lambda seen: seen.own("free_swa_segment"), 20),
    Mark("free_full_segments", lambda seen: hasattr(seen.paged, "free_full_segments"), 20),
    Mark("checked invariants", lambda seen: seen.invariants is not None, 20),
    Mark("an allocator of interleaved pages", lambda seen: seen.further("page-interleave"), 20),
    Mark("a ring for each request", lambda seen: seen.further("swa-ring"), 20),
    Mark("get_and_clear_swa_pages", lambda seen: seen.imports("get_and_clear_swa_pages"), 21),
    Mark("bands of unified allocators", lambda seen: seen.bands("take_physical_pages"), 20),
    Mark("alloc_physical of bands", lambda seen: seen.bands("alloc_physical"), 22),
    Mark("prewarm_compaction of bands", lambda seen: seen.bands("prewarm_compaction"), 23),
    Mark(
        "configure_spec_scratch",
        lambda seen: seen.further("hisparse", "configure_spec_scratch"),
        22,
    ),
    Mark("alloc_cyclic", lambda seen: seen.further("page-interleave", "alloc_cyclic"), 23),
    Mark("a choice use_triton_kernels", lambda seen: hasattr(seen.paged, "use_triton_kernels"), 22),
)
