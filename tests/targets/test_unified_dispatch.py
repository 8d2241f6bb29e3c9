"""Segment frees of the unified families under the probe of host syncs: who has shapes that depend on values, and who has not."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from fused_bench import interpreted
from release_process import run_on_releases
from segment_dispatch import FORMS, geometry_of, seen_in_frees
from unified_traces import unified_trace

from oracle.call import Call
from oracle.geometry import UNIFIED_FAMILIES, Family, Mode
from oracle.lockstep import Judging, run_trace
from oracle.sync_free import SyncFree
from oracle.target import Target
from oracle.trace import Trace
from targets.eager.target import AllocatorClasses, EagerTarget
from targets.eager.unified.families import UNIFIED_CLASSES
from targets.eager.unified.full_and_state import FullAndStateAllocator
from targets.eager.unified.three_pools import ThreePoolAllocator
from targets.eager.unified.two_pools import TwoPoolAllocator
from targets.probes.attaching import with_probes
from targets.registry import make_target

PAGE_SIZES = (1, 4, 16)
OURS = ("eager", "fused")
BEFORE = ("0.5.20", "0.5.21", "0.5.22")
FILTERED = frozenset({"free_segment", "free_segments", "free_swa_segment"})
"""What leaves out pages without a peer, by a mask, before 0.5.23 (contract_unified §12, row `free_swa_segment`)."""
TWO_SIDED = frozenset({"free_full_segment", "free_full_segments"})
"""What is ``free_segment`` there at page sizes above 1, and so has the mask too (row `free_full_segment`)."""

ON_RELEASE = """
import json
from tests.targets.segment_dispatch import FORMS, seen_in_frees

def body(version):
    target = make_sglang_target("sglang==" + version)
    for family in FORMS:
        for page_size in (1, 4, 16):
            print(json.dumps([version, family, page_size, seen_in_frees(target, family, page_size)]))
