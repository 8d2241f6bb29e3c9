"""The text report and the JSON document of a verdict, word for word."""

from __future__ import annotations

import json
from typing import Any

import pytest

from campaigns.messages import Tally
from campaigns.report import difference_table, render
from campaigns.verdict import FamilyVerdict, SavedFinding, TargetVerdict, Verdict
from oracle.finding import Finding, FindingKind

REPORT = """\
target           family   traces   steps   findings       hazards   time in the target
──────────────────────────────────────────────────────────────────────────────────────
eager            token        40    1200   none              none         25% of 2.0 s
sglang==0.5.23   paged        40    1300   divergence 1         2                    -

[1] divergence: returned at operation 1 (alloc, alloc) on sglang==0.5.23: expected [4, 5], got None
     -  alloc(2) -> None (refused)
    trace   out/a.json (2 operations)
    script  out/a.py (reproduced)
    replay  kvoracle replay out/a.json sglang==0.5.23

[2] hazard: returned after the caller broke 'stale' at operation 1 (alloc, alloc) on sglang==0.5.23: expected [4, 5], got None
    remark  it could not be saved: No space left on device
    also    out/b.py (3 operations, reproduced)

1 finding (divergence 1) and 2 hazards in 80 traces and 2500 steps.
"""


def _finding(kind: FindingKind, breach: str = "") -> Finding:
    return Finding(
        family="paged", kind=kind, quantity="returned", breach=breach, index=1, operation="alloc",
        method="alloc", expected="[4, 5]", got="None", target="sglang==0.5.23",
    )  # fmt: skip


def _saved(kind: FindingKind, breach: str = "", **fields: Any) -> SavedFinding:
    fields = {"signature": f"paged.{kind}", "operations": 2, **fields}
    return SavedFinding(finding=_finding(kind, breach), **fields)


def _verdict(*findings: SavedFinding, **fields: Any) -> Verdict:
    token = FamilyVerdict(
        "token", Tally(traces=40, steps=1200, target_seconds=0.5, seconds=2.0), []
    )
    paged = FamilyVerdict("paged", Tally(traces=40, steps=1300), list(findings))
    return Verdict(
        [TargetVerdict("eager", {}, [token]), TargetVerdict("sglang==0.5.23", {}, [paged])],
        **fields,
    )


def test_the_report_reads_like_this() -> None:
    verdict = _verdict(
        _saved("hazard", "stale", operations=3, script_file="out/b.py", reproduced=True),
        _saved(
            "divergence", calls=("alloc(2) -> None (refused)",), trace_file="out/a.json",
            script_file="out/a.py", reproduced=True,
        ),
        _saved("hazard", "stale", remark="it could not be saved: No space left on device"),
    )  # fmt: skip
    assert render(verdict, 110) == REPORT


def test_a_difference_reads_like_this() -> None:
    assert difference_table(_finding("hazard", "stale")) == (
        "hazard after 'stale'   expected   got\n"
        "──────────────────────────────────────\n"
        "returned               [4, 5]     None\n"
    )


CLOSINGS = {
    "clean": (_verdict(), "Clean in 80 traces and 2500 steps.", 0),
    "hazards": (
        _verdict(_saved("hazard", "stale")),
        "No findings, 1 hazard in 80 traces and 2500 steps: "
        "a caller that breaks the contract corrupts the allocator without a word.",
        0,
    ),
    "hazards that fail": (_verdict(_saved("hazard", "x"), fail_on_hazard=True), "No findings, ", 1),
    "findings": (
        _verdict(_saved("law"), _saved("law"), _saved("crash")),
        "3 findings (law 2, crash 1) in 80 traces and 2500 steps.",
        1,
    ),
    "interrupted": (
        _verdict(interrupted=True),
        "Interrupted. Clean in 80 traces and 2500 steps.",
        130,
    ),
    "interrupted with a finding": (
        _verdict(_saved("law"), interrupted=True),
        "Interrupted. 1 finding (law 1)",
        1,
    ),
    "nothing": (Verdict([TargetVerdict("eager", {}, [])]), "Nothing was judged.", 0),
    "a problem": (
        Verdict([TargetVerdict("eager", {}, [], problem="torch is absent")]),
        "Nothing was judged. 1 target could not be judged to the end.",
        2,
    ),
}


@pytest.mark.parametrize("what", CLOSINGS)
def test_the_verdict_is_one_sentence_and_one_exit_code(what: str) -> None:
    verdict, sentence, code = CLOSINGS[what]
    assert render(verdict).splitlines()[-1].startswith(sentence)
    assert verdict.exit_code() == code
    assert json.loads(verdict.document())["exit"] == code


def test_the_document_has_exactly_these_fields() -> None:
    document = json.loads(_verdict(_saved("law", trace_file="a.json")).document())
    assert document["targets"][1] == {
        "target": "sglang==0.5.23",
        "families": [
            {
                "family": "paged",
                "traces": 40,
                "steps": 1300,
                "findings": [
                    {
                        "kind": "law",
                        "signature": "paged.law",
                        "operations": 2,
                        "trace": "a.json",
                        "script": "",
                        "reproduced": False,
                    }
                ],
            }
        ],
    }
    assert set(document) == {"targets", "exit"}
