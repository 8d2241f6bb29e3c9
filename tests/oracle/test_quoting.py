"""What a target says is short and can be written, whatever it says."""

from __future__ import annotations

import msgspec
import pytest

from oracle.call import Call
from oracle.geometry import Geometry
from oracle.lockstep import Judging, run_trace
from oracle.observation import Outcome
from oracle.operations import Alloc
from oracle.quoting import LONGEST_QUOTE, quote
from oracle.trace import Trace
from targets.reference import ReferenceTarget

LONG = "begin " + "x" * 3000 + " end"


def test_what_is_short_stays_as_it_is() -> None:
    for text in ("", "assert 3 < 2", "y" * LONGEST_QUOTE):
        assert quote(text) == text


def test_of_what_is_long_both_ends_are_kept() -> None:
    short = quote(LONG)
    assert short.startswith("begin xxx")
    assert short.endswith("xxx end")
    assert f" [… {len(LONG) - LONGEST_QUOTE} characters …] " in short
    assert len(short) < LONGEST_QUOTE + 40


def test_what_has_no_encoding_is_spelt_out() -> None:
    assert quote("a \ud800 b") == "a \\ud800 b"
    assert quote("ä 😀") == "ä 😀"


@pytest.mark.parametrize("prediction", [True, False])
@pytest.mark.parametrize("error", ["crash:RuntimeError", "ValueError", "invariant:unheard-of"])
def test_a_finding_is_readable_whatever_the_target_says(error: str, prediction: bool) -> None:
    class Talkative(ReferenceTarget):
        def apply(self, call: Call) -> Outcome:
            super().apply(call)
            return Outcome(error=error, message=LONG + "\ud800")

    trace = Trace(geometry=Geometry(family="token", size=16), operations=(Alloc(),))
    session = run_trace(trace, [Talkative()], Judging(prediction=prediction), keep_records=True)
    (finding,) = session.findings
    assert len(finding.sentence()) < 2 * LONGEST_QUOTE
    assert "begin" in finding.sentence()
    assert msgspec.json.decode(msgspec.json.encode(finding), type=type(finding)) == finding
    assert session.records is not None
    assert len(session.records[0].got.message) < 2 * LONGEST_QUOTE
