"""Scripts of the unified families: a check for every law and quantity, silent on a right allocator and not on a wrong one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from campaigns.export import render, run_script, write_script  # noqa: E402
from campaigns.export_unified import BEFORE, state_expression  # noqa: E402
from oracle.byte_buffer import Buffer  # noqa: E402
from oracle.errors import TargetUnavailable, UsageError  # noqa: E402
from oracle.geometry import Geometry, Mode  # noqa: E402
from oracle.laws.unified_names import UNIFIED_LAW_NAMES  # noqa: E402
from oracle.lockstep import run_trace  # noqa: E402
from oracle.operations import (  # noqa: E402
    Alloc,
    AllocGroupBegin,
    AllocGroupEnd,
    BandTranslate,
    BeginForward,
    BindReserved,
    CancelReserved,
    Capacity,
    Evict,
    EvictForAlloc,
    Extend,
    FinishLoad,
    FireEvent,
    Flush,
    FlushDeferred,
    Free,
    FreeSegment,
    Gate,
    GroupBegin,
    GroupEnd,
    MakeRoom,
    Part,
    Release,
    Reserve,
    StateAlloc,
    StateFree,
    StateRoom,
)
from oracle.trace import Trace  # noqa: E402
from oracle.unified_comparison import unified_quantities  # noqa: E402
from targets.registry import make_target  # noqa: E402
from tests.campaigns.export_cases import assert_formatted, finding_at, loaded, trace  # noqa: E402

TWO = Geometry(
    family="unified-swa",
    size=0,
    page_size=4,
    buffer=Buffer(total_bytes=1024, full_bytes=16, swa_bytes=8),
)
THREE = Geometry(
    family="unified-mamba-swa",
    size=64,
    size_swa=64,
    page_size=4,
    buffer=Buffer(total_bytes=2048, full_bytes=16, swa_bytes=8, state_bytes=96),
)
PAIR = Geometry(
    family="unified-mamba",
    size=0,
    page_size=4,
    buffer=Buffer(total_bytes=1024, full_bytes=16, state_bytes=96),
)
GROWN = (Alloc(8), Alloc(8), Evict(), FreeSegment("free_full_segment"))
"""Two rows; the newer one has lost its first page on both sides."""
LOOKED_AT = trace(TWO, *GROWN)
IDLE = trace(TWO, Alloc(8), Release())
WAITING = trace(TWO, Alloc(8), GroupBegin(), FreeSegment())
REFUSED = trace(TWO, Alloc(0, "left"), Alloc(8))
MOVED = trace(TWO, Alloc(4), Alloc(4), Release(request=1), Flush())
TRANSLATED = trace(TWO, Alloc(8), BandTranslate())
ALLOCATED = trace(TWO, Alloc(8))

PREPARED = trace(PAIR, StateAlloc(), AllocGroupBegin(2), StateAlloc())
ENSURED = trace(TWO, Alloc(8), Capacity("ensure_capacity", amount=1))
PLANNED = trace(
    TWO,
    Alloc(0, "left"),
    Evict(pages=1),
    Capacity("reclaim_plan", amount=1, evictable_full=3, evictable_swa=3),
)
DECODED = trace(
    PAIR,
    Alloc(0, "left"),
    GroupBegin(),
    FreeSegment(),
    EvictForAlloc("check_decode_capacity", amount=2, unit="pages"),
)

DOUBLE_RATCHET = trace(
    TWO, Alloc(8), FreeSegment("free_swa_segment"), FreeSegment("free_swa_segment")
)
UNFLUSHED = trace(PAIR, GroupBegin(), Alloc(4), FreeSegment(), EvictForAlloc())

EVERYTHING = {
    "two pools": trace(
        TWO,
        Extend((Part(0, 6), Part(0, 5))),
        BeginForward(request=1),
        Reserve(),
        CancelReserved(),
        Reserve(),
        Evict(request=1),
        BindReserved(request=1),
        FinishLoad(),
        Gate(),
        Gate(state="absent"),
        Capacity(),
        Capacity("reclaim_plan", evictable_full=2),
        Capacity("can_reserve"),
        BandTranslate(band=1),
        GroupBegin(),
        Free(count=3),
        EvictForAlloc(rows=1, states=1),
        EvictForAlloc("check_decode_capacity", tree=False),
        GroupEnd(),
        FireEvent(),
        Flush(urgent=True),
        Alloc(4),
    ),
    "three pools": trace(
        THREE,
        Alloc(8),
        StateAlloc(count=2),
        StateFree(index=1, overwrite=True),
        StateRoom(count=2),
        StateRoom("full_tokens_before_mamba_recheck", count=20),
        BandTranslate(band=2),
        MakeRoom(),
        MakeRoom(compact=True),
        GroupBegin(),
        FlushDeferred(),
        EvictForAlloc(amount=0, unit="left", rows=1, states=1, direct=False),
        GroupEnd(),
        StateAlloc(count=0),
        AllocGroupBegin(3),
        StateAlloc(),
        AllocGroupEnd(),
    ),
    "FULL and states": trace(
        PAIR, Alloc(8), StateAlloc(count=1), EvictForAlloc(rows=1, states=1), Alloc(4)
    ),
}
"""Every kind of call."""

State = dict[str, Any]


def _band(name: str, **changes: Callable[[Any], Any]) -> Callable[[State], None]:
    def damage(state: State) -> None:
        for key, change in changes.items():
            state["bands"][name][key] = change(state["bands"][name][key])

    return damage


def _unbind(table: list[int]) -> list[int]:
    return [place if not page or place < 0 else -1 for page, place in enumerate(table)]


def _shared(table: list[int]) -> list[int]:
    highest = max(table)
    return [highest if page and place > 0 else place for page, place in enumerate(table)]


DAMAGE: dict[str, tuple[Trace, str, Callable[[State], None]]] = {
    "sentinels": (LOOKED_AT, "full", _band("full", v2p=lambda v: [*v[:-1], 3])),
    "spans-ordered": (LOOKED_AT, "full", _band("full", watermark=lambda _: 0)),
    "swa-bound-full-unbound": (LOOKED_AT, "swa", _band("full", v2p=_unbind)),
    "id-partition": (LOOKED_AT, "full", _band("full", free_ids=lambda ids: ids[1:])),
    "physical-page-shared": (LOOKED_AT, "swa", _band("swa", v2p=_shared)),
    "table-inverse": (LOOKED_AT, "swa", _band("swa", p2v=_unbind)),
    "span-partition": (LOOKED_AT, "swa", _band("swa", holes=lambda _: [-1])),
    "live-count": (LOOKED_AT, "swa", _band("swa", live=lambda live: live - 1)),
    "capacity-within-size": (LOOKED_AT, "full", _band("full", allocated=lambda n: n + 4)),
    "everything-returned": (IDLE, "full", _band("full", live=lambda _: 1)),
    "bound-agrees-with-books": (LOOKED_AT, "full", _band("full", v2p=_unbind)),
    "prepared-states": (PREPARED, "state", lambda state: state.update(prepared=[2, 3])),
    "byte-accounting": (LOOKED_AT, "", lambda state: state.update(byte_accounting=["wrong"])),
    "content": (LOOKED_AT, "full", _band("full", content=lambda kv: [n + 1 for n in kv])),
    "promise-kept": (ENSURED, "", lambda state: state["queries"].update(available_size=0)),
    "refused-though-it-fits": (REFUSED, "", _band("full", live=lambda _: 0)),
    "plan-minimal": (PLANNED, "", _band("full", live=lambda _: 0)),
    "eviction-sees-deferred-frees": (
        DECODED,
        "",
        lambda state: state.update(representative_pile=[[8]]),
    ),
    "deferral": (WAITING, "full", _band("full", holes=lambda holes: [*holes, 3])),
    "failed-call-changes-nothing": (REFUSED, "full", _band("full", live=lambda live: live - 1)),
    "move-changes-no-owner": (MOVED, "full", _band("full", content=lambda kv: [0 for _ in kv])),
}
"""For each law about states: a trace, the band, and what would break the law."""


METHODS = {
    "prepared-states": "alloc",
    "deferral": "free_segment",
    "failed-call-changes-nothing": "alloc",
    "move-changes-no-owner": "flush",
    "promise-kept": "ensure_capacity",
    "refused-though-it-fits": "alloc",
    "plan-minimal": "reclaim_plan",
    "eviction-sees-deferred-frees": "check_decode_capacity",
}
"""The last call, where a law is about one."""


@pytest.mark.parametrize(
    ("subject", "method", "prepared"),
    [
        (trace(PAIR, AllocGroupBegin(2)), "alloc_group_begin", [1]),
        (trace(PAIR, AllocGroupBegin(2)), "alloc_group_begin", [1, 1]),
        (trace(PAIR, AllocGroupBegin(2), StateAlloc(), AllocGroupEnd()), "alloc_group_end", [2]),
        (trace(PAIR, AllocGroupBegin(2), Alloc(4)), "state", [1]),
        (trace(PAIR, StateAlloc(), AllocGroupBegin(2)), "state", [1, 2]),
    ],
)
def test_the_check_of_prepared_states_looks_at_the_kind_of_call(
    subject: Trace, method: str, prepared: list[int], tmp_path: Path
) -> None:
    module = _program(subject, "prepared-states", "state", method, tmp_path / "law.py")
    expected, got = module.reproduce(module.build())
    assert expected == got
    looks, look = [0], module.look

    def damaged(allocator: Any) -> State:
        looks[0] += 1
        state: State = look(allocator)
        return state | {"prepared": prepared} if looks[0] > 1 else state

    module.look = damaged
    expected, got = module.reproduce(module.build())
    assert expected != got


def _program(subject: Trace, law: str, band: str, method: str, path: Path) -> Any:
    quantity = f"{band}.{law}" if band else law
    finding = finding_at(subject, "law", quantity, method=method)
    source = render(subject, "eager", finding=finding)
    assert_formatted(source, path)
    return loaded(source)


@pytest.mark.parametrize("law", DAMAGE)
def test_the_check_of_a_law_is_silent_on_a_right_state_and_fires_on_a_damaged_one(
    law: str, tmp_path: Path
) -> None:
    subject, band, damage = DAMAGE[law]
    method = METHODS.get(law, "state")
    module = _program(subject, law, band, method, tmp_path / "law.py")
    expected, got = module.reproduce(module.build())
    assert expected == got, "a right allocator breaks no law"
    looks = 0
    look = module.look

    def damaged(allocator: Any) -> State:
        nonlocal looks
        looks += 1
        state: State = look(allocator)
        if looks > (law in BEFORE):
            damage(state)
        return state

    module.look = damaged
    expected, got = module.reproduce(module.build())
    assert expected != got


@pytest.mark.parametrize(
    ("law", "subject", "band", "method"),
    [
        ("returned-slots", ALLOCATED, "full", "alloc"),
        ("padding-page", ALLOCATED, "full", "alloc"),
        ("returned-slots", trace(THREE, StateAlloc(count=1)), "state", "alloc"),
        ("returned-slots", trace(TWO, Reserve()), "swa", "alloc_physical"),
        ("translate-total", TRANSLATED, "full", "translate"),
        ("plan-minimal", PLANNED, "", "reclaim_plan"),
    ],
)
def test_the_check_of_what_came_back_fires_on_another_answer(
    law: str, subject: Trace, band: str, method: str, tmp_path: Path
) -> None:
    module = _program(subject, law, band, method, tmp_path / "law.py")
    expected, got = module.reproduce(module.build())
    assert expected == got
    plain = module.plain
    module.plain = lambda answer: [slot + 50 for slot in plain(answer)]
    expected, got = module.reproduce(module.build())
    assert expected != got


def test_a_legal_call_that_raises_is_told_from_one_that_does_not(tmp_path: Path) -> None:
    module = _program(ALLOCATED, "legal-call-raised", "", "alloc", tmp_path / "law.py")
    expected, got = module.reproduce(module.build())
    assert expected == got
    allocator = module.build()
    allocator.alloc = lambda _: 1 // 0
    assert module.reproduce(allocator)[1] == "ZeroDivisionError"


def test_every_law_of_unified_allocators_has_its_check() -> None:
    tried = {*DAMAGE, "returned-slots", "translate-total", "legal-call-raised"}
    assert tried == set(UNIFIED_LAW_NAMES)


@pytest.mark.parametrize("geometry", [TWO, THREE, PAIR], ids=lambda geometry: geometry.family)
def test_every_quantity_that_the_judge_compares_is_an_expression(geometry: Geometry) -> None:
    target = make_target("eager")
    target.reset(geometry, Mode())
    state: Any = target.snapshot()
    names = {name for name, _, _ in unified_quantities(state, state)} - {"bands"}
    assert [name for name in names if state_expression(name) is None] == []
    subject = trace(geometry, Alloc(4))
    for name in sorted(names):
        module = loaded(
            render(
                subject, "eager", finding=finding_at(subject, "divergence", name, method="alloc")
            )
        )
        expected, got = module.reproduce(module.build())
        assert expected == got, name


@pytest.mark.parametrize("name", EVERYTHING)
@pytest.mark.parametrize("target", ["eager", "sglang==0.5.23"])
def test_every_kind_of_call_can_be_exported_and_agrees(
    name: str, target: str, tmp_path: Path
) -> None:
    path = tmp_path / "everything.py"
    try:
        write_script(EVERYTHING[name], target, path)
    except (TargetUnavailable, UsageError) as reason:
        pytest.skip(str(reason))
    assert run_script(path) is False, path.read_text()
    assert_formatted(path.read_text(), path)


def test_a_fault_of_a_mutant_shows_and_is_gone_on_the_allocator_without_it(tmp_path: Path) -> None:
    subject = trace(PAIR, Alloc(0, "left"), GroupBegin(), FreeSegment(pages=1), EvictForAlloc())
    mutant = "mutant:state-flush-forgotten"
    found = run_trace(subject, [make_target(mutant)]).findings[0]
    for target, shown in ((mutant, True), ("eager", False)):
        path = tmp_path / f"{target.replace(':', '-')}.py"
        write_script(subject, target, path, found)
        assert run_script(path) is shown


def _tree(version: str) -> Path:
    from targets.sglang.fetch import fetch_release

    try:
        return fetch_release(version)
    except TargetUnavailable as reason:
        pytest.skip(str(reason))


@pytest.mark.release
@pytest.mark.parametrize(
    ("subject", "gone"), [(DOUBLE_RATCHET, ("0.5.20", "0.5.22")), (UNFLUSHED, ())]
)
def test_a_finding_on_a_release_is_there_and_gone_where_the_fault_is_not(
    subject: Trace, gone: tuple[str, ...], tmp_path: Path
) -> None:
    tree = _tree("0.5.23")
    path = tmp_path / "finding.py"
    found = run_trace(subject, [make_target("sglang==0.5.23")]).findings
    assert len(found) == 1, found
    write_script(subject, "sglang==0.5.23", path, found[0])
    assert run_script(path, argument=tree) is True
    for version in gone:
        assert run_script(path, argument=_tree(version)) is False
