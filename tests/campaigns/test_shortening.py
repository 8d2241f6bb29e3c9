"""Which findings a campaign reduces, and which it reports."""

from __future__ import annotations

import msgspec
import pytest

from campaigns.shortening import NOT_STEADY, Shortener, trace_until
from oracle.finding import Finding
from oracle.geometry import Geometry
from oracle.lockstep import Judging, run_trace
from oracle.operations import (
    Alloc,
    Base,
    Decode,
    ExtendTail,
    GroupBegin,
    GroupEnd,
    Merge,
    RawFree,
    Release,
    StaleFree,
)
from oracle.trace import Trace

pytest.importorskip("torch", reason="the target is a mutant of eager")

EVERYTHING = Alloc(amount=0, unit="left")
NOISE = (Merge(), Alloc(amount=1), Release(), Merge())


def _trace(*operations: Base) -> Trace:
    return Trace(
        geometry=Geometry(family="paged", size=8, page_size=4, need_sort=True),
        callers="legal",
        operations=operations,  # type: ignore[arg-type]
    )


@pytest.fixture
def shortener() -> Shortener:
    from targets.registry import make_target

    target = make_target("mutant:capacity-off-by-one")
    return Shortener(target, Judging(), hurry=lambda: False, alive=lambda: None)


def _met(trace: Trace) -> Finding:
    from targets.registry import make_target

    (finding,) = run_trace(trace, [make_target("mutant:capacity-off-by-one")]).findings
    return finding


def test_a_finding_comes_back_short_with_its_calls_and_a_script(shortener: Shortener) -> None:
    trace = _trace(*NOISE, EVERYTHING, *NOISE)
    (reduced,) = shortener.shorten(_met(trace), trace)
    assert len(reduced.trace.operations) == 1
    assert reduced.signature == "paged.divergence.returned.alloc"
    assert [line.split(" -> ")[1] for line in reduced.calls] == ["None (refused)"]
    assert "The fault is there." in reduced.script
    assert not reduced.remark


def test_a_signature_is_reported_once(shortener: Shortener) -> None:
    trace = _trace(EVERYTHING)
    first = list(shortener.shorten(_met(trace), trace))
    again = list(shortener.shorten(_met(trace), trace))
    assert [len(first), len(again)] == [1, 0]


def test_a_cause_is_reduced_again_only_where_that_could_tell_something_new(
    shortener: Shortener,
) -> None:
    trace = _trace(EVERYTHING)
    finding = _met(trace)
    assert shortener.wants(finding, trace)
    list(shortener.shorten(finding, trace))
    assert not shortener.wants(finding, trace)
    other = msgspec.structs.replace(finding, operation="decode", method="alloc_decode")
    assert shortener.wants(other, trace), "another call shows it"
    assert shortener.wants(finding, _trace(Decode())), "it shows without an alloc"
    for _ in range(2):
        list(shortener.shorten(finding, trace))
    assert not shortener.wants(other, trace), "three are enough"


def test_a_trace_that_does_not_show_it_again_is_reported_as_it_is(shortener: Shortener) -> None:
    shown, silent = _trace(EVERYTHING), _trace(Merge(), Alloc(amount=1), Merge())
    finding = msgspec.structs.replace(_met(shown), index=1)
    (reduced,) = shortener.shorten(finding, silent)
    assert reduced.trace == trace_until(silent, finding)
    assert len(reduced.trace.operations) == 2
    assert NOT_STEADY in reduced.remark or "no script" in reduced.remark


def test_when_time_is_up_the_shortest_known_trace_is_taken() -> None:
    from targets.registry import make_target

    runs: list[None] = []

    def hurry() -> bool:
        return len(runs) > 3

    target = make_target("mutant:capacity-off-by-one")
    hurried = Shortener(target, Judging(), hurry=hurry, alive=lambda: runs.append(None))
    trace = _trace(*NOISE, *NOISE, EVERYTHING)
    reduced = list(hurried.shorten(_met(trace), trace))
    assert len(reduced) == 1
    assert len(reduced[0].trace.operations) <= len(trace.operations)
    assert run_trace(reduced[0].trace, [target]).findings, "what is reported shows it"
    assert len(runs) == 4


def test_what_the_caller_did_wrong_before_is_a_remark_of_a_finding_that_is_not_put_down_to_it() -> (
    None
):
    from targets.registry import make_target

    target = make_target("mutant:capacity-off-by-one")
    trace = msgspec.structs.replace(
        _trace(Alloc(amount=1), Release(), StaleFree(), Alloc(amount=0, unit="left")),
        callers="hostile",
    )
    met = next(found for found in run_trace(trace, [target]).findings if found.kind != "hazard")
    hurried = Shortener(target, Judging(), hurry=lambda: True, alive=lambda: None)
    (reduced,) = hurried.shorten(met, trace)
    assert not reduced.finding.breach
    assert reduced.remark == "the caller broke 'stale' at operation 2, before this"


def test_a_hazard_is_blamed_on_the_error_that_does_the_harm() -> None:
    from targets.registry import make_target

    target = make_target("eager")
    trace = Trace(
        geometry=Geometry(family="hybrid-swa", size=10, size_swa=3, page_size=3),
        callers="hostile",
        operations=(
            GroupBegin(),
            RawFree(method="free_full", slots=(17,)),
            ExtendTail(unit="pages", tail=1, aligned=False),
            GroupEnd(),
        ),
    )
    (met,) = run_trace(trace, [target]).findings
    assert met.breach == "unaligned-tail", "put down to the last error before the harm"
    (reduced,) = Shortener(target, Judging(), hurry=lambda: False, alive=lambda: None).shorten(
        met, trace
    )
    assert reduced.finding.breach == "raw-slots"
    assert reduced.finding.quantity == met.quantity
