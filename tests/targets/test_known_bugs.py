"""The list of known bugs: consistent, and each hand-written sequence tells the bad releases from the good ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from release_process import run_on_releases

from oracle.errors import UsageError
from oracle.geometry import LEVELS, UNIFIED_FAMILIES
from oracle.lockstep import run_trace
from targets.registry import make_target
from targets.sglang.known_bugs import KNOWN_BUGS, known_bugs
from targets.sglang.release_range import releases_in, spell
from targets.sglang.releases import RELEASES

BUGS = [bug for bug in known_bugs() if not bug.skipped]
ON_A_RELEASE = """
import json
from oracle.lockstep import run_trace
from targets.sglang.known_bugs import known_bugs

def body(release):
    target = make_sglang_target(f"sglang=={release}")
    for bug in known_bugs():
        if not bug.skipped and release in (*bug.bad_releases, *bug.good_releases):
            session = run_trace(bug.trace, [target], keep_records=True)
            broken = {breach for record in session.records for breach in record.breaches}
            told = [bug.explains(found, broken) for found in session.findings]
            print(json.dumps([release, bug.id, any(told), told]), flush=True)
"""


@pytest.mark.release
def test_the_hand_written_sequences_show_their_bugs_on_the_bad_releases_only() -> None:
    printed, _ = run_on_releases(ON_A_RELEASE, RELEASES)
    shown = {
        (release, name): found for release, name, found, _ in map(json.loads, printed.splitlines())
    }
    assert len(shown) == sum(len(bug.bad_releases + bug.good_releases) for bug in BUGS)
    for bug in BUGS:
        for release in bug.bad_releases:
            assert shown[release, bug.id], f"{bug.id} does not show on {release}"
        for release in bug.good_releases:
            assert not shown[release, bug.id], f"{bug.id} shows on {release}"


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.id)
def test_our_own_allocator_has_no_known_bug(bug) -> None:
    findings = run_trace(bug.trace, [make_target("eager")]).findings
    assert all(finding.kind == "hazard" for finding in findings), findings


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.id)
def test_a_bug_says_of_every_release_whether_it_is_bad_or_good_and_is_short(bug) -> None:
    unified = bug.family in UNIFIED_FAMILIES
    having = releases_in("0.5.20..") if unified else RELEASES
    assert {*bug.bad_releases, *bug.good_releases} == set(having)
    assert len(bug.operations) <= 6, bug.id
    assert bug.upstream
    assert bug.wrong


def test_no_row_is_skipped_and_one_that_would_be_says_why(tmp_path: Path) -> None:
    assert [bug.id for bug in known_bugs() if bug.skipped] == []
    file = tmp_path / "bugs.toml"
    file.write_text('[[bug]]\nid = "later"\nupstream = "u"\nwrong = "w"\nskipped = "not yet"\n')
    assert [bug.skipped for bug in known_bugs(file)] == ["not yet"]


RATCHET = """
from msgspec.structs import replace
from oracle.geometry import LEVELS, Mode
from oracle.lockstep import run_trace
from targets.sglang.known_bugs import known_bugs

def body(release):
    (bug,) = [bug for bug in known_bugs() if bug.id == "half-double-ratchet-unified"]
    target = make_sglang_target(f"sglang=={release}")
    for level in LEVELS:
        session = run_trace(replace(bug.trace, mode=Mode(level=level)), [target], keep_records=True)
        last = session.records[-1].got
        print(release, level, [f.kind for f in session.findings], len(last.hits), last.error or "nothing", sep="|")
"""


@pytest.mark.release
def test_the_double_ratchet_is_a_hazard_at_off_and_raised_from_warn_on_the_newest_release() -> None:
    printed, _ = run_on_releases(RATCHET, releases_in("0.5.20.."))
    seen = {tuple(line.split("|")[:2]): line.split("|")[2:] for line in printed.splitlines()}
    raised = ["[]", "1", "invariant:unified_swa.segment_bound"]
    assert seen["0.5.23", "off"] == ["['hazard']", "1", "nothing"]
    assert seen["0.5.23", "warn"] == seen["0.5.23", "strict"] == raised
    for release in releases_in("0.5.20..0.5.22"):
        assert all(seen[release, level] == ["[]", "0", "nothing"] for level in LEVELS), release


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (('good = "0.5.14..0.5.23"', 'good = "0.5.13..0.5.23"'), "both bad and good"),
        (('good = "0.5.14..0.5.23"', 'good = "0.6.1"'), "supported releases"),
        (('kind = ["divergence"], quantity = ["mapping"]', 'quantity = ["mapping"]'), "kind"),
        (
            ('kind = ["divergence"], quantity = ["mapping"]', 'kind = ["odd"], quantity = ["x"]'),
            "odd",
        ),
        (('callers = "legal"', 'callers = "kind"'), "callers"),
        (('id = "unaligned-tail"', 'id = "partial-free-stale-map"'), "two bugs"),
        (("page_size = 4 }", "page_size = 0 }"), "page size 0"),
    ],
)
def test_a_row_that_makes_no_sense_is_refused(
    change: tuple[str, str], complaint: str, tmp_path: Path
) -> None:
    text = KNOWN_BUGS.read_text()
    assert change[0] in text
    file = tmp_path / "bugs.toml"
    file.write_text(text.replace(*change, 1))
    with pytest.raises(UsageError, match=complaint):
        known_bugs(file)


def test_ranges_of_releases_are_read_and_spelled() -> None:
    assert releases_in("0.5.12..0.5.13") == ("0.5.12", "0.5.12.post1", "0.5.13", "0.5.13.post1")
    assert releases_in("0.5.10") == ("0.5.10",), "one release is one release"
    assert releases_in("..0.5.9, 0.5.23..") == ("0.5.9", "0.5.23")
    assert releases_in("..") == RELEASES
    assert spell(releases_in("0.5.9, 0.5.14..0.5.16")) == "0.5.9, 0.5.14..0.5.16"
    assert spell(()) == "none"
    for bad, complaint in (("0.5.20..0.5.9", "backwards"), ("0.4.1", "0.4.1"), ("", "''")):
        with pytest.raises(UsageError, match=complaint):
            releases_in(bad)