"""


def _own(name: str) -> Target:
    return interpreted() if name == "fused" else EagerTarget()


def _found(seen: dict[str, list[str]]) -> set[str]:
    return {form for form, places in seen.items() if places}


def _masked_before(family: str, page_size: int) -> set[str]:
    """The forms with a mask on releases before 0.5.23 (contract_unified §12, §13)."""
    if family == "unified-mamba":
        return set()
    methods = FILTERED | TWO_SIDED if page_size > 1 else FILTERED
    return {prefix + method for method in methods for prefix in ("", "group of ")}


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("family", UNIFIED_FAMILIES)
@pytest.mark.parametrize("page_size", [*PAGE_SIZES, 3])
def test_no_segment_free_of_ours_waits(name: str, family: Family, page_size: int) -> None:
    seen = seen_in_frees(_own(name), family, page_size)
    assert len(seen) == 2 * len(FORMS[family]) + 1
    assert _found(seen) == set(), seen


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("family", UNIFIED_FAMILIES)
@pytest.mark.parametrize("page_size", [*PAGE_SIZES, 3])
def test_no_segment_free_of_ours_waits_on_cuda(name: str, family: Family, page_size: int) -> None:
    seen = seen_in_frees(make_target(name, device="cuda"), family, page_size, device="cuda")
    assert _found(seen) == set(), seen


@pytest.mark.long
@pytest.mark.release
def test_segment_frees_have_masks_before_the_newest_release_and_none_there() -> None:
    out, _ = run_on_releases(ON_RELEASE, (*BEFORE, "0.5.23"))
    cases = [json.loads(line) for line in out.splitlines()]
    assert len(cases) == 4 * len(FORMS) * len(PAGE_SIZES)
    for version, family, page_size, seen in cases:
        masked = _masked_before(family, page_size) if version in BEFORE else set()
        assert _found(seen) == masked, (version, family, page_size, seen)
        places = [place for found in seen.values() for place in found]
        assert all(place.startswith("index at allocator/unified_") for place in places), places


class Filtering(TwoPoolAllocator):
    """A window eviction leaves out pages without a peer by a mask."""

    def free_swa_segment(self, slots: torch.Tensor, *, start_pos: int) -> None:
        pages = self.full.representative_pages(self._representatives(slots, start_pos))
        self.swa.release(pages[self.swa.bound(pages)])


class Counting(ThreePoolAllocator):
    """The end of a group asks how many pages are bound."""

    def free_group_end(self) -> None:
        if self.full.table.v2p.sum().item() != 0:
            super().free_group_end()


class Deduplicating(FullAndStateAllocator):
    """A segment free makes its slots unique."""

    def free_segment(self, slots: torch.Tensor, *, start_pos: int) -> None:
        super().free_segment(slots.unique(), start_pos=start_pos)  # type: ignore[no-untyped-call]


class Filling(TwoPoolAllocator):
    """A window eviction looks for pages without a peer, but in a fixed shape."""

    def free_swa_segment(self, slots: torch.Tensor, *, start_pos: int) -> None:
        pages = self.full.representative_pages(self._representatives(slots, start_pos))
        bound = self.swa.bound(pages)
        self.swa.release(torch.where(bound, pages, pages.masked_fill(~bound, -1)))


PLANTED: dict[Family, tuple[Any, str, str]] = {
    "unified-swa": (Filtering, "free_swa_segment", "shape"),
    "unified-mamba-swa": (Counting, "free_group_end", "host sync"),
    "unified-mamba": (Deduplicating, "free_segment", "shape"),
}


def planted(family: Family, faulty: Any) -> EagerTarget:
    classes = AllocatorClasses(unified={**UNIFIED_CLASSES, family: faulty})
    return EagerTarget(name="eager:planted", classes=classes)


@pytest.mark.parametrize("page_size", PAGE_SIZES)
@pytest.mark.parametrize("family", UNIFIED_FAMILIES)
def test_what_is_planted_on_the_path_is_seen(family: Family, page_size: int) -> None:
    faulty, method, _ = PLANTED[family]
    seen = seen_in_frees(planted(family, faulty), family, page_size)
    if method == "free_group_end":
        assert _found(seen) == {form for form in seen if form.startswith("group of")}
    else:
        assert method in _found(seen)
        assert "band free_segment" not in _found(seen)
    places = [place for found in seen.values() for place in found]
    assert all("test_unified_dispatch.py" in place for place in places), places


def test_a_mask_that_only_fills_is_not_reported() -> None:
    seen = seen_in_frees(planted("unified-swa", Filling), "unified-swa", 4)
    assert _found(seen) == set(), seen


def at_level_off(trace: Trace) -> Trace:
    return Trace(
        geometry=trace.geometry,
        mode=Mode(),
        callers=trace.callers,
        operations=trace.operations,
    )


def judged(target: Target, family: Family, seeds: range, operations: int) -> list[Any]:
    """What the judge finds in random legal traces at level off, with the probes attached."""
    probed = with_probes(target, "cpu")
    found = []
    for seed in seeds:
        trace = at_level_off(unified_trace(family, seed, "legal", operations=operations))
        found += run_trace(trace, [probed], Judging(laws=False)).findings
    assert probed.tallies, "no call was watched"
    return found


@pytest.mark.parametrize("family", UNIFIED_FAMILIES)
def test_eager_keeps_the_promise_over_random_traces(family: Family) -> None:
    assert judged(EagerTarget(), family, range(8), 50) == []


@pytest.mark.long
@pytest.mark.parametrize("family", UNIFIED_FAMILIES)
def test_fused_keeps_the_promise_over_random_traces(family: Family) -> None:
    assert judged(interpreted(), family, range(3), 25) == []


@pytest.mark.long
@pytest.mark.parametrize("family", UNIFIED_FAMILIES)
def test_the_judge_finds_what_is_planted_and_nothing_else(family: Family) -> None:
    faulty, method, quantity = PLANTED[family]
    found = judged(planted(family, faulty), family, range(8), 50)
    assert {(f.kind, f.quantity) for f in found} == {("sync", quantity)}
    # Several segments are freed one by one.
    assert method in {f.method for f in found} <= {method, f"{method}s"}


def test_only_bands_whose_frees_leave_holes_promise_anything() -> None:
    lazy = SyncFree(geometry_of("unified-mamba-swa", 4), Mode())
    compacting = SyncFree(geometry_of("unified-mamba-swa", 4, lazy=False), Mode())
    for method in FORMS["unified-mamba-swa"]:
        call = Call(method=method)  # type: ignore[arg-type]
        assert lazy.promised(call), method
        assert compacting.promised(call) == (method == "free_swa_segment"), "SWA floats"
    seen = seen_in_frees(EagerTarget(), "unified-mamba-swa", 4, lazy=False)
    assert not seen["free_swa_segment"]
    assert seen["free_segment"], "an end band that compacts reads what it frees"


def test_a_set_shaped_free_takes_the_promise_from_the_end_of_its_group() -> None:
    for family, page_size, method, kept in (
        ("unified-swa", 4, "free_segment", True),
        ("unified-swa", 4, "free", False),
        ("unified-swa", 1, "free", False),
        ("unified-swa", 4, "free_full", False),
        ("unified-swa", 1, "free_full", True),
        ("unified-mamba", 4, "free", False),
        ("unified-mamba", 1, "free", True),
    ):
        promise = SyncFree(geometry_of(family, page_size), Mode())  # type: ignore[arg-type]
        assert promise.promised(Call(method="free_group_begin"))
        assert promise.promised(Call(method=method)) == kept, (family, page_size, method)  # type: ignore[arg-type]
        assert promise.promised(Call(method="free_group_end")) == kept, (family, page_size, method)
        assert promise.promised(Call(method="free_group_end"))


def test_an_allocation_is_promised_where_it_fits_at_once() -> None:
    promise = SyncFree(geometry_of("unified-swa", 4), Mode())
    room = {"available_size": 8}
    assert promise.promised(Call(method="alloc", need=8), room)
    assert not promise.promised(Call(method="alloc", need=12), room)
    assert not promise.promised(Call(method="alloc", need=4)), "nobody knows what there is"
    extend = Call(method="alloc_extend", prefix_lens=(3, 0), seq_lens=(9, 0), extend_num_tokens=6)
    assert promise.promised(extend, room)
    assert not promise.promised(extend, {"available_size": 4})
    decode = Call(method="alloc_decode", seq_lens=(5, 4, 1))
    assert promise.promised(decode, room)
    assert not promise.promised(decode, {"available_size": 4})


@pytest.mark.parametrize("level", ["warn", "strict"])
def test_nothing_is_promised_where_an_invariant_speaks(level: Any) -> None:
    promise = SyncFree(geometry_of("unified-swa", 4), Mode(level=level))
    assert not promise.promised(Call(method="free_segment"))
