"""A campaign from the command line: what it prints, what it saves, and that it can be repeated."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from campaigns.export_run import run_script
from oracle.trace import read_trace
from tests.campaigns.conftest import CommandIn, RunCommand

MUTANT = ("mutant:capacity-off-by-one", "--family", "paged", "--callers", "legal")
REPEATABLE = ("--examples", "50", "--seed", "5", "--format", "json")
HOSTILE = (
    "eager", "--callers", "hostile", "--family", "token", "--examples", "20", *REPEATABLE[2:],
)  # fmt: skip

Done = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def clean_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clean")


@pytest.fixture(scope="module")
def clean(command_in: CommandIn, clean_folder: Path) -> Done:
    return command_in(clean_folder, "fuzz", "eager", "--callers", "legal", *REPEATABLE)


def _document(done: Done) -> dict[str, Any]:
    document = json.loads(done.stdout)
    assert isinstance(document, dict)
    assert document["exit"] == done.returncode
    return document


def _findings(done: Done) -> list[dict[str, Any]]:
    (target,) = _document(done)["targets"]
    (family,) = target["families"]
    assert isinstance(family["findings"], list)
    return family["findings"]


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_clean_target_is_clean_and_leaves_nothing_behind(clean: Done, clean_folder: Path) -> None:
    assert clean.returncode == 0, clean.stderr
    (target,) = _document(clean)["targets"]
    assert target["target"] == "eager"
    assert [family["family"] for family in target["families"]] == ["token", "paged", "hybrid-swa"]
    assert sum(family["traces"] for family in target["families"]) == 50
    assert all(family["steps"] > 0 for family in target["families"])
    assert not any(family["findings"] for family in target["families"])
    assert not list(clean_folder.iterdir())


@pytest.mark.release
def test_all_families_are_those_that_the_target_has(command: RunCommand) -> None:
    done = command("fuzz", "sglang==0.5.13", "--family", "all", "--examples", "13", *REPEATABLE[2:])
    (target,) = _document(done)["targets"]
    judged = [family["family"] for family in target["families"]]
    assert judged == ["token", "paged", "hybrid-swa", "mamba-slots"], done.stderr


def test_the_first_line_tells_how_to_run_it_again(clean: Done) -> None:
    first = clean.stderr.splitlines()[0]
    for part in (
        "kvoracle ",
        "Python ",
        "hypothesis ",
        "torch ",
        "device cpu",
        "seed 5",
        "level off",
    ):
        assert part in first


def test_a_finding_is_reduced_saved_and_its_script_reproduces_it(
    command: RunCommand, tmp_path: Path
) -> None:
    done = command("fuzz", *MUTANT, *REPEATABLE)
    assert done.returncode == 1, done.stderr
    found = _findings(done)
    assert found, "the mutant refuses the last pages"
    for finding in found:
        assert set(finding) == {
            "kind", "signature", "operations", "trace", "script", "reproduced",
        }  # fmt: skip
        assert finding["kind"] == "divergence"
        assert finding["operations"] <= 5
        assert finding["reproduced"] is True
        assert Path(finding["trace"]).name == finding["signature"] + ".json"
        assert Path(finding["script"]).name == finding["signature"] + ".py"
        trace = read_trace(tmp_path / finding["trace"])
        assert len(trace.operations) == finding["operations"]
        assert "kvoracle fuzz mutant:capacity-off-by-one" in trace.note
        assert (tmp_path / finding["script"]).stat().st_size > 0
    names = [finding["signature"] for finding in found]
    assert len(names) == len(set(names)), "a signature is reported once"


@pytest.mark.long
def test_equal_runs_tell_equal_things_and_hazards_fail_only_when_asked_to(
    command: RunCommand, tmp_path: Path
) -> None:
    lenient = command("fuzz", *HOSTILE)
    files = _files(tmp_path / "kvoracle-findings")
    strict = command("fuzz", *HOSTILE, "--fail-on", "hazard")
    assert files, "a hostile caller does damage"
    assert files == _files(tmp_path / "kvoracle-findings")
    assert _findings(lenient) == _findings(strict)
    assert {finding["kind"] for finding in _findings(lenient)} == {"hazard"}
    assert (lenient.returncode, strict.returncode) == (0, 1)


def test_the_text_report_names_files_and_closes_with_a_verdict(command: RunCommand) -> None:
    done = command("fuzz", *MUTANT, "--examples", "40", "--seed", "5")
    assert done.returncode == 1
    assert "kvoracle-findings/paged.divergence." in done.stdout
    assert "(reproduced)" in done.stdout
    assert re.search(r"^\d+ findings? \(divergence \d+\) in 40 traces", done.stdout, re.MULTILINE)
    assert "met on mutant:capacity-off-by-one, paged: divergence" in done.stderr


def test_a_target_that_cannot_be_had_does_not_cost_the_others_their_report(
    command: RunCommand, tmp_path: Path
) -> None:
    done = command("fuzz", "sglang@nowhere", *MUTANT, *REPEATABLE)
    assert done.returncode == 2
    absent, present = _document(done)["targets"]
    assert absent == {"target": "sglang@nowhere", "families": []}
    (finding, *_) = present["families"][0]["findings"]
    assert (tmp_path / finding["trace"]).exists()
    refusals = [line for line in done.stderr.splitlines() if line.startswith("kvoracle: ")]
    assert len(refusals) == 1, "one sentence"
    assert "nowhere" in refusals[0]


def test_the_laws_alone_find_a_lost_page(command: RunCommand) -> None:
    target = "mutant:last-partial-page-kept"
    done = command(
        "fuzz", target, "--family", "paged", "--callers", "legal", "--laws-only", *REPEATABLE
    )
    assert done.returncode == 1
    kinds = {
        finding["kind"] for finding in _document(done)["targets"][0]["families"][0]["findings"]
    }
    assert kinds == {"law"}


@pytest.mark.long
def test_relations_find_without_a_prediction_what_breaks_no_law(
    command: RunCommand, tmp_path: Path
) -> None:
    target = "mutant:pages-released-behind"
    done = command(
        "fuzz", target, "--family", "paged", "--callers", "legal", "--laws-only", "--metamorphic",
        *REPEATABLE,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    (finding,) = _findings(done)
    assert finding["kind"] == "metamorphic"
    assert finding["operations"] <= 5
    script = tmp_path / finding["script"]
    assert run_script(script) is True, "the script has both runs"
    trace = read_trace(tmp_path / finding["trace"])
    assert trace.relation == "spare-pages"
    replayed = command("replay", finding["trace"], target)
    assert replayed.returncode == 1
    assert "second run" in replayed.stdout
    assert "spare-pages: returned" in replayed.stdout
    assert command("replay", finding["trace"], "eager").returncode == 0
