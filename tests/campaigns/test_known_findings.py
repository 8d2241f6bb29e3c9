"""Known findings: accepted while they hold, told when they are repaired or expired, and written anew on request."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest

from campaigns.known_findings import KnownFindings, known_file, read_known
from campaigns.known_update import as_toml, update_known
from campaigns.verdict import KnownVerdict, TargetVerdict, Verdict
from oracle.errors import UsageError
from oracle.finding import Finding
from oracle.geometry import Geometry
from oracle.operations import Alloc, Free
from oracle.trace import Trace, encode_trace
from tests.campaigns.conftest import ROOT, RunCommand

BASELINE = ROOT / "docs" / "known_findings.toml"
LOOK = '{ kind = ["divergence", "law"], quantity = ["full.*", "raised"] }'
TRACE = Trace(
    geometry=Geometry(family="paged", size=16, page_size=4),
    callers="legal",
    operations=(Alloc(amount=4), Free(count=3)),
)


def write(
    folder: Path,
    *,
    targets: str = '["mutant:dedup-dropped"]',
    expires: str = "2999-01-01",
    looks: str = LOOK,
    extra: str = "",
) -> Path:
    (folder / "trace.json").write_bytes(encode_trace(TRACE))
    file = folder / "known.toml"
    file.write_text(
        f'# kept\n[[known]]\nid = "dedup"\ntargets = {targets}\nreason = "a mutant"\n'
        f'link = "none"\nexpires = {expires}\ntrace = "trace.json"\nlooks = [{looks}]\n{extra}'
    )
    return file


def finding(**changes: str) -> Finding:
    told = {
        "family": "paged",
        "kind": "divergence",
        "quantity": "full.free",
        "operation": "free",
        "method": "free",
        "expected": "",
        "got": "",
        "target": "",
    }
    return Finding(index=1, **{**told, **changes})  # type: ignore[arg-type]


def fuzz(command: RunCommand, target: str, file: Path, *more: str):
    options = ("--family", "paged", "--callers", "legal", "--examples", "30", "--seed", "4")
    return command("fuzz", target, *options, "--known", str(file), "--format", "json", *more)


def test_a_known_finding_is_counted_and_does_not_fail_the_run(
    command: RunCommand, tmp_path: Path
) -> None:
    done = fuzz(command, "mutant:dedup-dropped", write(tmp_path))
    (target,) = json.loads(done.stdout)["targets"]
    assert done.returncode == 0, done.stdout + done.stderr
    assert target["families"][0]["findings"] == []
    (known,) = target["known"]
    assert (known["id"], known["state"]) == ("dedup", "known")
    assert known["met"] > 0, "known findings are still run"
    assert not (tmp_path / "kvoracle-findings").exists(), "and not reduced"


def test_an_entry_whose_trace_shows_nothing_any_more_fails_the_run_as_stale(
    command: RunCommand, tmp_path: Path
) -> None:
    file = write(tmp_path, targets='["eager", "mutant:*"]')
    done = fuzz(command, "eager", file)
    assert done.returncode == 1
    assert json.loads(done.stdout)["targets"][0]["known"][0]["state"] == "stale"


def test_an_entry_that_only_the_prediction_sees_is_not_stale_when_the_laws_judge_alone(
    command: RunCommand, tmp_path: Path
) -> None:
    file = write(tmp_path, looks='{ kind = ["divergence"], quantity = ["full.*"] }')
    done = fuzz(command, "mutant:dedup-dropped", file, "--laws-only", "--examples", "1")
    (target,) = json.loads(done.stdout)["targets"]
    assert target["known"][0]["state"] == "known"


def test_an_expired_entry_counts_as_a_finding_again(command: RunCommand, tmp_path: Path) -> None:
    done = fuzz(command, "mutant:dedup-dropped", write(tmp_path, expires="2020-01-01"))
    (target,) = json.loads(done.stdout)["targets"]
    assert done.returncode == 1
    assert target["known"][0]["state"] == "expired"
    assert target["families"][0]["findings"], "what is not accepted is reported"


@pytest.mark.long
def test_an_update_takes_stale_targets_out_and_new_findings_in(
    command: RunCommand, tmp_path: Path
) -> None:
    file = write(tmp_path, targets='["eager", "mutant:page-pushed-twice"]')
    done = fuzz(command, "eager", file, "--update-known")
    assert done.returncode == 0, done.stderr
    (entry,) = read_known(file).entries
    assert entry.targets == ("mutant:page-pushed-twice",)
    assert file.read_text().startswith("# kept\n")

    done = fuzz(command, "mutant:dedup-dropped", file, "--update-known")
    assert done.returncode == 0, done.stderr
    assert len(read_known(file).entries) > 1
    assert fuzz(command, "mutant:dedup-dropped", file).returncode == 0


def test_an_update_of_a_file_that_is_not_there_makes_it(
    command: RunCommand, tmp_path: Path
) -> None:
    file = tmp_path / "new.toml"
    assert fuzz(command, "eager", file, "--update-known").returncode == 0
    assert read_known(file).entries == ()


def test_a_stale_release_is_cut_out_of_a_range(tmp_path: Path) -> None:
    file = write(tmp_path, targets='["sglang==0.5.17..0.5.20", "sglang@*"]')
    verdict = TargetVerdict("sglang==0.5.18", {}, [], known=[KnownVerdict("dedup", "stale")])
    update_known(read_known(file), Verdict([verdict]))
    (entry,) = read_known(file).entries
    assert entry.targets == ("sglang==0.5.17", "sglang==0.5.19..0.5.20", "sglang@*")


def test_what_is_written_reads_back_as_it_was(tmp_path: Path) -> None:
    file = read_known(BASELINE)
    copy = tmp_path / "copy.toml"
    absolute = as_toml(file.entries).replace("../tests", str(ROOT / "tests"))
    copy.write_text(absolute)
    assert [entry.looks for entry in read_known(copy).entries] == [
        entry.looks for entry in file.entries
    ]


def test_an_entry_speaks_of_its_targets_and_looks_only(tmp_path: Path) -> None:
    known = KnownFindings(read_known(write(tmp_path, targets='["sglang==0.5.9..0.5.11"]')))
    assert known.accounts_for("sglang==0.5.10.post1", finding())
    assert not known.accounts_for("sglang==0.5.12", finding())
    assert not known.accounts_for("eager", finding())
    assert not known.accounts_for("sglang==0.5.9", finding(kind="signal"))
    old = KnownFindings(read_known(write(tmp_path, expires=str(datetime.date.today()))))
    assert not old.accounts_for("mutant:dedup-dropped", finding())


def test_the_shipped_baseline_can_be_read_and_says_why() -> None:
    for entry in read_known(BASELINE).entries:
        assert len(entry.reason) > 10, entry.id


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"looks": ""}, "looks or signatures"),
        ({"looks": '{ kind = ["divergence"] }'}, "nearly everything"),
        ({"looks": '{ kind = ["odd"], quantity = ["x"] }'}, "no kind 'odd'"),
        ({"targets": "[]"}, "no target"),
        ({"targets": '["sglang==0.5.9..0.9.9"]'}, "0.9.9"),
        ({"expires": '"soon"'}, "does not hold known findings"),
        ({"extra": "nonsense = 1\n"}, "nonsense"),
    ],
)
def test_an_entry_that_makes_no_sense_is_refused(
    changes: dict[str, str], complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=complaint):
        read_known(write(tmp_path, **changes))


def test_an_update_needs_a_file() -> None:
    with pytest.raises(UsageError, match="--known FILE"):
        known_file(None, update=True)
