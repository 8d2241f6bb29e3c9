"""The table of contracts says what contract_paged_swa §13 says, release by release."""

from __future__ import annotations

import pytest
from msgspec import structs

from oracle.contract import Contract, current_contract
from oracle.geometry import FAMILIES
from targets.rows.methods import ROW_METHODS, ROWS_FAMILY
from targets.sglang.contracts import BEHAVIOURS, EXISTENCES, contract_for_version

RELEASES = range(9, 24)

# §13.1, a column a release: the releases 0.5.N that have the method on the hybrid allocator.
EXISTS = {
    "alloc": range(9, 24),
    "alloc_extend": range(9, 24),
    "alloc_decode": range(9, 24),
    "free": range(9, 24),
    "free_swa": range(9, 24),
    "translate_loc_from_full_to_swa": range(9, 24),
    "merge_and_sort_free": range(9, 24),
    "free_group_begin": range(9, 24),
    "free_group_end": range(9, 24),
    "clear": range(9, 24),
    "set_full_to_swa_mapping": range(12, 24),
    "clear_full_to_swa_mapping": range(19, 24),
    "alloc_extend_swa_tail": range(12, 24),
    "resize": range(16, 24),
    "backup_state": range(9, 17),
    "restore_state": range(9, 17),
    "free_segment": range(17, 24),
    "free_segments": range(17, 24),
    "free_full": range(19, 24),
    "free_swa_segment": range(20, 24),
    "free_full_segment": range(20, 24),
    "free_full_segments": range(20, 24),
}

# §13.2, the choice of the older releases and where it ends.
HYBRID_CHOICES = [
    ("nested_begin", "accepted", range(9, 20)),
    ("grouped_free", "resolved-at-end", range(9, 20)),
    ("grouped_free_swa", "released-at-call", range(9, 18)),
    ("grouped_free_swa", "resolved-at-end", range(18, 19)),
    ("flush_order", ("plain",), range(9, 18)),
    ("flush_order", ("plain", "swa-set"), range(18, 19)),
    ("flush_order", ("plain", "swa-set", "full-only"), range(19, 20)),
    ("free_order", "full-first", range(9, 20)),
    ("free_swa_order", "release-first", range(9, 19)),
    ("expansion", "sorted-pages", range(9, 20)),
    ("unmapped", "skipped", range(9, 20)),
    ("invariants", frozenset(), range(9, 20)),
    ("has_counter", False, range(9, 20)),
    ("capacity_check", "each-free", range(9, 20)),
    ("staging", "prepended-list", range(9, 20)),
    ("duplicate_check", "free-only", range(9, 17)),
    ("duplicate_check_at_group_end", False, range(9, 17)),
    ("segment_start", "anywhere", range(17, 20)),
    ("segment_overlap", "trimmed", range(17, 20)),
    ("segment_form", "set-shaped", range(17, 20)),
    ("takes_page_count", False, range(9, 12)),
    ("capacity_test", "after-launch", range(9, 22)),
    ("answers_new_pages", False, range(9, 14)),
]

# §13.2, the rows "free_swa_out_of_window_slots" and "free_kv_row_segments"; the calls exist from 0.5.14 and 0.5.19 on.
ROW_CHOICES = [
    ("kept_behind", "window-and-page", range(14, 15)),
    ("kept_behind", "window-or-page", range(15, 23)),
    ("has_floor", False, range(14, 15)),
    ("has_retain_floor", False, range(14, 18)),
    ("has_interval", False, range(14, 21)),
    ("eviction_without_row", "goes-on", range(14, 16)),
    ("evicts_by", "set", range(14, 20)),
    ("dead_parts", "one-set", range(19, 20)),
    ("empty_segments", "skipped", range(19, 21)),
    ("touching_ranges", "apart", range(19, 20)),
]


def of(version: str, family: str = "hybrid-swa") -> Contract:
    contract = contract_for_version(version, family, power_of_two_pages=False)
    assert contract is not None, f"{version} has no {family} contract"
    return contract


@pytest.mark.parametrize("number", RELEASES)
def test_a_release_has_the_methods_of_its_column(number: int) -> None:
    expected = {method for method, releases in EXISTS.items() if number in releases}
    assert of(f"0.5.{number}").methods == expected


