"""Which families and operations each supported release has, for a person to read: data, no printing.

Guarantees that a row says what a run on that release can do: an operation stands in it when the release has the calls that it
is made of. Imports and fetches nothing.
"""

from __future__ import annotations

from msgspec import Struct

from oracle.contract import Contract
from oracle.geometry import ALL_FAMILIES, UNIFIED_FAMILIES
from oracle.operations import OPERATION_TABLE, kind_of
from targets.sglang.contracts import contract_for_version, minor_of
from targets.sglang.releases import RELEASES

NATIVE_SINCE = 22
"""The release 0.5.N whose paged allocation has a CPU path of its own."""

NEEDED_CALLS: dict[str, frozenset[str]] = {
    "extend-tail": frozenset({"alloc_extend_swa_tail"}),
    "recover": frozenset({"set_full_to_swa_mapping"}),
    "transfer-peers": frozenset({"set_full_to_swa_mapping", "clear_full_to_swa_mapping"}),
    "return-peers": frozenset({"clear_full_to_swa_mapping"}),
    "clear-mapping": frozenset({"clear_full_to_swa_mapping"}),
    "free-segment": frozenset({"free_segment"}),
    "free-segments": frozenset({"free_segments"}),
    "free-pages": frozenset({"free_page_ids"}),
    "resize": frozenset({"resize"}),
    "backup": frozenset({"backup_state"}),
    "restore": frozenset({"restore_state"}),
    "capacity": frozenset({"ensure_capacity"}),
    "reserve": frozenset({"alloc_physical"}),
    "bind-reserved": frozenset({"alloc_physical", "set_full_to_swa_mapping"}),
    "cancel-reserved": frozenset({"cancel_physical_reservation"}),
    "finish-load": frozenset({"finish_load"}),
    "spec-scratch": frozenset({"configure_spec_scratch"}),
    "slot-reserve": frozenset({"request_slot_reserve"}),
    "alloc-cyclic": frozenset({"alloc_cyclic"}),
}
"""The calls without which an operation does nothing; the others do with calls that every release has."""


class FamilyRow(Struct, frozen=True):
    """One family of one release: its calls, and the kinds of operation that reach it, both sorted."""

    calls: tuple[str, ...]
    operations: tuple[str, ...]


class ReleaseRow(Struct, frozen=True):
    """One release. ``kernels``: how it allocates pages on a CPU unless told otherwise (``native``, ``stand-in``).

    ``gained`` and ``lost``: calls of any family that the supported release before it did not have, or had.
    """

    version: str
    kernels: str
    families: dict[str, FamilyRow]
    gained: tuple[str, ...]
    lost: tuple[str, ...]


def release_table() -> tuple[ReleaseRow, ...]:
    """One row for each supported release, oldest first."""
    rows: list[ReleaseRow] = []
    before: set[str] | None = None
    for version in RELEASES:
        families = _families(version)
        calls = {call for family in families.values() for call in family.calls}
        former = calls if before is None else before
        native = minor_of(version) >= NATIVE_SINCE
        rows.append(
            ReleaseRow(
                version,
                "native" if native else "stand-in",
                families,
                tuple(sorted(calls - former)),
                tuple(sorted(former - calls)),
            )
        )
        before = calls
    return tuple(rows)


def _calls(family: str, contract: Contract) -> frozenset[str]:
    """The calls that an operation may be made of; those on a band are some of a unified family's."""
    on_bands = contract.pool_methods if family in UNIFIED_FAMILIES else frozenset[str]()
    return contract.methods | on_bands


def _families(version: str) -> dict[str, FamilyRow]:
    rows: dict[str, FamilyRow] = {}
    for family in ALL_FAMILIES:
        contract = contract_for_version(version, family, power_of_two_pages=False)
        if contract is None:
            continue
        operations = [
            kind_of(kind.operation())
            for kind in OPERATION_TABLE
            if family in kind.families
            and NEEDED_CALLS.get(kind_of(kind.operation()), frozenset()) <= _calls(family, contract)
        ]
        rows[family] = FamilyRow(tuple(sorted(contract.methods)), tuple(sorted(operations)))
    return rows
