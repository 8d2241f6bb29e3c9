"""The list of mutants.

Guarantees that names are unique and that each mutant's fault sits in the class of its family. Builds no allocator.
"""

from __future__ import annotations

from targets.eager.target import AllocatorClasses, EagerTarget
from targets.mutants import hybrid_faults, pool_faults
from targets.mutants.mutant import Mutant

_ALL = (
    Mutant(
        "padding-page-not-reserved",
        "The padding page is in the initial free list and is handed out.",
        "paged",
        ("law", "divergence"),
        AllocatorClasses(paged=pool_faults.PaddingPageNotReserved),
    ),
    Mutant(
        "group-pile-aliased",
        "A deferred free keeps the caller's tensor, so overwriting it changes what is freed.",
        "paged",
        ("law", "divergence"),
        AllocatorClasses(paged=pool_faults.GroupPileAliased),
    ),
    Mutant(
        "flush-order-swapped",
        "A group ends with the SWA set pile before the SWA page-id pile.",
        "hybrid-swa",
        ("divergence",),
        AllocatorClasses(hybrid=hybrid_faults.FlushOrderSwapped),
    ),
    Mutant(
        "dedup-dropped",
        "Freeing several slots of one page releases the page several times.",
        "paged",
        ("law", "divergence"),
        AllocatorClasses(paged=pool_faults.DedupDropped),
    ),
    Mutant(
        "last-partial-page-kept",
        "A segment that ends inside a page never gives that page back.",
        "paged",
        ("law", "divergence"),
        AllocatorClasses(paged=pool_faults.LastPartialPageKept),
    ),
    Mutant(
        "mapping-cleared-for-named-slots-only",
        "free_swa releases the whole SWA page but leaves the page's other slots mapped to it.",
        "hybrid-swa",
        ("law", "divergence"),
        AllocatorClasses(hybrid=hybrid_faults.MappingClearedForNamedSlotsOnly),
    ),
    Mutant(
        "merge-skipped",
        "A short free list is not refilled from the staged pages, so a request that fits is refused.",
        "paged",
        ("divergence",),
        AllocatorClasses(paged=pool_faults.MergeSkipped),
    ),
    Mutant(
        "capacity-off-by-one",
        "A request that takes exactly the last free pages is refused.",
        "paged",
        ("divergence",),
        AllocatorClasses(paged=pool_faults.CapacityOffByOne),
    ),
    Mutant(
        "mapping-read-at-group-end",
        "A grouped free_swa reads the mapping when the group ends, so peers given in between are released.",
        "hybrid-swa",
        ("law", "divergence", "signal"),
        AllocatorClasses(hybrid=hybrid_faults.MappingReadAtGroupEnd),
    ),
    Mutant(
        "page-pushed-twice",
        "The last page of a release of several pages enters the free list twice.",
        "paged",
        ("law", "divergence"),
        AllocatorClasses(paged=pool_faults.PagePushedTwice),
    ),
    Mutant(
        "peer-pages-swapped",
        "A page that gets peers trades them with an older page, so two requests read each other's KV.",
        "hybrid-swa",
        ("law", "divergence"),
        AllocatorClasses(hybrid=hybrid_faults.PeerPagesSwapped),
    ),
)

MUTANTS: dict[str, Mutant] = {mutant.name: mutant for mutant in _ALL}


def make_mutant(name: str, device: str = "cpu") -> EagerTarget:
    """The target ``mutant:NAME``. Raises KeyError for a name that is not in ``MUTANTS``."""
    return EagerTarget(device, name=f"mutant:{name}", classes=MUTANTS[name].classes)