@pytest.mark.parametrize(("field", "value", "releases"), HYBRID_CHOICES)
def test_a_choice_holds_for_the_releases_of_its_row(field, value, releases) -> None:
    found = [number for number in RELEASES if getattr(of(f"0.5.{number}"), field) == value]
    assert found == list(releases)


@pytest.mark.parametrize(("field", "value", "releases"), ROW_CHOICES)
def test_a_choice_of_the_calls_on_rows_holds_for_the_releases_of_its_row(
    field, value, releases
) -> None:
    with_rows = range(14, 24)
    found = [n for n in with_rows if getattr(of(f"0.5.{n}", ROWS_FAMILY), field) == value]
    assert found == list(releases)


def test_rows_stand_on_the_hybrid_allocator_of_their_release() -> None:
    for number in range(14, 24):
        rows, hybrid = of(f"0.5.{number}", ROWS_FAMILY), of(f"0.5.{number}")
        for field, _, _ in HYBRID_CHOICES:
            assert getattr(rows, field) == getattr(hybrid, field), (number, field)


def test_every_field_that_a_release_chooses_is_tested_here() -> None:
    chosen = {name for row in BEHAVIOURS for name in row.choices}
    assert chosen == {field for field, _, _ in HYBRID_CHOICES + ROW_CHOICES}
    came = {method for row in EXISTENCES for method in row.methods}
    assert came - {"free_page_ids"} - ROW_METHODS <= set(EXISTS)


def test_every_choice_of_a_row_differs_from_the_newest_contract() -> None:
    for row in BEHAVIOURS:
        for family in row.families:
            newest = current_contract(family)
            for name, value in row.choices.items():
                assert getattr(newest, name) != value, f"{row.topic}: {name} is no choice"


@pytest.mark.parametrize("family", FAMILIES)
def test_the_newest_releases_follow_the_current_contract(family: str) -> None:
    for version in ("0.5.22", "0.5.23", "0.5.23.post2", "0.5.24", "0.6.0rc1", "1.0", "0.0.0.dev0"):
        assert of(version, family) == current_contract(family), version


@pytest.mark.parametrize("family", FAMILIES)
def test_two_releases_before_them_differ_in_when_they_test_capacity(family: str) -> None:
    test = "before-launch" if family == "token" else "after-launch"
    expected = structs.replace(current_contract(family), capacity_test=test)
    assert of("0.5.20", family) == of("0.5.21", family) == expected


@pytest.mark.parametrize("family", FAMILIES)
def test_a_post_release_follows_the_release_that_it_patches(family: str) -> None:
    for number in RELEASES:
        for suffix in (".post1", ".post3", "rc0", "+cu130"):
            assert of(f"0.5.{number}{suffix}", family) == of(f"0.5.{number}", family)


def test_page_ids_are_freed_by_pools_only_and_only_since_page_ids_wait() -> None:
    for number in RELEASES:
        contract = of(f"0.5.{number}")
        assert "free_page_ids" not in contract.methods
        for methods in (contract.pool_methods, of(f"0.5.{number}", "paged").methods):
            assert ("free_page_ids" in methods) == (number >= 20), number


def test_what_the_table_does_not_know_has_no_contract() -> None:
    for version in ("0.5.8", "0.5.6.post1", "0.5.0", "0.4.10"):
        assert contract_for_version(version, "hybrid-swa", power_of_two_pages=False) is None
    assert contract_for_version("0.5.23", "mamba", power_of_two_pages=False) is None


def test_the_page_sizes_of_a_kernel_are_no_matter_of_the_release() -> None:
    for number in RELEASES:
        contract = contract_for_version(f"0.5.{number}", "paged", power_of_two_pages=True)
        assert contract == structs.replace(of(f"0.5.{number}", "paged"), power_of_two_pages=True)


def test_a_token_contract_has_no_choice_of_pages() -> None:
    for number in RELEASES:
        contract = of(f"0.5.{number}", "token")
        assert contract.staging == "appended-entries"
        assert contract.flush_order == current_contract("token").flush_order
