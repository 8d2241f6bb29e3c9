"""Which contract a release follows for each family: the table of contract_paged_swa §13, row by row.

A row is a behaviour and the releases 0.5.N that have it, as choices of ``oracle.contract.Contract``. Only what right
allocators may do differently stands here. That a release lost, doubled or handed out a wrong page is no row: it is a finding.
Post-releases follow the contract of the release they patch; anything newer than the table follows its newest contract.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from oracle.contract import Contract, current_contract
from oracle.geometry import FAMILIES, FURTHER_FAMILIES, UNIFIED_FAMILIES
from targets.rows.methods import ROW_METHODS, ROWS_FAMILY
from targets.sglang.further_contracts import further_contract
from targets.sglang.unified_contracts import unified_contract

if TYPE_CHECKING:
    from targets.sglang.release import Release

OLDEST = 9
NEWEST = 23


class Behaviour(Struct, frozen=True):
    """One row of §13.2: in the releases 0.5.``first`` to 0.5.``last`` the ``choices`` differ from the newest contract.

    ``families``: those that have the choice at all.
    """

    topic: str
    first: int
    last: int
    choices: dict[str, Any]
    families: tuple[str, ...] = FAMILIES


class Existence(Struct, frozen=True):
    """One row of §13.1: the releases 0.5.``first`` to 0.5.``last`` have ``methods``."""

    methods: frozenset[str]
    first: int = OLDEST
    last: int = NEWEST


PAGED = ("paged", "hybrid-swa")
HYBRID = ("hybrid-swa",)
ROWS = (ROWS_FAMILY,)

BEHAVIOURS: tuple[Behaviour, ...] = (
    Behaviour("nested begin", 9, 19, {"nested_begin": "accepted"}),
    Behaviour("M resolved in a group by free", 9, 19, {"grouped_free": "resolved-at-end"}, HYBRID),
    Behaviour("… by free_swa", 9, 17, {"grouped_free_swa": "released-at-call"}, HYBRID),
    Behaviour("… by free_swa", 18, 18, {"grouped_free_swa": "resolved-at-end"}, HYBRID),
    Behaviour("SWA flush order, FULL deferral", 9, 17, {"flush_order": ("plain",)}, HYBRID),
    Behaviour("SWA flush order", 18, 18, {"flush_order": ("plain", "swa-set")}, HYBRID),
    Behaviour(
        "SWA flush order", 19, 19, {"flush_order": ("plain", "swa-set", "full-only")}, HYBRID
    ),
    Behaviour("order inside free", 9, 19, {"free_order": "full-first"}, HYBRID),
    Behaviour("free_swa with ps>1", 9, 19, {"expansion": "sorted-pages"}, HYBRID),
    Behaviour("order inside free_swa", 9, 18, {"free_swa_order": "release-first"}, HYBRID),
    Behaviour("unmapped entries", 9, 19, {"unmapped": "skipped"}, HYBRID),
    Behaviour("free_full: no invariant", 9, 19, {"invariants": frozenset()}, HYBRID),
    Behaviour("counted invariants", 9, 19, {"has_counter": False}, HYBRID),
    Behaviour("over-credit asserts", 9, 19, {"capacity_check": "each-free"}, HYBRID),
    Behaviour("paged staging", 9, 19, {"staging": "prepended-list"}, PAGED),
    Behaviour("duplicate check: scope", 9, 16, {"duplicate_check": "free-only"}, PAGED),
    Behaviour("… at group end", 9, 16, {"duplicate_check_at_group_end": False}, PAGED),
    Behaviour("free_segment start", 17, 19, {"segment_start": "anywhere"}),
    Behaviour("free_segments overlap", 17, 19, {"segment_overlap": "trimmed"}),
    Behaviour("free_segment: base form only", 17, 19, {"segment_form": "set-shaped"}, HYBRID),
    Behaviour("num_new_pages", 9, 11, {"takes_page_count": False}, PAGED),
    Behaviour("launch before capacity test", 9, 21, {"capacity_test": "after-launch"}, PAGED),
    Behaviour("new_pages_available", 9, 13, {"answers_new_pages": False}, HYBRID),
    Behaviour("eviction: threshold", 14, 14, {"kept_behind": "window-and-page"}, ROWS),
    Behaviour("eviction: threshold", 15, 22, {"kept_behind": "window-or-page"}, ROWS),
    Behaviour("eviction: swa_evict_floor", 14, 14, {"has_floor": False}, ROWS),
    Behaviour("eviction: retain_floor", 14, 17, {"has_retain_floor": False}, ROWS),
    Behaviour("eviction: eviction_interval", 14, 20, {"has_interval": False}, ROWS),
    Behaviour("eviction: no row", 14, 15, {"eviction_without_row": "goes-on"}, ROWS),
    Behaviour("eviction: free_swa", 14, 19, {"evicts_by": "set"}, ROWS),
    Behaviour("row segments: dead as one", 19, 19, {"dead_parts": "one-set"}, ROWS),
    Behaviour("row segments: empty ones", 19, 20, {"empty_segments": "skipped"}, ROWS),
    Behaviour("ranges of a row", 19, 19, {"touching_ranges": "apart"}, ROWS),
)
"""§13.2, the rows in which right allocators may differ; in the order in which that table has them. That 0.5.19 and 0.5.20 know no
``swa_dead_lo`` is none: what lies below the floor loses its peers for good."""

EXISTENCES: tuple[Existence, ...] = (
    Existence(frozenset({"backup_state", "restore_state"}), last=16),
    Existence(frozenset({"alloc_extend_swa_tail", "set_full_to_swa_mapping"}), first=12),
    Existence(frozenset({"evict_out_of_window"}), first=14),
    Existence(frozenset({"resize"}), first=16),
    Existence(frozenset({"free_segment", "free_segments"}), first=17),
    Existence(frozenset({"free_row_segments", "free_row"}), first=19),
    Existence(frozenset({"free_full", "clear_full_to_swa_mapping"}), first=19),
    Existence(frozenset({"free_full_segment", "free_full_segments"}), first=20),
    Existence(frozenset({"free_swa_segment", "free_page_ids"}), first=20),
)
"""§13.1: a method that stands in no row exists in every release. Token and paged allocators have what exists, too. The calls on
rows are functions around the allocator (§13.2, the last rows)."""

BACKUPS = frozenset({"backup_state", "restore_state"})
FUSED_KERNEL_SINCE = 21


def contract_of(release: Release, family: str) -> Contract | None:
    """The contract of ``release`` for ``family``, None where it has none; a tree that tells no version follows the newest."""
    powers = release.kernels in ("interpreter", "gpu")
    version = release.version or f"0.5.{NEWEST}"
    contract = contract_for_version(version, family, power_of_two_pages=powers)
    fused = release.device != "cpu" and minor_of(version) >= FUSED_KERNEL_SINCE
    if contract is None or not fused or family not in ("hybrid-swa", "hisparse-dsv4", ROWS_FAMILY):
        return contract
    return structs.replace(contract, checks_after_clearing=True)


def contract_for_version(version: str, family: str, *, power_of_two_pages: bool) -> Contract | None:
    """The contract of the release with that version, None for a family or a release that the table does not know.

    ``version``: as in ``0.5.12`` or ``0.5.12.post1``. A tree that was never given a version (``0.0.0.dev0``) is the newest.
    """
    number = minor_of(version)
    if family in UNIFIED_FAMILIES:
        return unified_contract(number, family, power_of_two_pages=power_of_two_pages)
    if family == ROWS_FAMILY:
        hybrid = contract_for_version(version, "hybrid-swa", power_of_two_pages=power_of_two_pages)
        methods = _existing(ROW_METHODS, number)
        return None if hybrid is None else rows_contract(hybrid, methods, number)
    if family in FURTHER_FAMILIES:
        return further_contract(number, family, power_of_two_pages=power_of_two_pages)
    if family not in FAMILIES or number < OLDEST:
        return None
    newest = current_contract(family, power_of_two_pages=power_of_two_pages)
    return structs.replace(
        newest,
        methods=_existing(newest.methods | BACKUPS, number),
        pool_methods=_existing(newest.pool_methods | BACKUPS, number),
        **_choices(family, number),
    )


def rows_contract(hybrid: Contract, methods: frozenset[str], number: int) -> Contract | None:
    """The contract of a tree like 0.5.``number`` with that hybrid allocator and these calls on rows; None where it has no such call."""
    newest = current_contract(ROWS_FAMILY)
    if not methods:
        return None
    return structs.replace(
        hybrid,
        methods=(hybrid.methods | methods) & newest.methods,
        pool_methods=hybrid.pool_methods & newest.pool_methods,
        **_choices(ROWS_FAMILY, number),
    )


def minor_of(version: str) -> int:
    """N of the version 0.5.N, as far as the table reaches: 0 before 0.5, the newest N after it or where none is told."""
    told = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", version)
    if told is None:
        return NEWEST
    number = tuple(int(part or 0) for part in told.groups())
    if number[:2] < (0, 5):
        return NEWEST if number == (0, 0, 0) else 0
    return min(number[2], NEWEST) if number[:2] == (0, 5) else NEWEST


def _choices(family: str, number: int) -> dict[str, Any]:
    choices: dict[str, Any] = {}
    for row in BEHAVIOURS:
        if family in row.families and row.first <= number <= row.last:
            choices.update(row.choices)
    return choices


def _existing(methods: frozenset[str], number: int) -> frozenset[str]:
    absent = [row.methods for row in EXISTENCES if not row.first <= number <= row.last]
    return methods.difference(*absent)
