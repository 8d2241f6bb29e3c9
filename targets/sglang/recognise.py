"""Which release the allocators of a checkout are like, told from what they offer.

Guarantees that each supported release without its version is recognised as one with the same contract, and that whatever was
assumed is said in a sentence: the release that was taken, every mark that does not fit it, and every method that its
contract lacks or has too many. Does not look at behaviour: that is what a run is for.
"""

from __future__ import annotations

from msgspec import Struct, structs

from oracle.contract import Contract, current_contract
from oracle.geometry import FAMILIES, FURTHER_FAMILIES, UNIFIED_FAMILIES
from targets.rows.methods import ROWS_FAMILY
from targets.sglang.contracts import (
    BACKUPS,
    NEWEST,
    OLDEST,
    contract_for_version,
    minor_of,
    rows_contract,
)
from targets.sglang.coverage import read_exemptions, undriven
from targets.sglang.further_release import CALLERS_OWN, further_class
from targets.sglang.inventory import allocator_classes
from targets.sglang.marks import MARKS, Seen
from targets.sglang.release import Release
from targets.sglang.row_release import row_methods
from targets.sglang.unified_release import has_unified


class Recognition(Struct, frozen=True):
    """The version row that was taken, the contract of each family, and what was assumed, in sentences."""

    version: str
    contracts: dict[str, Contract]
    notes: tuple[str, ...]


def recognise(release: Release) -> Recognition:
    """What an imported tree of any version is taken for: the release whose marks it has most of; of several the one
    that it says it is, else the newest.
    """
    seen = Seen(release)
    shown = [bool(mark.see(seen)) for mark in MARKS]
    fits = {
        number: sum(
            here == (mark.first <= number <= mark.last)
            for mark, here in zip(MARKS, shown, strict=True)
        )
        for number in range(OLDEST, NEWEST + 1)
    }
    stated = minor_of(release.version) if release.version is not None else None
    number = max(fits, key=lambda candidate: (fits[candidate], candidate == stated, candidate))
    version = f"0.5.{number}"
    notes = [_taken(release, version)]
    for mark, here in zip(MARKS, shown, strict=True):
        if here != (mark.first <= number <= mark.last):
            has = "has" if here else "does not have"
            notes.append(f"it {has} {mark.what}, unlike SGLang {version}")
    contracts: dict[str, Contract] = {}
    for family in FAMILIES:
        row = contract_for_version(
            version, family, power_of_two_pages=release.kernels in ("interpreter", "gpu")
        )
        assert row is not None, "the table has every family in each of its releases"
        contracts[family], changed = _as_offered(release, seen, family, row)
        notes += changed
    rows = rows_contract(contracts["hybrid-swa"], row_methods(release.package), number)
    if rows is not None:
        contracts[ROWS_FAMILY] = rows
    for recognised, told in (_unified(release, version), _further(release, version)):
        contracts |= recognised
        notes += told
    notes += [
        f"it has {name}, which no operation drives"
        for name in undriven(version, allocator_classes(release.package), read_exemptions())
    ]
    notes.append(
        f"what shows in no name and no argument (order, timing, refusals) is taken from SGLang {version}"
    )
    return Recognition(version, contracts, tuple(notes))


def _unified(release: Release, version: str) -> tuple[dict[str, Contract], list[str]]:
    """The contracts of the unified families as the row has them, where the tree has their modules."""
    rows = {
        family: contract_for_version(
            version, family, power_of_two_pages=release.kernels in ("interpreter", "gpu")
        )
        for family in UNIFIED_FAMILIES
    }
    known: dict[str, Contract] = {family: row for family, row in rows.items() if row is not None}
    if has_unified(release) and not known:
        return {}, [
            "it has unified allocators, whose contract is not known before SGLang 0.5.20: they are left out"
        ]
    if known and not has_unified(release):
        return {}, [f"it does not have unified allocators, unlike SGLang {version}"]
    return known, []


def _further(release: Release, version: str) -> tuple[dict[str, Contract], list[str]]:
    """The contracts of the further families that the tree has a class for, with exactly the methods that it has."""
    contracts: dict[str, Contract] = {}
    notes: list[str] = []
    for family in FURTHER_FAMILIES:
        row = contract_for_version(
            version, family, power_of_two_pages=release.kernels in ("interpreter", "gpu")
        )
        allocator = further_class(release, family)
        if row is None:
            continue
        if allocator is None:
            notes.append(f"it does not have a {family} allocator, unlike SGLang {version}")
            continue
        newest = current_contract(family).methods
        methods = _had(allocator, newest) | (newest & CALLERS_OWN)
        contracts[family] = structs.replace(row, methods=methods)
        notes += _changed(family, methods, row)
    return contracts, notes


def _changed(family: str, methods: frozenset[str], row: Contract) -> list[str]:
    return [
        f"the {family} allocator {'has' if method in methods else 'does not have'} {method}, "
        "and its contract was changed in that"
        for method in sorted(methods ^ row.methods)
    ]


def _taken(release: Release, version: str) -> str:
    if release.version is None:
        return f"it tells no version, and its allocators offer what those of SGLang {version} offer"
    if minor_of(release.version) == minor_of(version):
        return (
            f"it says that it is {release.version}, and its allocators agree: contract of {version}"
        )
    return (
        f"it says that it is {release.version}, but its allocators offer what those of "
        f"SGLang {version} offer: contract of {version}"
    )


def _as_offered(
    release: Release, seen: Seen, family: str, row: Contract
) -> tuple[Contract, list[str]]:
    """The row with exactly the methods that the classes have, and a sentence for each that it had to change."""
    newest = current_contract(family)
    allocator = {"token": seen.token, "paged": seen.paged}.get(family, seen.hybrid)
    methods = _had(allocator, newest.methods | BACKUPS)
    pool_methods = _had(
        seen.paged, newest.pool_methods | BACKUPS if newest.pool_methods else BACKUPS
    )
    changes: dict[str, object] = {"methods": methods}
    if family == "hybrid-swa":
        changes["pool_methods"] = pool_methods
        if release.device != "cpu":
            changes["checks_after_clearing"] = seen.imports("get_and_clear_swa_pages")
    return structs.replace(row, **changes), _changed(family, methods, row)


def _had(allocator: object, names: frozenset[str]) -> frozenset[str]:
    return frozenset(name for name in names if hasattr(allocator, name))
