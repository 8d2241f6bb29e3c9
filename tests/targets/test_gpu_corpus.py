"""The program for a GPU runs on a CPU too, counts what it judged, and tells what it found and what it could not see."""

from __future__ import annotations

import re
from pathlib import Path

import corpus_share
import gpu_corpus
import pytest
from corpus_share import Share, run_share
from corpus_tally import Report, Tally
from fused_bench import interpreted
from msgspec import structs
from sanitizer_stand_in import CLEAN, ERROR, put_on_path

from oracle.call import Call, Segment
from oracle.lockstep import CallRecord
from oracle.observation import Outcome
from targets.fused import memory
from targets.fused.target import FusedTarget


class Backwards(FusedTarget):
    """Hands out the right slots in the wrong order."""

    def apply(self, call: Call) -> Outcome:
        outcome = super().apply(call)
        return structs.replace(outcome, value=outcome.value and outcome.value[::-1])


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Tally], str]:
    """The exit code, the rows of the table, and all that was printed."""
    code = gpu_corpus.main(["--device", "cpu", *arguments])
    printed = capsys.readouterr().out
    rows = re.findall(r"^ +(\d+|all)((?: +\d+)+)$", printed, flags=re.MULTILINE)
    return code, {name: Tally(*map(int, counts.split())) for name, counts in rows}, printed


def share(**fields: object) -> Share:
    endless = float("inf")
    defaults = {
        "device": "cpu", "page_sizes": (4,), "callers": ("mixed",), "first": 0, "number": 0,
        "of": 1, "traces": 2, "calls": endless, "end": endless, "sanitized": False,
    }  # fmt: skip
    return Share(**(defaults | fields))  # type: ignore[arg-type]


@pytest.mark.long
def test_it_counts_what_it_judged_however_many_processes_share_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ("--page-sizes", "1", "256", "--callers", "hostile", "legal", "--traces", "6")
    code, rows, printed = run(capsys, *asked)
    assert code == 0, printed
    assert rows.keys() == {"1", "256", "all"}
    total = rows["all"]
    assert total.traces == 6
    assert f"6 traces, {total.calls} judged calls on each target, 0 findings" in printed
    assert total.calls == rows["1"].calls + rows["256"].calls == total.legal + total.hostile
    assert total.mixed == 0
    assert min(rows["256"].several_pages, rows["256"].part_of_a_page, total.breaking) > 0
    assert run(capsys, *asked, "--processes", "2") == (code, rows, printed)


def test_a_run_takes_every_page_size_and_every_caller() -> None:
    options = gpu_corpus._parser().parse_args([])
    assert {128, 256} < set(options.page_sizes)
    kinds = 45
    every = share(
        page_sizes=tuple(options.page_sizes), callers=tuple(options.callers), traces=kinds
    )
    drawn = [trace for _, trace in corpus_share._traces(every)]
    looks = {(trace.family, trace.geometry.page_size, trace.callers) for trace in drawn}
    assert len(looks) == len(drawn) == kinds
    shares = [structs.replace(every, number=number, of=2) for number in (0, 1)]
    halves = [trace for half in shares for _, trace in corpus_share._traces(half)]
    assert sorted(map(repr, halves)) == sorted(map(repr, drawn))


def test_it_ends_where_it_is_told_to() -> None:
    interpreted()
    calls = run_share(share(callers=("legal",), traces=float("inf"), calls=5)).all()
    assert calls.calls >= 5
    assert calls.traces == 1
    assert run_share(share(end=0.0)).all() == Tally()


def test_what_is_found_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    interpreted()
    monkeypatch.setattr(corpus_share, "FusedTarget", Backwards)
    found = run_share(share(traces=4)).findings
    assert any(re.match("paged, seed 0, page size 4, mixed: .*returned", line) for line in found), (
        found
    )


def test_under_a_sanitizer_it_leaves_out_guards_and_eager(monkeypatch: pytest.MonkeyPatch) -> None:
    interpreted()
    monkeypatch.setattr(memory, "_guarded", True)
    monkeypatch.setattr(corpus_share, "EagerTarget", None)
    assert run_share(share(sanitized=True, traces=1)).all().traces == 1
    assert not memory._guarded


@pytest.mark.parametrize(
    ("report", "code", "says"),
    [
        (CLEAN, 0, "0 findings, 0 problems"),
        (ERROR, 1, "process 0, initcheck: 1 times Invalid __global__ write of size 8 bytes"),
        ("", 1, "compute-sanitizer made no report"),
    ],
)
def test_what_a_sanitizer_reports_is_told(
    report: str, code: int, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    put_on_path(tmp_path, report, monkeypatch)
    came, rows, printed = run(capsys, "--traces", "1", "--sanitizer", "initcheck")
    assert came == code, printed
    assert says in printed
    assert rows["all"].traces == 1


def test_a_process_that_ends_early_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    code, rows, printed = run(capsys, "--traces", "1", "--device", "nowhere")
    assert code == 1
    assert rows["all"] == Tally()
    assert re.search(r"process 0 was ended by exit code 1 in no trace: \S", printed), printed


def record(call: Call, got: Outcome, breaches: tuple[str, ...] = ()) -> CallRecord:
    return CallRecord(0, call, breaches, None, got)


def test_a_tally_tells_whole_pages_from_parts_and_one_from_several() -> None:
    for call, got, several, part in (
        (Call(method="free", slots=(4, 5, 6, 7)), Outcome(), 0, 0),
        (Call(method="free", slots=(4, 5, 4)), Outcome(), 0, 1),
        (Call(method="free", slots=(7, 8)), Outcome(), 1, 1),
        (Call(method="free_segments", segments=(Segment((4, 5, 6, 7), 0),)), Outcome(), 0, 0),
        (Call(method="free_page_ids", slots=(1, 2)), Outcome(), 1, 0),
        (Call(method="alloc_extend"), Outcome(value=tuple(range(4, 13))), 1, 1),
        (Call(method="ensure_capacity"), Outcome(value=(1,)), 0, 0),
    ):
        tally = Tally()
        tally.count(record(call, got), 4)
        assert (tally.several_pages, tally.part_of_a_page) == (several, part), call
        assert (tally.refused, tally.raised, tally.breaking) == (0, 0, 0), call


def test_a_tally_counts_refusals_errors_and_breaches() -> None:
    tally = Tally()
    tally.count(record(Call(method="alloc_decode"), Outcome()), 4)
    tally.count(record(Call(method="alloc_decode"), Outcome(error="AssertionError")), 4)
    tally.count(record(Call(method="free"), Outcome(), ("stale",)), 4)
    assert (tally.refused, tally.raised, tally.breaking) == (1, 1, 1)
    report = Report({4: tally}, ["one"])
    report.add(Report({4: tally, 8: Tally(calls=2)}, ["other"]))
    assert (report.all().refused, report.all().calls, report.findings) == (2, 2, ["one", "other"])
