"""A call for a page that is not there: what it does to releases that launch before they look, and to those that look first.

On a CPU with Triton's interpreter, and on a GPU, where the process loses its device.
"""

from __future__ import annotations

from pathlib import Path

import decode_on_empty_list
import pytest
import torch
from decode_on_empty_list import CALLS, RELEASES, Observed, observe
from sanitizer_stand_in import ERROR, put_on_path

from targets.lost_device import NAME_BY_EXIT_CODE

pytestmark = pytest.mark.release
LAUNCHES_FIRST, LOOKS_FIRST = RELEASES[:2], RELEASES[2:]


@pytest.mark.long
def test_the_interpreter_reads_where_there_is_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVORACLE_KERNELS", "interpreter")
    for seen in observe(RELEASES, tuple(CALLS), "cpu"):
        assert seen.was_made, seen
        died = seen.release in LAUNCHES_FIRST
        assert (seen.end, seen.came) == (("SIGSEGV", "") if died else ("", "None")), seen


@pytest.mark.long
def test_it_says_what_memcheck_saw_and_what_could_not_be_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put_on_path(tmp_path, ERROR, monkeypatch)
    monkeypatch.setenv("KVORACLE_KERNELS", "stand-in")
    assert decode_on_empty_list.main([LAUNCHES_FIRST[0], "0.0.1", "--device", "cpu"]) == 1
    alone, watched, none, _ = capsys.readouterr().out.splitlines()
    assert alone == f"sglang {LAUNCHES_FIRST[0]}, decode on an empty list, alone: it gave None"
    assert watched.startswith(alone.replace("alone", "under memcheck") + "; memcheck saw 1 times")
    assert "Invalid __global__ write of size 8 bytes; at _copy_two" in watched
    assert "was ended by exit code 1 (" in none
    assert none.endswith(", before the call was made")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_a_gpu_is_lost_to_the_process() -> None:
    for seen in observe(RELEASES, tuple(CALLS), "cuda"):
        assert seen.was_made, seen
        if seen.release in LAUNCHES_FIRST:
            assert seen.end in NAME_BY_EXIT_CODE.values(), seen
        else:
            assert (seen.end, seen.came) == ("", "None"), seen


def test_a_sentence_says_what_ended_the_process() -> None:
    lost = Observed(
        release="0.5.19", call="decode", came="", end="illegal memory access", seen=(),
        words="CUDA error: an illegal memory access was encountered", was_made=True,
    )  # fmt: skip
    assert lost.sentence() == (
        "sglang 0.5.19, decode on an empty list, under memcheck: its process was ended by illegal memory access "
        "(CUDA error: an illegal memory access was encountered); memcheck saw nothing"
    )
