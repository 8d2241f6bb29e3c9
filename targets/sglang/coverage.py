"""The coverage gate: no public method of an allocator class goes neither driven nor exempt with a reason.

A method is driven when a call of an operation reaches it on that release (the contract says which calls it has) or a snapshot
asks it. Exemptions are data (``exemptions.toml``). Guarantees that an exemption of what is driven, or of nothing, is told.
Does not say how well a method is tested: that is what mutants are for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from oracle.errors import UsageError
from oracle.geometry import UNIFIED_FAMILIES
from targets.sglang.contracts import contract_for_version, minor_of
from targets.sglang.further_state import CLASS_QUERIES, SLOT_QUERIES, TIER_QUERIES
from targets.sglang.inventory import AllocatorClass
from targets.sglang.state import POOL_QUERIES, QUERIES
from targets.sglang.unified_calls import STATES_METHODS, release_names
from targets.sglang.unified_release import STATES_CLASS
from targets.sglang.unified_state import PAIR_QUERIES, PEERED_QUERIES, STATES_QUERIES

EXEMPTIONS = Path(__file__).parent / "exemptions.toml"
WITH_STATES = ("unified-mamba-swa", "unified-mamba")
"""The unified families with states, which stand behind an allocator of their own."""

FAMILIES_OF_CLASS: dict[str, tuple[str, ...]] = {
    "BaseTokenToKVPoolAllocator": ("token", "paged", "hybrid-swa"),
    "TokenToKVPoolAllocator": ("token",),
    "PagedTokenToKVPoolAllocator": ("paged",),
    "SWATokenToKVPoolAllocator": ("hybrid-swa", "swa-ring"),
    "PureSWATokenToKVPoolAllocator": ("pure-swa",),
    "HiSparseTokenToKVPoolAllocator": ("hisparse",),
    "DeepSeekV4HiSparseTokenToKVPoolAllocator": ("hisparse-dsv4",),
    "PageInterleavePoolAllocator": ("page-interleave",),
    "MambaSlotAllocator": ("mamba-slots",),
    "UnifiedSWAAllocatorBase": ("unified-swa", "unified-mamba-swa"),
    "UnifiedSWATokenToKVPoolAllocator": ("unified-swa",),
    "UnifiedMambaSWATokenToKVPoolAllocator": ("unified-mamba-swa",),
    "UnifiedMambaTokenToKVPoolAllocator": ("unified-mamba",),
    "UnifiedMambaSlotAllocator": WITH_STATES,
    "MambaFullCacheDonor": WITH_STATES,
    "MultiEndedAllocator": UNIFIED_FAMILIES,
    "FloatMultiEndedAllocator": ("unified-mamba-swa",),
}
"""The classes that are driven, each with the families whose operations reach its methods."""

BY_METHOD_FROM = "0.5.20"
"""The first release in which no class is exempt as a whole."""

BANDS_CLASSES = frozenset({"MultiEndedAllocator", "FloatMultiEndedAllocator"})
"""Of those, the bands of a unified allocator, which operations call themselves for some calls."""

_POOL_ANSWERS = frozenset({*POOL_QUERIES, "get_all_free_pages"})
_HYBRID_ANSWERS = frozenset({*QUERIES, "new_pages_available"})
_BAND_ANSWERS = frozenset({"available_size", "schedulable_available_size", "allocated_count"})
_ANSWERS: dict[str, frozenset[str]] = {
    "hybrid-swa": _HYBRID_ANSWERS,
    "pure-swa": _HYBRID_ANSWERS,
    "swa-ring": _HYBRID_ANSWERS,
    "hisparse": frozenset(TIER_QUERIES),
    "hisparse-dsv4": frozenset(QUERIES),
    "page-interleave": frozenset({*CLASS_QUERIES, "get_all_free_pages"}),
    "mamba-slots": frozenset(SLOT_QUERIES),
}
_STATES_ANSWERS = frozenset({*STATES_QUERIES, "free_slots"})
_UNIFIED_ANSWERS = frozenset({*PEERED_QUERIES, *PAIR_QUERIES, "verify_byte_accounting"})


class Exemption(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why nothing drives some ``methods`` of some ``classes``; no methods named means all of them.

    ``until``: the last release for which it holds, where it does not hold for all. All of a class can be exempt up to 0.5.19
    only: from ``BY_METHOD_FROM`` on each method stands for itself.
    """

    classes: tuple[str, ...]
    reason: str
    methods: tuple[str, ...] = ()
    until: str = ""

    def holds(self, version: str) -> bool:
        """Whether the release with that version is exempt."""
        return not self.until or minor_of(version) <= minor_of(self.until)


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    exempt: tuple[Exemption, ...] = ()


