"""A target that loses its device, stalls or dies is one finding, and another process goes on with the campaign."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from campaigns import fuzz_run
from campaigns.command_line import main
from oracle.geometry import Geometry
from oracle.operations import Alloc, Decode, kind_of
from oracle.trace import Trace, encode_trace, read_trace
from targets.lost_device import NAME_BY_EXIT_CODE, loss_of
from tests.campaigns.conftest import RunCommand

FEW = (
    "--family",
    "paged",
    "--callers",
    "legal",
    "--examples",
    "6",
    "--seed",
    "3",
    "--format",
    "json",
)
LOSSES = {
    "asserts": "device-side assert",
    "reads-too-far": "illegal memory access",
}


@pytest.mark.long
@pytest.mark.parametrize("how", LOSSES)
def test_a_lost_device_is_one_finding_with_its_trace(
    how: str, command: RunCommand, tmp_path: Path
) -> None:
    done = command("fuzz", f"misbehaving:{how}", *FEW)
    assert done.returncode == 1, done.stderr
    (family,) = json.loads(done.stdout)["targets"][0]["families"]
    (finding,) = family["findings"]
    assert finding["kind"] == "crash", "a raised error is not reported again and again"
    assert f"process-{LOSSES[how].replace(' ', '-')}" in finding["signature"]
    trace = read_trace(tmp_path / finding["trace"])
    assert kind_of(trace.operations[-1]) == "decode"
    assert len(trace.operations) == 2, "a row, and its next token"
    assert f"it was ended by {LOSSES[how]}" in trace.note


def test_a_replay_says_at_which_operation_the_device_was_lost(
    command: RunCommand, tmp_path: Path
) -> None:
    geometry = Geometry(family="paged", size=16, page_size=4)
    trace = Trace(geometry=geometry, operations=(Alloc(unit="pages"), Decode(), Decode()))
    (tmp_path / "trace.json").write_bytes(encode_trace(trace))
    done = command("replay", "trace.json", "misbehaving:asserts")
    assert done.returncode == 1
    assert "   1  decode           its process ended" in done.stdout
    assert "process device-side assert" in done.stdout
    assert "CUDA error: device-side assert triggered" in " ".join(done.stdout.split())
    assert "misbehaving:asserts: findings 1, hazards 0." in done.stdout


def test_another_process_goes_on_where_one_died(command: RunCommand) -> None:
    done = command("fuzz", "misbehaving:dies-once", *FEW)
    assert done.returncode == 1, done.stderr
    (family,) = json.loads(done.stdout)["targets"][0]["families"]
    (finding,) = family["findings"]
    assert "SIGKILL" in finding["signature"]
    assert family["traces"] >= 3, "half of the traces are left to the second process"


@pytest.mark.long
def test_a_stall_is_a_finding_and_not_the_end(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", environment["PYTHONPATH"])
    monkeypatch.setattr(fuzz_run, "STALL_SECONDS", 8.0)
    # Both families get as many traces as the one of FEW.
    more = ("--family", "token", "--examples", "12")
    result = CliRunner().invoke(main, ["fuzz", "misbehaving:hangs", *FEW, *more])
    assert result.exit_code == 1, result.stderr
    families = json.loads(result.stdout)["targets"][0]["families"]
    paged, token = sorted(families, key=lambda one: str(one["family"]))
    (finding,) = paged["findings"]
    assert finding["kind"] == "hang"
    trace = read_trace(Path(finding["trace"]))
    assert kind_of(trace.operations[-1]) == "decode", "the journal holds what was running"
    assert token["traces"] == 6, "the family that does not stall is fuzzed to the end"
    assert not token["findings"]


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("CUDA error: device-side assert triggered\nCompile with `TORCH_USE_CUDA_DSA`", "device-side assert"),
        ("CUDA error: an illegal memory access was encountered", "illegal memory access"),
        ("Triton Error [CUDA]: misaligned address", "misaligned address"),
        ("CUDA error: unspecified launch failure", "launch failure"),
        ("CUDA error: the launch timed out and was terminated", "timed out"),
        ("CUDA error: uncorrectable ECC error encountered", "device error"),
        ("CUDA error: out of memory", None),
        ("CUDA out of memory. Tried to allocate 2.00 GiB", None),
        ("invariant-check FAILED [swa.peer_mapped]: a segment of 4 slots", None),
        ("index 9 is out of bounds for dimension 0 with size 8", None),
    ],
)  # fmt: skip
def test_what_a_device_says_when_it_is_lost(message: str, name: str | None) -> None:
    loss = loss_of(message)
    assert (None if loss is None else loss.name) == name
    if loss is not None:
        assert NAME_BY_EXIT_CODE[loss.exit_code] == name


def test_exit_codes_are_none_that_others_use() -> None:
    others = {getattr(os, name) for name in dir(os) if name.startswith("EX_")} | {0, 1, 2, 130}
    assert not others & set(NAME_BY_EXIT_CODE)
