"""The laws of the further families stay silent about the prediction, however a legal caller uses it, and speak up about faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from family_caller import LegalCaller
from family_house import FamilyHouse, family_geometry

from oracle.reference import hisparse_dsv4
from oracle.reference.device_tier import DeviceTier
from oracle.reference.hisparse_dsv4 import CompressedHiSparsePool
from oracle.reference.hybrid_swa import HybridPool
from oracle.reference.page_interleave import PageInterleavePool
from oracle.reference.state_slots import StateSlots
from oracle.reference.swa_ring import SwaRingPool

GEOMETRIES = {
    "swa-ring": {"size": 66, "page_size": 4, "size_swa": 32, "request_slots": 2, "ring": 5},
    "page-interleave": {"size": 16, "page_size": 4, "ranks": 3},
    "hisparse": {"size": 40, "page_size": 4, "ratio": 2},
    "hisparse-dsv4": {"size": 256, "page_size": 16, "size_swa": 192, "device_size": 48},
}


@pytest.mark.parametrize("need_sort", [False, True])
@pytest.mark.parametrize("family", GEOMETRIES)
def test_no_law_fires_on_the_prediction(family: str, need_sort: bool) -> None:
    made: Counter[str] = Counter()
    for seed in range(6):
        geometry = family_geometry(family, need_sort=need_sort, **GEOMETRIES[family])
        caller = LegalCaller(geometry, seed)
        caller.run()
        made += caller.made
    wanted = {"alloc_extend with slots", "alloc_extend", "free", "free_group_end", "clear"}
    if family.startswith("hisparse"):
        wanted |= {"alloc_device_buffer with slots", "alloc_device_buffer"}
        wanted |= {"alloc_logical_only with slots", "free_hisparse", "free_hisparse_indices"}
    if family == "hisparse-dsv4":
        wanted.add("free_full_segment")
    assert wanted <= made.keys(), made


def _gives_up_the_keys_alone(self: DeviceTier, keys: Iterable[int]) -> None:
    keys = list(keys)
    self.release(self.places.peers(keys))
    self.places.unmap(keys)


def _keeps_the_places(self: DeviceTier, keys: Iterable[int]) -> None:
    self.release(self.places.peers(keys))


def _keeps_the_surplus(*_: Any, **__: Any) -> None:
    pass


def _releases_all_surplus(
    self: DeviceTier, kept: Sequence[int], surplus: Sequence[int], **_: Any
) -> None:
    self.release(surplus)


def _names_the_slots_alone(slots: Sequence[int], *_: int) -> list[int]:
    return hisparse_dsv4.compressed(slots)


def _free_full_on_the_logical_side(self: CompressedHiSparsePool, slots: Sequence[int]) -> None:
    self.logical.free_full(slots)


def _draws_without_the_prefix(self: PageInterleavePool, prefixes: Any, *rest: Any) -> Any:
    seqs, lasts, bases = rest
    lengths = [seq - prefix for prefix, seq in zip(prefixes, seqs, strict=True)]
    return _DRAWS(self, [0] * len(prefixes), lengths, lasts, bases)


def _frees_to_the_next_class(self: PageInterleavePool, slots: Sequence[int]) -> None:
    for page in sorted({slot // self.page_size for slot in slots}):
        rank = (page + 1) % self.ranks
        self.classes[rank] = [page, *self.classes[rank]]


def _resolves_before_it_refuses(self: PageInterleavePool, call: Any) -> Any:
    slots = _EXTEND(self, call)
    self.bases = [0 if base is None else base for base in self.bases]
    return slots


_DRAWS = PageInterleavePool._draws
_EXTEND = PageInterleavePool.alloc_extend

FAULTS: tuple[tuple[str, Any, str, Callable[..., Any], str], ...] = (
    ("hisparse", DeviceTier, "give_up", _gives_up_the_keys_alone, "mapping-support"),
    ("hisparse", DeviceTier, "give_up", _keeps_the_places, "mapping-support"),
    ("hisparse", DeviceTier, "_release_surplus", _keeps_the_surplus, "conservation"),
    ("hisparse-dsv4", DeviceTier, "_release_surplus", _releases_all_surplus, "one-owner"),
    ("hisparse-dsv4", hisparse_dsv4, "whole_pages_of", _names_the_slots_alone, "mapping-support"),
    (
        "hisparse-dsv4",
        CompressedHiSparsePool,
        "free_full",
        _free_full_on_the_logical_side,
        "mapping-support",
    ),
    ("page-interleave", PageInterleavePool, "_draws", _draws_without_the_prefix, "rotation"),
    ("page-interleave", PageInterleavePool, "free", _frees_to_the_next_class, "page-class"),
    (
        "page-interleave",
        PageInterleavePool,
        "alloc_extend",
        _resolves_before_it_refuses,
        "failed-call-changes-nothing",
    ),
    ("swa-ring", SwaRingPool, "alloc_extend", HybridPool.alloc_extend, "mapping-support"),
)


@pytest.mark.parametrize(("family", "owner", "name", "fault", "law"), FAULTS)
def test_a_fault_is_caught_by_its_law(
    monkeypatch: pytest.MonkeyPatch, family: str, owner: Any, name: str, fault: Any, law: str
) -> None:
    monkeypatch.setattr(owner, name, fault)
    seen = ""
    for seed in range(20):
        caller = LegalCaller(family_geometry(family, **GEOMETRIES[family]), seed)
        try:
            caller.run()
        except AssertionError as error:
            seen = str(error)
            if f"law='{law}'" in seen:
                return
    pytest.fail(f"no {law} in 20 runs; the last failure was: {seen}")


def test_states_that_an_end_forgets_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StateSlots, "alloc_group_end", lambda self: setattr(self, "prepared", None))
    house = FamilyHouse(family_geometry("mamba-slots", 8))
    house.does("alloc_group_begin", need=3)
    house.settle()
    house.does("alloc_group_end")
    found = house.judge()
    assert found is not None
    assert found.law == "conservation"