def read_exemptions(file: Path = EXEMPTIONS) -> tuple[Exemption, ...]:
    """The exemptions of a TOML file with tables ``[[exempt]]``.

    Raises:
        UsageError: it cannot be read, or a reason or a class is missing.
    """
    try:
        exemptions = msgspec.toml.decode(file.read_bytes(), type=_File).exempt
    except (OSError, msgspec.MsgspecError, ValueError) as error:
        raise UsageError(f"{file} does not hold exemptions: {error}") from error
    for exemption in exemptions:
        if not exemption.reason.strip() or not exemption.classes:
            raise UsageError(f"{file}: an exemption needs classes and a reason: {exemption}")
        if not exemption.methods and exemption.holds(BY_METHOD_FROM):
            raise UsageError(
                f"{file}: from {BY_METHOD_FROM} on an exemption names methods, one of a whole class "
                f"needs an earlier release as its `until`: {exemption}"
            )
    return exemptions


def undriven(
    version: str, classes: Iterable[AllocatorClass], exemptions: Iterable[Exemption]
) -> list[str]:
    """``Class.method`` of everything in that release that is neither driven nor exempt."""
    exempt = {
        name for exemption in exemptions if exemption.holds(version) for name in _names(exemption)
    }
    return [
        f"{owner.name}.{method}"
        for owner, method in _missing(version, classes)
        if f"{owner.name}." not in exempt and f"{owner.name}.{method}" not in exempt
    ]


def stale(
    releases: Iterable[tuple[str, Iterable[AllocatorClass]]], exemptions: Iterable[Exemption]
) -> list[str]:
    """The exempt ``Class.method`` (``Class.`` for all of a class) that no release has undriven any more."""
    needed: dict[str, set[str]] = {}
    for version, classes in releases:
        for owner, method in _missing(version, classes):
            for name in (f"{owner.name}.", f"{owner.name}.{method}"):
                needed.setdefault(name, set()).add(version)
    return [
        name
        for exemption in exemptions
        for name in _names(exemption)
        if not any(exemption.holds(version) for version in needed.get(name, ()))
    ]


def driven_names(version: str, class_name: str) -> frozenset[str]:
    """The names that operations and snapshots reach on a class of the release with that version."""
    names: set[str] = set()
    for family in FAMILIES_OF_CLASS.get(class_name, ()):
        contract = contract_for_version(version, family, power_of_two_pages=False)
        if contract is None:
            continue
        if class_name == STATES_CLASS:
            # A clear of the composite is one of its states too, for whoever makes it.
            called = contract.pool_methods & {*STATES_METHODS, "translate"}
            names |= called | {"clear"} | _STATES_ANSWERS
        elif class_name in BANDS_CLASSES:
            # A forward pass is told to each band.
            called = contract.pool_methods | {"begin_forward"}
            names |= release_names(called) | _BAND_ANSWERS
        elif family in UNIFIED_FAMILIES:
            names |= release_names(contract.methods) | _UNIFIED_ANSWERS
        else:
            names |= contract.methods | _ANSWERS.get(family, _POOL_ANSWERS)
    return frozenset(names)


def _missing(
    version: str, classes: Iterable[AllocatorClass]
) -> Iterator[tuple[AllocatorClass, str]]:
    for owner in classes:
        driven = driven_names(version, owner.name)
        # A class without public methods is still one that nothing drives.
        for method in owner.methods or ("__init__",):
            if method not in driven:
                yield owner, method


def _names(exemption: Exemption) -> Iterator[str]:
    for name in exemption.classes:
        for method in exemption.methods or ("",):
            yield f"{name}.{method}"
