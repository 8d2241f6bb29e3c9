"""What a FULL-only free of a page with a peer comes to: a law sees it at once, and whoever goes on loses a live row's KV."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from release_process import run_on_releases

from oracle.lockstep import run_trace
from oracle.trace import read_trace
from targets.registry import make_target

TRACE = Path(__file__).parents[1] / "corpus" / "full-only-free-of-a-bound-page.json"
RUN = """
from pathlib import Path
from oracle.laws.unified_content import WrittenNumbers
from oracle.lockstep import run_trace
from oracle.trace import read_trace

def last_look(target, file):
    # The judge stops asking the laws at the hazard; what is lost in the end is looked up here.
    session = run_trace(read_trace(Path(file)), [target], keep_records=True)
    numbers = WrittenNumbers()
    for record in session.records:
        numbers.note_call(record.call, record.got)
    state = target.snapshot()
    lost = numbers.judge(state, session.caller.books)
    return session, state, lost
"""
ON_A_RELEASE = (
    RUN
    + """
def body(release):
    target = make_sglang_target(f"sglang=={release}")
    session, state, lost = last_look(target, sys.argv[2])
    laws = [(finding.kind, finding.quantity, finding.index) for finding in session.findings]
    print(laws, state.byte_accounting, lost.law, lost.pool, lost.got, sep="|")
"""
)
AT_ONCE = "[('hazard', 'swa.swa-bound-full-unbound', 3)]"


def test_a_law_sees_the_free_at_once_and_the_row_reads_another_kv_in_the_end() -> None:
    space: dict[str, Any] = {}
    exec(RUN, space)  # noqa: S102 (the code that the releases run)
    session, state, lost = space["last_look"](make_target("eager"), TRACE)
    assert str([(found.kind, found.quantity, found.index) for found in session.findings]) == AT_ONCE
    assert (lost.law, lost.pool, lost.got) == ("content", "swa", "number 9")
    assert "request 5 position 20" in lost.expected
    assert state.byte_accounting == [], "the allocator's own verifier sees none of it"


def test_at_level_warn_the_signal_stops_the_free_and_nothing_is_lost() -> None:
    from msgspec.structs import replace

    from oracle.geometry import Mode

    trace = replace(read_trace(TRACE), mode=Mode(level="warn"))
    session = run_trace(trace, [make_target("eager")], keep_records=True)
    assert session.findings == []
    (stopped,) = [record.got for record in session.records or [] if record.got.error]
    assert stopped.error == "invariant:unified_swa.segment_released"


@pytest.mark.release
def test_the_newest_release_loses_the_kv_and_its_own_verifier_has_no_complaint() -> None:
    printed, _ = run_on_releases(ON_A_RELEASE, ("0.5.23",), str(TRACE))
    assert printed.strip() == f"{AT_ONCE}|[]|content|swa|number 9"
