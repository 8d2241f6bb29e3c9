"""What cannot be done is one sentence on standard error and exit code 2, never a traceback."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from campaigns.command_line import main
from oracle.geometry import Geometry
from oracle.operations import Alloc
from oracle.trace import Trace, encode_trace

BAD = {
    "no such command": (["fuz"], "fuz"),
    "no target": (["fuzz"], "TARGET"),
    "an unknown option": (["fuzz", "eager", "--second", "3"], "--second"),
    "an unknown target": (["fuzz", "eagre", "--examples", "1"], "did you mean eager"),
    "an unknown mutant": (["fuzz", "mutant:nothing", "--examples", "1"], "mutant:nothing"),
    "an empty target": (["fuzz", "", "--examples", "1"], "no name"),
    "a release that is not supported": (["fuzz", "sglang==9.9.9", "--examples", "1"], "9.9.9"),
    "something that is no release": (["fuzz", "sglang==new", "--examples", "1"], "sglang==new"),
    "a checkout that is not there": (["fuzz", "sglang@/nowhere", "--examples", "1"], "/nowhere"),
    "an unknown family": (["fuzz", "eager", "--family", "mamba"], "mamba"),
    "unknown callers": (["fuzz", "eager", "--callers", "kind"], "kind"),
    "an unknown level": (["fuzz", "eager", "--level", "loud"], "loud"),
    "an unknown format": (["fuzz", "eager", "--format", "xml"], "xml"),
    "no seconds": (["fuzz", "eager", "--seconds", "0"], "--seconds must be more than 0"),
    "negative seconds": (["fuzz", "eager", "--seconds", "-1"], "--seconds must be more than 0"),
    "seconds that are no number": (["fuzz", "eager", "--seconds", "nan"], "--seconds"),
    "endless seconds": (["fuzz", "eager", "--seconds", "inf"], "--seconds"),
    "no examples": (["fuzz", "eager", "--examples", "0"], "--examples must be 1 or more"),
    "both budgets": (["fuzz", "eager", "--examples", "1", "--seconds", "1"], "not both"),
    "a negative seed": (["fuzz", "eager", "--seed", "-1"], "--seed"),
    "an unknown thing to fail on": (["fuzz", "eager", "--fail-on", "rain"], "rain"),
    "an output that is a file": (["fuzz", "eager", "--out", "file"], "and a folder is needed"),
    "an output below a file": (["fuzz", "eager", "--out", "file/below"], "cannot be written"),
    "a day without requests": (["simulate", "eager", "--requests", "0"], "--requests"),
    "a pool smaller than a page": (["simulate", "eager", "--size", "9"], "use one page to"),
    "pages of a token allocator": (
        ["simulate", "eager", "--family", "token", "--page-size", "4"],
        "page size 1, not 4",
    ),
    "an SWA pool of a paged allocator": (
        ["simulate", "eager", "--family", "paged", "--size-swa", "64"],
        "no SWA pool",
    ),
    "a trace that is not there": (["replay", "nothing.json", "eager"], "nothing.json"),
    "a trace that is a folder": (["replay", ".", "eager"], "cannot read the trace"),
    "a trace that is none": (["replay", "file", "eager"], "is not a trace"),
    "an impossible geometry": (["replay", "impossible.json", "eager"], "page size 0"),
    "a reference of nothing": (["fuzz", "eager", "--reference"], "--reference is about"),
    "a replay without a target": (["replay", "trace.json"], "TARGET"),
    "a replay on an unknown target": (["replay", "trace.json", "eagre"], "eagre"),
    "an export of nothing": (["export", "nothing.json", "--target", "eager"], "nothing.json"),
    "a bisection of nothing": (["bisect", "nothing.json"], "nothing.json"),
    "a bisection of no trace": (["bisect", "file"], "is not a trace"),
    "a bisection over no release": (["bisect", "trace.json", "--releases", "0.4"], "'0.4'"),
    "a backward range": (["bisect", "trace.json", "--releases", "0.5.20..0.5.9"], "backwards"),
    "an unknown bug": (["rediscover", "nonsense"], "no known bug 'nonsense'"),
    "no seeds": (["rediscover", "--seeds", "0"], "--seeds"),
    "a baseline that is not there": (["rediscover", "--known", "nothing.toml"], "nothing.toml"),
    "an unknown fault": (["mutants", "nonsense"], "no mutant 'nonsense'"),
    "known findings that are none": (["fuzz", "eager", "--known", "file"], "known findings"),
    "an update of nothing": (["fuzz", "eager", "--update-known"], "--known FILE"),
    "a precondition that is none": (["replay", "breach.json", "eager"], "did you mean 'stale'"),
    "a relation of errors": (["replay", "related.json", "eager"], "for legal callers only"),
    "a release that is none, known": (["fuzz", "eager", "--known", "release.toml"], "'0.1'"),
    "a known trace with a null": (["fuzz", "eager", "--known", "null.toml"], "neither a file nor"),
    "known findings too deep": (["fuzz", "eager", "--known", "deep.toml"], "known findings"),
    "a bisection over nothing": (["bisect", "trace.json", "--releases", ""], "no release at all"),
    "a bisection over a gap": (
        ["bisect", "trace.json", "--releases", "0.5.10,,0.5.10"],
        "'0.5.10,,0.5.10' names no release beside a comma",
    ),
    "a rediscovery over nothing": (["rediscover", "--releases", ""], "no release at all"),
    "an output without a name": (["fuzz", "eager", "--out", ""], "it is empty"),
    "a trace without a name": (["replay", "", "eager"], "it is empty"),
    "a fetch to no name": (["fetch", "sglang==0.5.23", "--into", ""], "it is empty"),
    "a fetch of no release": (["fetch", "eager", "--into", "folder"], "is not a release"),
    "a fetch of the installed release": (["fetch", "sglang", "--into", "folder"], "not a release"),
    "a fetch to nowhere": (["fetch", "sglang==0.5.23"], "--into"),
}


KNOWN = """
[[known]]
id = "one"
targets = ["{target}"]
reason = "why"
link = "where"
expires = 2100-01-01
trace = "{trace}"
signatures = ["one"]
"""


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_done_is_refused_in_one_sentence(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    Path("file").write_text("not a trace")
    trace = Trace(geometry=Geometry(family="token", size=8), operations=(Alloc(),))
    Path("trace.json").write_bytes(encode_trace(trace))
    Path("impossible.json").write_text(
        '{"geometry": {"family": "paged", "size": 8, "page_size": 0}}'
    )
    breach = msgspec.structs.replace(trace, may_break=("stail",))
    Path("breach.json").write_bytes(encode_trace(breach))
    related = msgspec.structs.replace(trace, relation="grouped")
    Path("related.json").write_bytes(encode_trace(related))
    Path("release.toml").write_text(KNOWN.format(target="sglang==0.1", trace="trace.json"))
    Path("null.toml").write_text(KNOWN.format(target="eager", trace="\\u0000"))
    Path("deep.toml").write_text("a = " + "[" * 100_000)
    arguments, said = BAD[what]

    result = CliRunner().invoke(main, arguments)

    assert result.exit_code == 2, result.output
    assert result.stdout == "", "a refusal says nothing on standard output"
    assert result.stderr.startswith("kvoracle: ")
    assert result.stderr.count("\n") == 1, "one line"
    assert said in result.stderr
    assert "Traceback" not in result.output


def test_no_command_at_all_shows_the_help() -> None:
    result = CliRunner().invoke(main, [])
    assert result.exit_code == 2
    assert "kvoracle fuzz sglang==" in result.output


@pytest.mark.parametrize("command", ["fuzz", "replay", "export", "targets", "fetch"])
def test_each_command_explains_itself_with_an_example(command: str) -> None:
    result = CliRunner().invoke(main, [command, "--help"])
    assert result.exit_code == 0
    assert f"kvoracle {command}" in result.output.split("Example", 1)[1]


def test_the_version_is_stated() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert result.exit_code == 0
    assert result.output.startswith("kvoracle, version ")


def test_the_targets_are_listed() -> None:
    result = CliRunner().invoke(main, ["targets"])
    assert result.exit_code == 0
    assert "eager " in result.output
    assert "mutant:capacity-off-by-one" not in result.output
    assert "--mutants lists them" in result.output
    everything = CliRunner().invoke(main, ["targets", "--mutants"])
    assert "mutant:capacity-off-by-one" in everything.output
