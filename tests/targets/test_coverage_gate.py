"""No release hides an allocator method: each is driven by an operation, or exempt with a reason that still holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from oracle.errors import TargetUnavailable, UsageError
from oracle.geometry import ALL_FAMILIES, FURTHER_FAMILIES, ROW_FAMILIES, UNIFIED_FAMILIES
from targets.sglang.contracts import contract_for_version
from targets.sglang.coverage import (
    Exemption,
    driven_names,
    read_exemptions,
    stale,
    undriven,
)
from targets.sglang.fetch import fetch_release
from targets.sglang.inventory import AllocatorClass, allocator_classes
from targets.sglang.releases import NEWEST, RELEASES

PLANNING = Path(__file__).parents[2] / "oracle" / "planning"


@pytest.mark.release
def test_every_public_method_of_every_release_is_driven_or_exempt_and_no_exemption_is_stale() -> (
    None
):
    exemptions = read_exemptions()
    releases = {
        version: allocator_classes(fetch_release(version) / "sglang") for version in RELEASES
    }
    for version, classes in releases.items():
        names = {owner.name for owner in classes}
        assert "SWATokenToKVPoolAllocator" in names, f"{version}: the walk found only {names}"
        missed = undriven(version, classes, exemptions)
        assert not missed, f"{version}: neither driven nor exempt: {missed}"
    unused = stale(releases.items(), exemptions)
    assert not unused, f"exempt, and no release needs it: {unused}"


def test_a_new_method_of_a_driven_class_is_told() -> None:
    new = AllocatorClass("allocator/paged.py", "PagedTokenToKVPoolAllocator", ("alloc", "lend"))
    assert undriven(NEWEST, [new], ()) == ["PagedTokenToKVPoolAllocator.lend"]
    exempt = Exemption(("PagedTokenToKVPoolAllocator",), "lends", ("lend",))
    assert undriven(NEWEST, [new], [exempt]) == []


def test_the_methods_of_unified_classes_are_driven_by_calls_of_other_names() -> None:
    names = driven_names(NEWEST, "MultiEndedAllocator")
    assert {"flush_opportunistic", "translate_kv_loc", "set_inflight_forward"} <= names
    assert "flush_deferred_full_frees" in driven_names(NEWEST, "UnifiedMambaTokenToKVPoolAllocator")
    assert driven_names("0.5.19", "MultiEndedAllocator") == frozenset()


def test_an_exemption_may_end_with_a_release() -> None:
    old = AllocatorClass("multi_ended_allocator.py", "MultiEndedAllocator", ("lend",))
    exempt = Exemption(("MultiEndedAllocator",), "the older module", until="0.5.19")
    assert undriven("0.5.19", [old], [exempt]) == []
    assert undriven("0.5.20", [old], [exempt]) == ["MultiEndedAllocator.lend"]
    assert stale([("0.5.19", [old])], [exempt]) == []
    assert stale([("0.5.20", [old])], [exempt]) == ["MultiEndedAllocator."]


def test_a_new_class_is_told_even_without_a_public_method() -> None:
    new = AllocatorClass("allocator/ring.py", "RingAllocator", ())
    assert undriven(NEWEST, [new], ()) == ["RingAllocator.__init__"]
    assert undriven(NEWEST, [new], [Exemption(("RingAllocator",), "not yet")]) == []


def test_the_allocator_of_states_is_driven_by_method() -> None:
    names = driven_names(NEWEST, "UnifiedMambaSlotAllocator")
    assert {"alloc", "free", "clear", "alloc_group_begin", "alloc_group_end", "translate"} <= names
    assert {"available_size", "schedulable_available_size", "size", "free_slots"} <= names
    assert "set_move_gate" not in names
    assert driven_names("0.5.19", "UnifiedMambaSlotAllocator") == frozenset()
    donor = driven_names("0.5.20", "MambaFullCacheDonor")
    assert {"flush_deferred_full_frees", "prepare_mamba_allocation"} <= donor


def test_a_method_is_driven_only_on_the_releases_whose_contract_has_it() -> None:
    backup = AllocatorClass("allocator/base.py", "BaseTokenToKVPoolAllocator", ("backup_state",))
    assert undriven("0.5.16", [backup], ()) == []
    assert undriven("0.5.17", [backup], ()) == ["BaseTokenToKVPoolAllocator.backup_state"]


@pytest.mark.parametrize(
    "unneeded",
    [
        Exemption(("TokenToKVPoolAllocator",), "driven by operations", ("alloc",)),
        Exemption(("TokenToKVPoolAllocator",), "no such method", ("lend",)),
        Exemption(("TokenToKVPoolAllocator",), "all of it is driven"),
        Exemption(("GoneAllocator",), "no such class"),
    ],
)
def test_an_exemption_of_what_is_driven_or_absent_is_stale(unneeded: Exemption) -> None:
    token = AllocatorClass("allocator/token.py", "TokenToKVPoolAllocator", ("alloc", "free"))
    assert len(stale([(NEWEST, [token])], [unneeded])) == 1


def test_every_call_that_a_contract_has_is_planned_by_some_operation() -> None:
    planned = "".join(file.read_text() for file in [*PLANNING.glob("*.py")])
    planned += (PLANNING.parent / "operations.py").read_text()
    planned += (PLANNING.parent / "unified_operations.py").read_text()
    for version in RELEASES:
        for family in ALL_FAMILIES:
            contract = contract_for_version(version, family, power_of_two_pages=False)
            if contract is None:
                assert family in (*UNIFIED_FAMILIES, *FURTHER_FAMILIES, *ROW_FAMILIES)
                continue
            for method in contract.methods | contract.pool_methods:
                assert f'"{method}"' in planned, f"{version} {family}: nothing plans {method}"
    assert driven_names(NEWEST, "RangePageAllocator") == frozenset()


def test_the_further_families_drive_their_classes_on_the_releases_that_their_table_has() -> None:
    tier = "HiSparseTokenToKVPoolAllocator"
    assert {"alloc_device_buffer", "free_hisparse", "size_full"} <= driven_names("0.5.20", tier)
    assert "request_slot_reserve" not in driven_names("0.5.21", tier)
    assert "request_slot_reserve" in driven_names("0.5.22", tier)
    assert driven_names("0.5.19", tier) == frozenset()
    assert "alloc_group_begin" in driven_names("0.5.13", "MambaSlotAllocator")
    assert "least_full_class" in driven_names("0.5.20", "PageInterleavePoolAllocator")


def test_the_walk_lists_methods_properties_and_aliases_but_nothing_private(tmp_path: Path) -> None:
    folder = tmp_path / "srt" / "mem_cache"
    (folder / "allocator").mkdir(parents=True)
    (folder / "allocator" / "paged.py").write_text(
        "class Odd:\n"
        "    @property\n    def size(self): ...\n"
        "    def free(self): ...\n"
        "    def _release(self): ...\n"
        "    async def later(self): ...\n"
        "    give_back = free\n"
        "    limit = 3\n"
    )
    (folder / "pool.py").write_text(
        "class Pool:\n    def alloc(self): ...\nclass Slots(SlotAllocator):\n    pass\n"
    )
    assert allocator_classes(tmp_path) == [
        AllocatorClass("allocator/paged.py", "Odd", ("size", "free", "later", "give_back")),
        AllocatorClass("pool.py", "Slots", ()),
    ]
    (folder / "pool.py").write_text("class Allocator(:\n")
    with pytest.raises(TargetUnavailable, match=r"pool\.py cannot be read as Python"):
        allocator_classes(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "[[exempt]]\nclasses = ['A']\n",
        "[[exempt]]\nclasses = ['A']\nreason = ' '\n",
        "[[exempt]]\nclasses = []\nreason = 'why'\n",
        "[[exempt]]\nclasses = ['A']\nreason = 'why'\nmethod = 'alloc'\n",
        "[[exempt]]\nclasses = ['A']\nreason = 'all of it'\n",
        "[[exempt]]\nclasses = ['A']\nreason = 'all of it'\nuntil = '0.5.20'\n",
        "exempt = 3\n",
        "exempt =",
    ],
)
def test_a_bad_exemption_is_one_sentence(text: str, tmp_path: Path) -> None:
    file = tmp_path / "exemptions.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match="exempt"):
        read_exemptions(file)
